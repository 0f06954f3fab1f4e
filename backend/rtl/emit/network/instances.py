"""Kernel instances of a dataflow region, and the wires that join them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from allo.dialects.diagnostics import SourcePlace

from ...graph.nodes import Array, Stream
from ...plan.bind import Interface, PortUse
from ..bounds import BoundsWatch
from ..builder import ModuleBuilder, Wiring
from ..memory.ram import port_prefix

MANY = 16
"""Processes of a region whose ends are what one cycle's signals bring together."""


@dataclass(slots=True, eq=False)
class Instance:
    """One kernel instance.

    Attributes:
        constants: scalar arguments known at compile time, by position.
        arrays, streams, scalars: the arguments; a scalar is a constant, or a value, its width and sign.
        label: its name in the region's module.
        after: instances, by position in the region, that are done before it starts.
        stopped: the bit that resets it when the others have ended, "" for one that ends.
        needs: in a region that is a loop, instances and by how many iterations they may be behind.
        iterators: in such a region, positions of its scalars that are the loop's iterator.
        turn: name of the number of the copies that its iteration uses, "" in any other region; ``copies``
            of each array are there.
        enable: bits that are high when nothing makes it wait.
        wires: the value on each of its ports that something is joined to, by the port's name.
    """

    callee: str
    constants: dict[int, int]
    arrays: list[Array]
    streams: list[Stream]
    scalars: list[Any]
    place: SourcePlace | None
    interface: Interface
    label: str
    after: list[int] = field(default_factory=list)
    needs: list[tuple[int, int]] = field(default_factory=list)
    iterators: list[int] = field(default_factory=list)
    turn: str = ""
    copies: int = 2
    enable: list[str] = field(default_factory=list)
    wires: dict[str, str] = field(default_factory=dict)
    stopped: str = ""

    @property
    def gives_words(self) -> bool:
        """Whether others of the region take words that it puts."""
        ports = zip(self.interface.streams, self.streams, strict=True)
        return any(port.direction == "put" and s.parameter < 0 for (_, port), s in ports)

    def output(self, text: ModuleBuilder, port: str) -> str:
        """The value that an output of the instance defines."""
        if port not in self.wires:
            self.wires[port] = text.fresh()
        return self.wires[port]


def emit_instance(
    text: ModuleBuilder, instance: Instance, watch: BoundsWatch, start: str, *, frozen: bool
) -> str:
    """Emit a kernel instance of a region that may be ``frozen``; its done."""
    interface = instance.interface
    gates = [*instance.enable, *(["%ce"] if frozen else [])]
    wiring = Wiring({"start": start, "ce": text.all_of(*gates)})
    if instance.stopped:
        wiring.inputs["rst"] = text.any_of("%rst", instance.stopped)
    for (name, width), value in zip(interface.scalars_in, instance.scalars, strict=True):
        wiring.inputs[name] = _scalar(text, value, width)
    for prefix, uses in interface.arrays:
        _join_array(text, instance, prefix, uses, wiring)
    for prefix, stream in interface.streams:
        _join_stream(instance, prefix, stream, wiring)
    if interface.bounds:
        watch.instance(wiring)
    done = wiring.outputs["done"] = instance.output(text, "done")
    text.instance(instance.label, interface.module, interface.ports, wiring, instance.place)
    return done


def _scalar(text: ModuleBuilder, value: Any, width: int) -> str:
    if isinstance(value, int):
        return text.const(value, width)
    name, own, signed = value
    return text.extend(name, own, width, signed=signed)


def _join_array(
    text: ModuleBuilder,
    instance: Instance,
    prefix: str,
    uses: dict[tuple[int, int], PortUse],
    wiring: Wiring,
) -> None:
    for (bank, port), use in sorted(uses.items()):
        stem = port_prefix(prefix, bank, port)
        for suffix in ("addr", "en", *(("we", "wdata") if use.writes else ())):
            name = f"{stem}_{suffix}"
            wiring.outputs[name] = instance.output(text, name)
        if use.reads:
            wiring.inputs[f"{stem}_rdata"] = instance.wires[f"{stem}_rdata"]


def _join_stream(instance: Instance, prefix: str, stream: Stream, wiring: Wiring) -> None:
    if not stream.direction:
        return
    names = [f"{prefix}_{s}" for s in ("data", "valid", "ready")]
    data, valid, ready = (instance.wires[name] for name in names)
    if stream.direction == "put":
        wiring.outputs |= {names[0]: data, names[1]: valid}
        wiring.inputs[names[2]] = ready
    else:
        wiring.inputs |= {names[0]: data, names[1]: valid}
        wiring.outputs[names[2]] = ready


def all_earlier(instances: list[Instance]) -> dict[int, frozenset[int]]:
    """For each instance, by ``id``, those that are done before it starts.

    In a region that is a loop: those that are never under way while it is.
    """
    found: dict[int, frozenset[int]] = {}
    if any(instance.needs for instance in instances):
        return {id(i): frozenset(_never_beside(instances, n)) for n, i in enumerate(instances)}
    for instance in instances:
        direct = [instances[n] for n in instance.after]
        found[id(instance)] = frozenset(id(i) for i in direct).union(
            *(found[id(i)] for i in direct)
        )
    return found


