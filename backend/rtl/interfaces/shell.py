"""The module around a core: what loads its arrays, starts it, and stores what it leaves.

A run has three parts. First every array that the kernel may read is copied in, those of different
bundles at the same time. Then the core runs. Then every array that it may have written is copied
out, and the last words of streams leave. ``ap_done`` follows when every write has been answered.
Arrays that pass while the core runs (:mod:`.beside`) are read from the start on. Nor does the core wait
for those that are copied in early (:mod:`.early`), but only where it needs an element that is not there, and
elements of some leave when it has written them for the last time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..design import ArrayInterface, BankPort, ScalarPort, StreamInterface, Times
from ..emit.builder import ModuleBuilder, Wiring, identifier
from ..netlist.locations import Locations
from ..netlist.modules import Ports
from .beside.serve import Server
from .board import BUS_ERROR, LITE, Board, Buffered
from .buses.clients import Clients, engine_of
from .buses.copies import Copies, Pulses
from .buses.gang import Gang
from .control import control_module, lite_ports
from .early import gate
from .early.leaving import Leaving, emit_leaving
from .parts import Made, flag, put_instance
from .streams import sender_module


@dataclass(frozen=True, slots=True)
class Core:
    """The compiled design: its module, what its ports are, and its cycles where they are known.

    Attributes:
        times: when it uses elements of arrays that are copied while it runs.
        waits: whether it also waits for words of its own.
    """

    module: str
    ports: Ports
    arrays: Sequence[ArrayInterface]
    streams: Sequence[StreamInterface]
    scalars_in: Sequence[ScalarPort]
    scalars_out: Sequence[ScalarPort]
    cycles: int | None = None
    times: Times = field(default_factory=Times)
    waits: bool = False


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
        self.late: list[str] = []
        self.coming: list[gate.Coming] = []
        self.leaving: list[Leaving] = []
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
        self.runs, self.moves = text.named("core_runs"), text.named("core_moves")
        self._control()
        self.clients = Clients(text, self.board, self.made)
        self._masters()
        for served in self.board.arrays:
            if served.beside is not None:
                self._serve(served)
        self.clients.finish()
        self.values |= self.clients.values
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
            buffered = {part.register for b in board.arrays for part in b.parts}
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
        if self.coming or self.leaving:
            self._gate(begin)
        if "ce" in dict(self.core.ports.inputs):
            self.wiring.inputs["ce"] = self.moves if self.coming else text.const(1, 1)
        flag(text, self.runs, begin, core_done)
        text.alias(self.store, self._ended(core_done), 1)
        finished = text.all_of(storing, *self.stored, *flushed)
        flag(text, storing, self.store if self.late else core_done, finished)
        flag(text, busy, self.go, finished)
        text.alias(self.over, storing, 1)
        text.alias(self.done, finished, 1)

    def _gate(self, begin: str) -> None:
        """What lets the core go on, and elements leave, by the cycles of the core."""
        pulses = gate.Pulses(begin, self.runs, self.done, self.moves)
        most = max((after for each in self.leaving for after, _ in each.releases), default=0)
        cycle = gate.emit_gate(self.text, self.coming, most, pulses)
        for each in self.leaving:
            emit_leaving(self.text, each, cycle, self.over, self.done)

    def _ended(self, core_done: str) -> str:
        """The pulse behind the core's end, when all is there that was still copied in."""
        text = self.text
        if not self.late:
            return core_done
        waits, ended = text.named("core_ended"), text.named("all_over")
        text.alias(ended, text.all_of(text.any_of(core_done, waits), *self.late), 1)
        flag(text, waits, text.all_of(core_done, text.invert(ended)), ended)
        return ended

    # --- arrays -----------------------------------------------------------------------

    def _memory(self, array: ArrayInterface) -> None:
        """An array whose RAM is outside: its ports are the core's."""
        for port in array.ports:
            for suffix in ("addr", "en", *(("we", "wdata") if port.writes else ())):
                name = f"{port.prefix}_{suffix}"
                self.values[name] = self.wiring.outputs[name]
            if self.coming:
                asks = f"{port.prefix}_en"
                self.values[asks] = self.text.all_of(self.values[asks], self.moves)
            if port.reads:
                word = f"%{port.prefix}_rdata"
                self.wiring.inputs[word[1:]] = (
                    self._kept(port, array.width) if self.coming else word
                )

    def _kept(self, port: BankPort, width: int) -> str:
        """What RAM outside answered last: a core that waits for arrays may take it later."""
        text, stem = self.text, port.prefix
        answers = text.register(
            text.named(f"{stem}_answers"), self.values[f"{stem}_en"], 1, reset=0
        )
        held = text.named(f"{stem}_kept")
        word = text.mux(answers, f"%{stem}_rdata", held, width)
        text.register(held, word, width)
        return word

    def _masters(self) -> None:
        """The kinds of the masters' bursts, and the engines that copy whole arrays."""
        text = self.text
        for master in self.board.masters:
            shift = (master.width // 8 - 1).bit_length()
            zero = {"SIZE": (shift, 3), "BURST": (1, 2), "CACHE": (3, 4), "PROT": (0, 3)}
            for channel, wanted in (("AR", master.reads), ("AW", master.writes)):
                for name, (value, width) in zero.items():
                    if wanted:
                        self.values[f"{master.prefix}_{channel}{name}"] = text.const(value, width)
        pulses = Pulses(self.go, self.store, self.moves, self.runs)
        copies = Copies(
            text, self.core, self.board, self.made, self.wiring, self.clients, self.addresses
        )
        copied = copies.emit(pulses)
        self.loaded, self.stored = copied.loaded, copied.stored
        self.bad += copied.bad
        self.late, self.coming, self.leaving = copied.late, copied.coming, copied.leaving

    def _serve(self, array: Buffered) -> None:
        """An array whose elements pass while the core runs."""
        addresses = [self.addresses[part.register] for part in array.parts]
        gang = Gang(self.text, self.made, self.clients, array.bundles, engine_of(array))
        core, module = self.wiring.outputs, self.core.module
        pulses = self.go, self.runs
        served = Server(gang, array, module, pulses, addresses, core).serve()
        self.wiring.inputs |= served.core
        self.bad += served.bad
        if served.stored:
            self.stored.append(served.stored)

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
