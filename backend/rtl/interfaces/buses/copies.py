"""Arrays that are copied whole: RAM beside the core, which engines fill before a run and store after it.

Arrays on the same masters share their engines, and go one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from allo.dialects.interfaces.runs import Runs

from ...design import ArrayInterface, Times
from ...emit.builder import ModuleBuilder, Wiring
from ...graph.linear import bits_unsigned
from ..beside.gearbox import packer_module, unpacker_module
from ..beside.units import Units
from ..board import Board, Buffered, Master
from ..buffer import Waits, buffer_module
from ..converters import narrower_module, widener_module
from ..early.gate import Coming, deadlines, steps_of_elements
from ..early.leaving import Leaving, releases
from ..masters import ADDRESS
from ..parts import Made, flag, put_instance
from ..walk import copy_lanes, folded
from .clients import Clients, engine_of
from .gang import Gang, Orders


class Inside(Protocol):
    """What is needed of a core."""

    @property
    def module(self) -> str:
        """Its name."""

    @property
    def arrays(self) -> Sequence[ArrayInterface]:
        """Its arrays."""

    @property
    def times(self) -> Times:
        """When it uses elements of arrays that are copied while it runs."""

    @property
    def waits(self) -> bool:
        """Whether it also waits for words of its own."""


@dataclass(frozen=True, slots=True)
class Pulses:
    """When arrays are loaded, and when they are stored; whether the core goes on in a cycle, and runs."""

    go: str
    store: str
    moves: str
    runs: str


@dataclass(slots=True)
class Copied:
    """Bits of the groups of arrays that share engines: loaded, stored, and answered with an error.

    Attributes:
        loaded: whether all is there that the core waits for before it begins.
        late: whether those that it does not wait for are there, too.
        coming: the steps of their copies; ``leaving``: of those that leave while the core runs.
    """

    loaded: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    coming: list[Coming] = field(default_factory=list)
    leaving: list[Leaving] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Joined:
    """The promised SSA names between an array and its bundle."""

    fill_go: str
    filled: str
    read_data: str
    read_valid: str
    read_ready: str
    drain_go: str
    write_data: str
    write_strobe: str
    write_valid: str
    write_ready: str

    NAMES = (
        "fill_go",
        "fill_end",
        "read_data",
        "read_valid",
        "read_ready",
        "drain_go",
        "write_data",
        "write_strobe",
        "write_valid",
        "write_ready",
    )


def is_uneven(bus: int, step: int) -> bool:
    """Whether neither of a word of the bus and a step of a copy is made of whole ones of the other."""
    return bus % step != 0 and step % bus != 0


def _units(buffered: Buffered, step: int, bus: int) -> Units:
    """A whole array as one run of steps."""
    runs = Runs(0, (), buffered.count, step // buffered.cell)
    return Units.of(runs, buffered.cell, bus)


class Copies:
    """The RAM and the engines of a wrapper's arrays, in the text of its shell.

    Args:
        wiring: of the core, to whose ports the RAM is joined.
        addresses: where the parts of arrays lie, by register.
    """

    def __init__(
        self,
        text: ModuleBuilder,
        core: Inside,
        board: Board,
        made: Made,
        wiring: Wiring,
        clients: Clients,
        addresses: Mapping[str, str],
    ) -> None:
        self.text, self.core, self.made, self.wiring = text, core, made, wiring
        self.clients, self.addresses = clients, addresses
        self.arrays = {array.name: array for array in core.arrays}
        self._copied = [array for array in board.arrays if array.beside is None]
        self._waits = Waits(any(array.early for array in self._copied), core.waits)
        self._found = Copied()

    def emit(self, pulses: Pulses) -> Copied:
        """Put everything into the shell."""
        self.go, self.store = pulses.go, pulses.store
        self.moves, self.runs = pulses.moves, pulses.runs
        self.loaded, self.stored, self.bad = (
            self._found.loaded, self._found.stored, self._found.bad,
        )  # fmt: skip
        buffers = {b.name: self._buffer(b) for b in self._copied}
        groups: dict[str, list[Buffered]] = {}
        for each in self._copied:
            groups.setdefault(engine_of(each), []).append(each)
        for group in groups.values():
            if loaded := [b for b in group if b.loaded]:
                self._reads(loaded, buffers)
        leave = self._all_there() if any(b.leaves for b in self._copied) else ""
        for group in groups.values():
            if stored := [b for b in group if b.stored]:
                self._writes(stored, buffers, leave if stored[0].leaves else self.store)
        return self._found

    def _all_there(self) -> str:
        """The pulse in which all arrays have come, from which on others may leave."""
        text, there = self.text, [*self.loaded, *self._found.late]
        if not there:
            return self.go
        seen, pulse = text.named("all_seen"), text.named("all_there")
        text.alias(pulse, text.all_of(*there, text.invert(seen)), 1)
        flag(text, seen, pulse, self.go)
        return pulse

    def _gang(self, array: Buffered) -> Gang:
        return Gang(self.text, self.made, self.clients, array.bundles, engine_of(array))

    def _lanes(self, buffered: Buffered) -> int:
        width = self._gang(buffered).master.width
        layout = folded(self.arrays[buffered.name].layout, buffered.fold)
        return copy_lanes(layout, max(1, width // buffered.cell), uneven=buffered.uneven)

    def _buffer(self, buffered: Buffered) -> _Joined:
        """The RAM of an array, and what turns its elements into words of the bus."""
        text, array, lanes = self.text, self.arrays[buffered.name], self._lanes(buffered)
        module = buffer_module(array, buffered, lanes, self.core.module, self.made, self._waits)
        inputs: dict[str, str] = {}
        for port in array.ports:
            asks = ("en",) if port.writes or self._waits.outside else ()
            for suffix in ("addr", *asks, *(("we", "wdata") if port.writes else ())):
                name = f"{port.prefix}_{suffix}"
                inputs[name] = self.wiring.outputs[name]
        name, step, bus = buffered.name, buffered.cell * lanes, self._gang(buffered).master.width
        joined = _Joined(*(text.named(f"{name}_{s}") for s in _Joined.NAMES))
        filled, fill_ready, drain_data, drain_last, drain_valid = (
            text.named(f"{name}_{s}")
            for s in ("filled", "fill_ready", "out", "out_last", "out_valid")
        )
        if buffered.loaded:
            words = joined.read_data, joined.read_valid
            if is_uneven(bus, step):
                data, valid, ready = self._unpacked(buffered, step, bus, words, joined, fill_ready)
            else:
                data, valid, ready = self._converted(name, bus, step, *words, fill_ready, filled)
            text.alias(joined.read_ready, ready, 1)
            inputs |= {"fill_go": joined.fill_go, "in_data": data, "in_valid": valid}
        if buffered.stored:
            inputs |= {"drain_go": joined.drain_go, "out_ready": text.named(f"{name}_out_ready")}
        if self._waits.outside:
            still = text.any_of(text.invert(self.moves), text.invert(self.runs))
            inputs |= {"moves": self.moves, "still": still}
        if buffered.leaves:
            inputs["may_leave"] = text.named(f"{name}_may_leave")
        found = put_instance(text, f"{name}_buffer", self.made.take(module), inputs)
        layout = folded(array.layout, buffered.fold)
        if buffered.early:
            due = deadlines(self.core.times.needs.get(name), layout, lanes)
            self._found.coming.append(Coming(name, found["step"], due))
        ends = self.core.times.ends.get(name)
        if buffered.leaves and ends is not None:
            steps = int(steps_of_elements(layout, lanes)[-1]) + 1
            may, freed = inputs["may_leave"], releases(ends, layout, lanes)
            self._found.leaving.append(Leaving(name, found["left"], may, steps, freed))
        for port in array.ports:
            if port.reads:
                self.wiring.inputs[f"{port.prefix}_rdata"] = found[f"{port.prefix}_rdata"]
        if buffered.loaded:
            text.alias(filled, found["filled"], 1)
            text.alias(joined.filled, filled, 1)
            text.alias(fill_ready, found["in_ready"], 1)
        if buffered.stored:
            text.alias(drain_data, found["out_data"], step)
            text.alias(drain_last, found["out_last"], 1)
            text.alias(drain_valid, found["out_valid"], 1)
            ready = self._packed(buffered, step, bus, (drain_data, drain_last, drain_valid), joined)
            text.alias(inputs["out_ready"], ready, 1)
        return joined

    def _converted(
        self, name: str, bus: int, step: int, data: str, valid: str, ready: str, flush: str
    ) -> tuple[str, str, str]:
        """Words of the bus as steps of an array: data and valid of a step, ready of a word."""
        text = self.text
        if bus == step:
            return data, valid, ready
        common = {
            "in_data": data,
            "in_last": text.const(0, 1),
            "in_valid": valid,
            "out_ready": ready,
        }
        if bus > step:
            module = self.made.take(narrower_module(bus, step))
            found = put_instance(text, f"{name}_unpack", module, {**common, "flush": flush})
        else:
            found = put_instance(
                text, f"{name}_unpack", self.made.take(widener_module(bus, step)), common
            )
        return found["out_data"], found["out_valid"], found["in_ready"]

    def _packed(
        self, buffered: Buffered, step: int, bus: int, steps: tuple[str, str, str], joined: _Joined
    ) -> str:
        """Steps of an array as words of the bus, with strobes; ready of a step."""
        text = self.text
        data, last, valid = steps
        ready = joined.write_ready
        if is_uneven(bus, step):
            return self._packed_runs(buffered, step, bus, (data, valid), joined)
        if bus != step:
            common = {"in_data": data, "in_last": last, "in_valid": valid, "out_ready": ready}
            label = f"{buffered.name}_pack"
            if bus > step:
                found = put_instance(text, label, self.made.take(widener_module(step, bus)), common)
            else:
                flush = {"flush": text.const(0, 1)}
                module = self.made.take(narrower_module(step, bus))
                found = put_instance(text, label, module, {**common, **flush})
            data, last, valid = found["out_data"], found["out_last"], found["out_valid"]
            ready = found["in_ready"]
        lanes = bus // 8
        tail = buffered.bytes % lanes
        full = text.const((1 << lanes) - 1, lanes)
        strobe = text.mux(last, text.const((1 << tail) - 1, lanes), full, lanes) if tail else full
        text.alias(joined.write_data, data, bus)
        text.alias(joined.write_strobe, strobe, lanes)
        text.alias(joined.write_valid, valid, 1)
        return ready

    # --- steps of other sizes than a part of a word --------------------------------------

    def _unpacked(
        self,
        buffered: Buffered,
        step: int,
        bus: int,
        words: tuple[str, str],
        joined: _Joined,
        ready: str,
    ) -> tuple[str, str, str]:
        """Words of the bus as steps, which begin anywhere in a word: as :meth:`_converted`."""
        data, valid = words
        units = _units(buffered, step, bus)
        name = f"{self.core.module}_{buffered.name}_unpack"
        inputs = {"in_data": data, "in_valid": valid, "out_ready": ready}
        module = unpacker_module(name, units, self.made)
        found = self._gearbox(f"{buffered.name}_unpack", module, units, joined.fill_go, inputs)
        return found["out_data"], found["out_valid"], found["in_ready"]

    def _packed_runs(
        self, buffered: Buffered, step: int, bus: int, steps: tuple[str, str], joined: _Joined
    ) -> str:
        """Steps as words of the bus, as :meth:`_packed`."""
        data, valid = steps
        units = _units(buffered, step, bus)
        name = f"{self.core.module}_{buffered.name}_pack"
        inputs = {"in_data": data, "in_valid": valid, "out_ready": joined.write_ready}
        module = packer_module(name, units, self.made)
        found = self._gearbox(f"{buffered.name}_pack", module, units, joined.drain_go, inputs)
        text = self.text
        text.alias(joined.write_data, found["out_data"], bus)
        text.alias(joined.write_strobe, found["out_strobe"], bus // 8)
        text.alias(joined.write_valid, found["out_valid"], 1)
        return found["in_ready"]

    def _gearbox(
        self, label: str, module: ModuleBuilder, units: Units, go: str, inputs: dict[str, str]
    ) -> dict[str, str]:
        """A gearbox whose one run is the whole array; it is idle when it is told to ``go``."""
        start = self.text.const(0, units.start_bits)
        given = {**inputs, "run_start": start, "run_valid": go}
        return put_instance(self.text, label, self.made.take(module), given)

    # --- engines ----------------------------------------------------------------------

    def _reads(self, mine: list[Buffered], buffers: dict[str, _Joined]) -> None:
        text, gang = self.text, self._gang(mine[0])
        label = "_".join(gang.bundles)
        goes, active = [], []
        pulse = self.go
        mine = sorted(mine, key=lambda each: each.early)
        for number, each in enumerate(mine):
            joined = buffers[each.name]
            if number and each.early and not mine[number - 1].early:
                self._over(f"{label}_begun", pulse, self.loaded)
            text.alias(joined.fill_go, pulse, 1)
            goes.append(pulse)
            turn = text.named(f"{each.name}_turn")
            flag(text, turn, pulse, joined.filled)
            active.append(turn)
            pulse = joined.filled
        self._over(f"{label}_loaded", pulse, self._found.late if mine[-1].early else self.loaded)
        ready = [
            text.all_of(t, buffers[b.name].read_ready) for t, b in zip(active, mine, strict=True)
        ]
        orders = self._order(gang.master, mine, goes)
        found = gang.read(f"{label}_reader", orders, text.any_of(*ready))
        self.bad.append(found["bad"])
        for turn, each in zip(active, mine, strict=True):
            text.alias(buffers[each.name].read_data, found["data"], gang.master.width)
            text.alias(buffers[each.name].read_valid, text.all_of(turn, found["valid"]), 1)

    def _over(self, hint: str, pulse: str, flags: list[str]) -> None:
        """A bit that is high from a pulse on until the next run."""
        over = self.text.named(hint)
        flag(self.text, over, pulse, self.go)
        flags.append(over)

    def _writes(self, mine: list[Buffered], buffers: dict[str, _Joined], pulse: str) -> None:
        """Engines that store arrays, from a pulse on."""
        text, gang = self.text, self._gang(mine[0])
        label, master = "_".join(gang.bundles), gang.master
        idle = text.named(f"{label}_idle")
        goes, active = [], []
        for each in mine:
            joined = buffers[each.name]
            text.alias(joined.drain_go, pulse, 1)
            goes.append(pulse)
            turn = text.named(f"{each.name}_store_turn")
            stored = text.all_of(turn, idle)
            flag(text, turn, pulse, stored)
            active.append(turn)
            pulse = stored
        over = text.named(f"{label}_stored")
        flag(text, over, pulse, self.go)
        self.stored.append(over)
        joins = [buffers[b.name] for b in mine]
        data, strobe = (
            text.choose(
                [(t, getattr(j, f"write_{name}")) for t, j in zip(active, joins, strict=True)],
                width,
            )
            for name, width in (("data", master.width), ("strobe", master.width // 8))
        )
        valid = [text.all_of(t, j.write_valid) for t, j in zip(active, joins, strict=True)]
        orders = self._order(master, mine, goes)
        found = gang.write(f"{label}_writer", orders, (data, strobe, text.any_of(*valid)))
        self.bad.append(found["bad"])
        text.alias(idle, found["idle"], 1)
        for turn, joined in zip(active, joins, strict=True):
            text.alias(joined.write_ready, text.all_of(turn, found["ready"]), 1)

    def _order(self, master: Master, mine: list[Buffered], goes: list[str]) -> Orders:
        """What the engines of arrays are told, each in its turn."""
        text = self.text
        beats = [-(-b.bytes // (master.width // 8)) for b in mine]
        bits = bits_unsigned(max(beats))
        many = [(g, text.const(n, bits)) for g, n in zip(goes, beats, strict=True)]
        bases = []
        for number in range(len(mine[0].parts)):
            registers = [self.addresses[b.parts[number].register] for b in mine]
            bases.append(text.choose(list(zip(goes, registers, strict=True)), ADDRESS))
        return Orders(text.any_of(*goes), bases, text.choose(many, bits), bits)