def _never_beside(instances: list[Instance], number: int) -> Iterator[int]:
    """Instances that wait for this one in each iteration, and it for them in the next."""
    for first, distance in instances[number].needs:
        closed = any(n == number and distance + d <= 1 for n, d in instances[first].needs)
        if closed:
            yield id(instances[first])


def never_same_copy(instances: list[Instance]) -> frozenset[frozenset[int]]:
    """Pairs of instances of a loop, by ``id``, that use different copies of an array whenever both run.

    The second of them waits for the first in each iteration, and the first for that iteration of the second
    that used the same copy before.
    """
    return frozenset(
        frozenset((id(first), id(second)))
        for number, second in enumerate(instances)
        for before, distance in second.needs
        for first in (instances[before],)
        if distance == 0 and any(n == number and d <= first.copies for n, d in first.needs)
    )


def early_ends(instances: list[Instance]) -> set[int]:
    """Instances, by ``id``, that give words to others and do no more, in a region of many.

    Those that wait for an external memory are among them though they have arrays: their end depends on a
    signal of that memory in the same cycle. Where the named are less than half of the region, what is left to
    join is hardly less, and none is named.
    """
    if len(instances) <= MANY:
        return set()
    before = {number for instance in instances for number in instance.after}
    found = {
        id(instance)
        for number, instance in enumerate(instances)
        if number not in before
        and (not instance.arrays or instance.interface.frozen)
        and instance.gives_words
        and not instance.stopped
    }
    return found if 2 * len(found) > len(instances) else set()


class Progress:
    """Which instances of a region have been done since its start, and what starts each of them.

    In a region of many processes, those whose words others take end before these do, so that registers
    say of them that they are done: no signal crosses the whole region in the cycle in which it ends. One
    that ends last all the same ends the region two cycles later, and three where there are several groups.

    Attributes:
        flags: for each instance the bit that says that it has been done in an earlier cycle, "" for one that
            never is.
    """

    def __init__(self, text: ModuleBuilder, instances: list[Instance]) -> None:
        self._text = text
        self._instances = instances
        self._over: list[tuple[str, str]] = []
        self.flags = ["" if i.stopped else text.named(f"{i.label}_over") for i in instances]
        for instance, flag in zip(instances, self.flags, strict=True):
            self._over.append((flag, instance.output(text, "done")))

    def start(self, instance: Instance) -> str:
        """The pulse that starts an instance: the region's, or when those before it are done."""
        if not instance.after:
            return "%start"
        text = self._text
        started, pulse = (text.named(f"{instance.label}_{s}") for s in ("started", "go"))
        ready = text.all_of(*(text.any_of(*self._over[n]) for n in instance.after))
        text.alias(pulse, text.all_of(ready, text.invert(started)), 1)
        following = text.all_of(text.any_of(started, pulse), text.invert("%start"))
        text.register(started, following, 1, reset=0, place=instance.place)
        return pulse

    def finish(self) -> str:
        """High when every instance that ends has been done."""
        text = self._text
        if not self._over:
            return text.register(text.named("done_q"), "%start", 1, reset=0)
        early = early_ends(self._instances)
        settled: list[tuple[str, str]] = []
        last: list[tuple[str, str]] = []
        for instance, (flag, now) in zip(self._instances, self._over, strict=True):
            if not flag:
                continue
            (settled if id(instance) in early else last).append((flag, now))
        ends = [text.any_of(flag, now) for flag, now in last]
        register = text.named("producers_over") if settled else ""
        everyone = text.all_of(*ends, *([register] if settled else []))
        more = text.invert(everyone)
        if settled:
            self._settle(settled, register, everyone)
        for flag, now in last:
            text.register(flag, text.all_of(text.any_of(flag, now), more), 1, reset=0)
        return everyone

    def _settle(self, settled: list[tuple[str, str]], register: str, everyone: str) -> None:
        """Bring the ends of many instances together, by registers of some each.

        The end of the region clears them a cycle later by a register, so that no signal crosses the region
        with logic in front of it. An instance that is done in that very cycle is one of the next run.
        """
        text = self._text
        ended = text.register(text.named("ended"), everyone, 1, reset=0)
        going = text.invert(ended)
        for flag, now in settled:
            text.register(flag, text.any_of(now, text.all_of(flag, going)), 1, reset=0)
        flags = [flag for flag, _ in settled]
        groups = [flags[first : first + MANY] for first in range(0, len(flags), MANY)]
        if len(groups) > 1:
            flags = []
            for group in groups:
                together = text.named("group_over")
                text.register(together, text.all_of(*group, going), 1, reset=0)
                flags.append(together)
        text.register(register, text.all_of(*flags, text.invert(everyone), going), 1, reset=0)
