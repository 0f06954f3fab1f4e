"""Calls: one instance a callee, its ports joined to what each call gives it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ..graph.nodes import Node
from ..graph.regions import Call
from ..plan.bind import Interface, unit_stem
from ..waiting import Member
from .builder import Wiring
from .context import Context
from .memory.memories import Memories
from .memory.ram import Scope
from .stream_ports import StreamPorts


class Calls:
    """Emits the calls of one function."""

    def __init__(
        self,
        context: Context,
        callees: Mapping[str, Interface],
        memories: Memories,
        streams: StreamPorts,
    ) -> None:
        self._c = context
        self._text = context.text
        self._callees = callees
        self._memories = memories
        self._streams = streams
        self._calls: dict[str, list[tuple[str, Call]]] = defaultdict(list)
        self._selected: dict[tuple[str, int], str] = {}
        self._done: dict[str, str] = {}
        self._scopes: dict[str, list[Scope]] = defaultdict(list)

    def call(self, call: Call, go: str, scope: Scope) -> str:
        """Start a callee with ``go``; the pulse of its last cycle. ``scope`` are the regions around it."""
        sites = self._calls[call.callee]
        sites.append((go, call))
        self._scopes[call.callee].append(scope)
        number = len(sites) - 1
        selected = self._text.named(f"{call.callee}_site{number}")
        self._selected[call.callee, number] = selected
        done = self._done.setdefault(call.callee, self._text.fresh())
        last = self._text.all_of(done, selected)
        for position, node in enumerate(call.results):
            name = self._text.named(f"{call.callee}_res{position}_{number}")
            self._c.stable[node.number] = name
        return last

    def finish(self) -> None:
        """Emit the instances of callees, after every call is known."""
        for callee, sites in self._calls.items():
            self._instance(callee, sites)

    def _instance(self, callee: str, sites: list[tuple[str, Call]]) -> None:
        text, context = self._text, self._c
        interface = self._callees[callee]
        start = text.any_of(*(go for go, _ in sites))
        for number, (go, call) in enumerate(sites):
            text.register(
                self._selected[callee, number], go, 1, enable=start, reset=0, place=call.place
            )
        wiring = Wiring({"start": start, "ce": "%ce"})
        for position, (name, width) in enumerate(interface.scalars_in):
            users = [(go, context.stable_value(c.scalars[position])) for go, c in sites]
            wiring.inputs[name] = text.choose(users, width)
        selections = [self._selected[callee, n] for n in range(len(sites))]
        calls = [call for _, call in sites]
        scopes = self._scopes[callee]
        self._memories.connect(interface, calls, selections, wiring, scopes)
        self._lend_streams(interface, calls, selections, wiring)
        self._lend_units(callee, interface, start, wiring)
        wiring.outputs["done"] = self._done[callee]
        self._results(interface, sites, callee, wiring)
        if interface.bounds:
            context.watch.instance(wiring)
        text.instance(callee, interface.module, interface.ports, wiring, calls[0].place)
        self._keep_member(callee, interface, calls, selections)

    def _keep_member(
        self, callee: str, interface: Interface, calls: list[Call], selections: list[str]
    ) -> None:
        """Note the callee and its streams at every call, for who asks why nothing goes on."""
        prefixes = self._streams.prefixes
        sites = []
        for call, selected in zip(calls, selections, strict=True):
            joined = zip(interface.streams, call.streams, strict=True)
            ends = {prefix: prefixes[stream.number] for (prefix, _), stream in joined}
            sites.append((selected[1:] if len(calls) > 1 else "", ends))
        self._c.waits.members.append(Member(callee, interface.module, callee, "", tuple(sites)))

    def _lend_units(self, callee: str, interface: Interface, start: str, wiring: Wiring) -> None:
        """Hold the units that a callee asks its caller for."""
        if not interface.units:
            return
        text = self._text
        running = text.named(f"{callee}_running")
        more = text.all_of(running, text.invert(self._done[callee]))
        text.register(running, text.any_of(start, more), 1, reset=0)
        for (module, number), operator in interface.units.items():
            stem = unit_stem(module, number)
            operands = []
            for name, _ in zip("abcd", operator.operand_widths, strict=False):
                operands.append(text.fresh())
                wiring.outputs[f"{stem}_{name}"] = operands[-1]
            result = self._c.units.use((module, number), running, operands, running)
            wiring.inputs[f"{stem}_r"] = result

    def _lend_streams(
        self,
        interface: Interface,
        calls: list[Call],
        selections: list[str],
        wiring: Wiring,
    ) -> None:
        """Join a callee's stream ports to the caller's."""
        text = self._text
        for position, (prefix, stream) in enumerate(interface.streams):
            local = [text.fresh(), text.fresh()]
            width, seen = stream.width, []
            putting = stream.direction == "put"
            for call, selected in zip(calls, selections, strict=True):
                # One that is called at one place asks for words of this call alone.
                active = text.all_of(local[0], selected) if len(calls) > 1 else local[0]
                offer = (active, local[1]) if putting else None
                seen.append(
                    self._streams.lend(call.streams[position], offer, "" if putting else active)
                )
            if putting:
                wiring.outputs |= {f"{prefix}_valid": local[0], f"{prefix}_data": local[1]}
                users = [(s, r) for s, (_, _, r) in zip(selections, seen, strict=True)]
                wiring.inputs[f"{prefix}_ready"] = text.choose(users, 1)
                continue
            wiring.outputs[f"{prefix}_ready"] = local[0]
            for index, suffix, bits in ((0, "data", width), (1, "valid", 1)):
                users = [(s, view[index]) for s, view in zip(selections, seen, strict=True)]
                wiring.inputs[f"{prefix}_{suffix}"] = text.choose(users, bits)

    def _results(
        self,
        interface: Interface,
        sites: list[tuple[str, Call]],
        callee: str,
        wiring: Wiring,
    ) -> None:
        text = self._text
        for position, (name, width) in enumerate(interface.scalars_out):
            value = wiring.outputs[name] = text.fresh()
            for number, (_, call) in enumerate(sites):
                node: Node = call.results[position]
                enable = text.all_of(self._done[callee], self._selected[callee, number])
                held = self._c.stable[node.number]
                text.register(held, value, width, enable=enable, place=call.place)
