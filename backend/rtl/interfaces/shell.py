"""The module around a core: what loads its arrays, starts it, and stores what it leaves.

A run has three parts. First every array that the kernel may read is copied in, those of different
bundles at the same time. Then the core runs. Then every array that it may have written is copied
out, and the last words of streams leave. ``ap_done`` follows when every write has been answered.
Arrays that pass while the core runs (:mod:`.beside`) are read from the start on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..design import ArrayInterface, ScalarPort, StreamInterface
from ..emit.builder import ModuleBuilder, Wiring, identifier
from ..graph.linear import bits_unsigned
from ..netlist.locations import Locations
from ..netlist.modules import Ports
from .beside.serve import Server
from .board import BUS_ERROR, LITE, Board, Buffered, Master
from .buffer import buffer_module
from .control import control_module, lite_ports
from .converters import narrower_module, widener_module
from .masters import ADDRESS, reader_module, writer_module
from .parts import Made, flag, put_instance
from .streams import sender_module
from .walk import most_lanes


@dataclass(frozen=True, slots=True)
class Core:
    """The compiled design: its module, and what its ports are."""

    module: str
    ports: Ports
    arrays: Sequence[ArrayInterface]
    streams: Sequence[StreamInterface]
    scalars_in: Sequence[ScalarPort]
    scalars_out: Sequence[ScalarPort]


def shell_module(core: Core, board: Board, made: Made, locations: Locations) -> ModuleBuilder:
    """The module around the core; the modules it is made of are taken into ``made``."""
    return _Shell(core, board, made, locations).emit()


class _Shell:
    def __init__(self, core: Core, board: Board, made: Made, locations: Locations) -> None:
        self.core = core
        self.board = board
        self.made = made
        self.text = ModuleBuilder(f"{core.module}_shell", locations, probed=True)
        self.arrays = {array.name: array for array in core.arrays}
        self.wiring = Wiring()
        self.values: dict[str, str] = {}
        self.loaded: list[str] = []
        self.stored: list[str] = []
        self.bad: list[str] = []

    def emit(self) -> ModuleBuilder:
        """The module."""
        text = self.text
        for wire in self.board.wires:
            text.reserve(wire.name)
            if not wire.output:
                text.input(wire.name, f"i{wire.width}")
        for name, _, _ in self.core.ports.outputs:
            self.wiring.outputs[name] = text.named(f"core_{name}")
        self.go, self.store, self.idle = (text.named(n) for n in ("go", "store", "idle"))
        self.over, self.done = text.named("core_over"), text.named("all_done")
        self.runs = text.named("core_runs")
        self._control()
        buffers = {b.name: self._buffer(b) for b in self.board.arrays if b.beside is None}
        for master in self.board.masters:
            self._master(master, buffers)
        for served in self.board.arrays:
            if served.beside is not None:
                self._serve(served)
        for name in self.board.memories:
            self._memory(self.arrays[name])
        flag(text, self.bus_error, text.any_of(*self.bad), self.go)
        flushed = [self._stream(n) for n in range(len(self.board.streams))]
        self._conduct([f for f in flushed if f])
        text.instance("core", self.core.module, self.core.ports, self.wiring)
        for wire in self.board.wires:
            if wire.output:
                text.output(wire.name, f"i{wire.width}", self.values[wire.name])
        return text

    # --- start and done ---------------------------------------------------------------

    def _control(self) -> None:
        """Where starts, scalars and addresses come from: registers, or ports."""
        text, board = self.text, self.board
        self.addresses: dict[str, str] = {}
        results = {port.name: self._result(port) for port in self.core.scalars_out}
        self.bus_error = results[BUS_ERROR] = text.named(BUS_ERROR)
        if board.registers is None:
            self.start = "%ap_start"
            self.values |= {"ap_done": self.done, "ap_ready": self.done, "ap_idle": self.idle}
        else:
            inputs = {n: f"%{LITE}_{n}" for n in lite_ports(board.address_bits)[0]}
            inputs |= {"ap_done": self.done, "ap_idle": self.idle}
            inputs |= {
                f"res_{identifier(r.name)}": results[r.name]
                for r in board.registers
                if not r.written
            }
            found = put_instance(text, "control", self.made.take(control_module(board)), inputs)
            self.start = found["ap_start"]
            self.values |= {f"{LITE}_{n}": found[n] for n in lite_ports(board.address_bits)[1]}
            self.values["interrupt"] = found["interrupt"]
            buffered = {b.name for b in board.arrays}
            for register in board.registers:
                if register.written:
                    place = self.addresses if register.name in buffered else self.wiring.inputs
                    place[register.name] = found[f"arg_{identifier(register.name)}"]
        for name in board.pins:
            self.wiring.inputs[name] = f"%{name}"
        for name in board.results:
            self.values[name] = results[name]

    def _result(self, port: ScalarPort) -> str:
        """A scalar result, from the end of the core's run on."""
        held = self.text.named(f"{port.name}_held")
        value, done = self.wiring.outputs[port.name], self.wiring.outputs["done"]
        return self.text.register(held, value, port.width, enable=done, reset=0)

    def _conduct(self, flushed: list[str]) -> None:
        """The parts of a run, one after the other."""
        text = self.text
        busy, loading, storing = (text.named(n) for n in ("busy", "loading", "storing"))
        text.alias(self.idle, text.invert(busy), 1)
        text.alias(self.go, text.all_of(self.start, self.idle), 1)
        begin = self.go
        if self.loaded:
            begin = text.all_of(loading, *self.loaded)
            flag(text, loading, self.go, begin)
        core_done = self.wiring.outputs["done"]
        self.wiring.inputs["start"] = begin
        flag(text, self.runs, begin, core_done)
        if "ce" in dict(self.core.ports.inputs):
            self.wiring.inputs["ce"] = text.const(1, 1)
        text.alias(self.store, core_done, 1)
        finished = text.all_of(storing, *self.stored, *flushed)
        flag(text, storing, core_done, finished)
        flag(text, busy, self.go, finished)
        text.alias(self.over, storing, 1)
        text.alias(self.done, finished, 1)

    # --- arrays -----------------------------------------------------------------------

    def _memory(self, array: ArrayInterface) -> None:
        """An array whose RAM is outside: its ports are the core's."""
        for port in array.ports:
            for suffix in ("addr", "en", *(("we", "wdata") if port.writes else ())):
                name = f"{port.prefix}_{suffix}"
                self.values[name] = self.wiring.outputs[name]
            if port.reads:
                self.wiring.inputs[f"{port.prefix}_rdata"] = f"%{port.prefix}_rdata"

    def _lanes(self, buffered: Buffered) -> int:
        width = self._master_of(buffered).width
        return most_lanes(self.arrays[buffered.name].layout, max(1, width // buffered.cell))

    def _master_of(self, buffered: Buffered) -> Master:
        return next(m for m in self.board.masters if m.bundle == buffered.bundle)

    def _buffer(self, buffered: Buffered) -> _Joined:
        """The RAM of an array, and what turns its elements into words of the bus."""
        text, array, lanes = self.text, self.arrays[buffered.name], self._lanes(buffered)
        module = buffer_module(array, buffered, lanes, self.core.module, self.made)
        inputs: dict[str, str] = {}
        for port in array.ports:
            suffixes = ("addr", *(("en", "we", "wdata") if port.writes else ()))
            for suffix in suffixes:
                name = f"{port.prefix}_{suffix}"
                inputs[name] = self.wiring.outputs[name]
        name, step, bus = buffered.name, buffered.cell * lanes, self._master_of(buffered).width
        joined = _Joined(*(text.named(f"{name}_{s}") for s in _Joined.NAMES))
        filled, fill_ready, drain_data, drain_last, drain_valid = (
            text.named(f"{name}_{s}")
            for s in ("filled", "fill_ready", "out", "out_last", "out_valid")
        )
        if buffered.loaded:
            data, valid, ready = self._converted(
                name, bus, step, joined.read_data, joined.read_valid, fill_ready, filled
            )
            text.alias(joined.read_ready, ready, 1)
            inputs |= {"fill_go": joined.fill_go, "in_data": data, "in_valid": valid}
        if buffered.stored:
            inputs |= {"drain_go": joined.drain_go, "out_ready": text.named(f"{name}_out_ready")}
        found = put_instance(text, f"{name}_buffer", self.made.take(module), inputs)
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

    # --- masters ----------------------------------------------------------------------

    def _master(self, master: Master, buffers: dict[str, _Joined]) -> None:
        """The engines of a bundle, which serve its arrays one after the other."""
        text = self.text
        mine = [b for b in self.board.arrays if b.bundle == master.bundle]
        shift = (master.width // 8 - 1).bit_length()
        zero = {"SIZE": (shift, 3), "BURST": (1, 2), "CACHE": (3, 4), "PROT": (0, 3)}
        for channel, wanted in (("AR", master.reads), ("AW", master.writes)):
            for name, (value, width) in zero.items():
                if wanted:
                    self.values[f"{master.prefix}_{channel}{name}"] = text.const(value, width)
        if mine[0].beside is not None:
            return
        if master.reads:
            self._reads(master, [b for b in mine if b.loaded], buffers)
        if master.writes:
            self._writes(master, [b for b in mine if b.stored], buffers)

    def _serve(self, array: Buffered) -> None:
        """An array whose elements pass while the core runs."""
        master, address = self._master_of(array), self.addresses[array.name]
        core, module = self.wiring.outputs, self.core.module
        pulses = self.go, self.runs
        served = Server(self.text, self.made, array, master, module, pulses, address, core).serve()
        self.values |= served.wires
        self.wiring.inputs |= served.core
        self.bad += served.bad
        if served.stored:
            self.stored.append(served.stored)

    def _reads(self, master: Master, mine: list[Buffered], buffers: dict[str, _Joined]) -> None:
        text = self.text
        goes, active = [], []
        pulse = self.go
        for each in mine:
            joined = buffers[each.name]
            text.alias(joined.fill_go, pulse, 1)
            goes.append(pulse)
            turn = text.named(f"{each.name}_turn")
            flag(text, turn, pulse, joined.filled)
            active.append(turn)
            pulse = joined.filled
        over = text.named(f"{master.bundle}_loaded")
        flag(text, over, pulse, self.go)
        self.loaded.append(over)
        inputs, bits = self._order(master, mine, goes)
        ready = [
            text.all_of(t, buffers[b.name].read_ready) for t, b in zip(active, mine, strict=True)
        ]
        inputs |= {"ready": text.any_of(*ready)}
        inputs |= self._outside(master, ("ARREADY", "RDATA", "RRESP", "RLAST", "RVALID"))
        module = self.made.take(reader_module(master, bits, self.made))
        found = put_instance(text, f"{master.bundle}_reader", module, inputs)
        self.bad.append(found["bad"])
        for turn, each in zip(active, mine, strict=True):
            text.alias(buffers[each.name].read_data, found["data"], master.width)
            text.alias(buffers[each.name].read_valid, text.all_of(turn, found["valid"]), 1)
        for name in ("ARADDR", "ARLEN", "ARVALID", "RREADY"):
            self.values[f"{master.prefix}_{name}"] = found[name]

    def _writes(self, master: Master, mine: list[Buffered], buffers: dict[str, _Joined]) -> None:
        text = self.text
        idle = text.named(f"{master.bundle}_idle")
        goes, active = [], []
        pulse = self.store
        for each in mine:
            joined = buffers[each.name]
            text.alias(joined.drain_go, pulse, 1)
            goes.append(pulse)
            turn = text.named(f"{each.name}_store_turn")
            stored = text.all_of(turn, idle)
            flag(text, turn, pulse, stored)
            active.append(turn)
            pulse = stored
        over = text.named(f"{master.bundle}_stored")
        flag(text, over, pulse, self.go)
        self.stored.append(over)
        inputs, bits = self._order(master, mine, goes)
        joins = [buffers[b.name] for b in mine]
        for name, width in (("data", master.width), ("strobe", master.width // 8)):
            users = [(t, getattr(j, f"write_{name}")) for t, j in zip(active, joins, strict=True)]
            inputs[name] = text.choose(users, width)
        valid = [text.all_of(t, j.write_valid) for t, j in zip(active, joins, strict=True)]
        inputs["valid"] = text.any_of(*valid)
        inputs |= self._outside(master, ("AWREADY", "WREADY", "BRESP", "BVALID"))
        module = self.made.take(writer_module(master, bits, self.made))
        found = put_instance(text, f"{master.bundle}_writer", module, inputs)
        self.bad.append(found["bad"])
        text.alias(idle, found["idle"], 1)
        for turn, joined in zip(active, joins, strict=True):
            text.alias(joined.write_ready, text.all_of(turn, found["ready"]), 1)
        names = ("AWADDR", "AWLEN", "AWVALID", "WDATA", "WSTRB", "WLAST", "WVALID", "BREADY")
        for name in names:
            self.values[f"{master.prefix}_{name}"] = found[name]

    def _order(
        self, master: Master, mine: list[Buffered], goes: list[str]
    ) -> tuple[dict[str, str], int]:
        """What an engine is told: to go, from where, and how many words; and the width of the latter."""
        text = self.text
        beats = [-(-b.bytes // (master.width // 8)) for b in mine]
        bits = bits_unsigned(max(beats))
        bases = [(g, self.addresses[b.name]) for g, b in zip(goes, mine, strict=True)]
        many = [(g, text.const(n, bits)) for g, n in zip(goes, beats, strict=True)]
        return {
            "go": text.any_of(*goes),
            "base": text.choose(bases, ADDRESS),
            "beats": text.choose(many, bits),
        }, bits

    def _outside(self, master: Master, names: Sequence[str]) -> dict[str, str]:
        return {name: f"%{master.prefix}_{name}" for name in names}

    # --- streams ----------------------------------------------------------------------

    def _stream(self, number: int) -> str:
        """A stream; for one that leaves, whether it has been handed over whole, else ""."""
        text, end = self.text, self.board.streams[number]
        data, valid, ready = (f"{end.name}_{s}" for s in ("data", "valid", "ready"))
        if not end.output:
            word = text.slice(f"%{end.name}_TDATA", 0, end.width, end.cell)
            # A core that has not started yet may drop words.
            taken = text.all_of(self.wiring.outputs[ready], self.runs)
            inputs = {"in_data": word, "in_valid": f"%{end.name}_TVALID", "out_ready": taken}
            fifo = self.made.fifo(text, f"{end.name}_queue", end.width, 2, inputs)
            offered = text.all_of(fifo["out_valid"], self.runs)
            self.wiring.inputs |= {data: fifo["out_data"], valid: offered}
            self.values[f"{end.name}_TREADY"] = fifo["in_ready"]
            return ""
        inputs = {
            "data": self.wiring.outputs[data],
            "valid": self.wiring.outputs[valid],
            "over": self.over,
            "TREADY": f"%{end.name}_TREADY",
        }
        module = self.made.take(sender_module(end.width, self.made))
        found = put_instance(text, f"{end.name}_sender", module, inputs)
        self.wiring.inputs[ready] = found["ready"]
        word = text.extend(found["TDATA"], end.width, end.cell, signed=end.signed)
        self.values[f"{end.name}_TDATA"] = word
        for name in ("TVALID", "TLAST"):
            self.values[f"{end.name}_{name}"] = found[name]
        return found["empty"]


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
