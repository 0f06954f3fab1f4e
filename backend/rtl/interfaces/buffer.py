"""The RAM of one array beside the core: the core's own ports, and a way in and out for its elements.

The elements pass in row-major order, ``lanes`` of them at once, each in its cell. They pass while the core
is idle, through the first port of each bank: so no bank needs a port more than the core asks for.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..design import ArrayInterface, BankPort
from ..emit.builder import ModuleBuilder, identifier
from ..emit.memory.ram import RamPort, RamUse, ram_bank
from ..graph.linear import bits_unsigned
from ..graph.nodes import Array
from ..netlist.locations import Locations
from .board import Buffered
from .parts import Made, concat, flag, reserve_ports
from .walk import Walk, emit_walk, fold_of, folded

QUEUE = 4
"""Steps that have left the memory and wait for the bus."""


def buffer_module(
    array: ArrayInterface, buffered: Buffered, lanes: int, core: str, made: Made
) -> ModuleBuilder:
    """The module of an array.

    Ports, besides the core's: where the array is loaded ``fill_go``, ``in_data``, ``in_valid``,
    ``in_ready`` and the pulse ``filled``; where it is stored ``drain_go``, ``out_data``, ``out_last``,
    ``out_valid``, ``out_ready``.
    """
    return _Buffer(array, buffered, lanes, core, made).emit()


@dataclass(frozen=True, slots=True)
class _Way:
    """How the elements of a step pass: SSA names.

    Attributes:
        write: whether a step is written, "" where none ever is.
        lanes: the words that are written.
    """

    moving: str
    walk: Walk
    write: str
    lanes: list[str]


class _Buffer:
    def __init__(
        self, array: ArrayInterface, buffered: Buffered, lanes: int, core: str, made: Made
    ) -> None:
        self.array = array
        self.buffered = buffered
        self.lanes = lanes
        self.made = made
        self.text = ModuleBuilder(f"{core}_{identifier(array.name)}_buffer", Locations())
        self.width = buffered.cell * lanes
        self.layout = folded(array.layout, buffered.fold)
        self._now: dict[BankPort, str] = {}
        self._read: dict[BankPort, str] = {}
        self._words: dict[BankPort, list[str]] = {}

    def emit(self) -> ModuleBuilder:
        """The module."""
        self._declare()
        text, kept = self.text, self.buffered
        filling, draining = text.named("filling"), text.named("draining")
        issue, step = text.named("issue"), []
        if kept.loaded:
            step.append(text.all_of(filling, "%in_valid"))
        if kept.stored:
            step.append(issue)
        restart = [
            g for g, wanted in (("%fill_go", kept.loaded), ("%drain_go", kept.stored)) if wanted
        ]
        walk = emit_walk(text, self.layout, self.lanes, text.any_of(*step), text.any_of(*restart))
        lanes: list[str] = []
        if kept.loaded:
            filled = text.all_of(step[0], walk.last)
            flag(text, filling, "%fill_go", filled)
            text.output("in_ready", "i1", filling)
            text.output("filled", "i1", filled)
            lanes = [
                text.slice("%in_data", n * kept.cell, kept.width, self.width)
                for n in range(self.lanes)
            ]
        modes = ([filling] if kept.loaded else []) + ([draining] if kept.stored else [])
        way = _Way(text.any_of(*modes), walk, step[0] if kept.loaded else "", lanes)
        for port in self.array.ports:
            self._part(port)
        words = [""] * self.layout.bank_count
        for bank in range(self.array.layout.bank_count):
            for turn, cut in enumerate(fold_of(self.array.layout, kept.fold, bank)):
                words[cut] = self._bank(bank, cut, turn, way)
        for port in self.array.ports:
            self._answer(port)
        if kept.stored:
            self._drain(walk, words, draining, issue)
        return text

    def _declare(self) -> None:
        inputs: dict[str, int] = {}
        outputs: list[str] = []
        width = self.array.width
        for port in self.array.ports:
            inputs[f"{port.prefix}_addr"] = port.addr_width
            if port.writes:
                inputs |= {f"{port.prefix}_{s}": 1 for s in ("en", "we")}
                inputs[f"{port.prefix}_wdata"] = width
            if port.reads:
                outputs.append(f"{port.prefix}_rdata")
        if self.buffered.loaded:
            inputs |= {"fill_go": 1, "in_data": self.width, "in_valid": 1}
            outputs += ["in_ready", "filled"]
        if self.buffered.stored:
            inputs |= {"drain_go": 1, "out_ready": 1}
            outputs += ["out_data", "out_last", "out_valid"]
        reserve_ports(self.text, inputs, tuple(outputs))

    # --- banks ------------------------------------------------------------------------

    def _part(self, port: BankPort) -> None:
        """Which of the banks that its bank is cut into a port means, now and for the word that it reads."""
        text, bits = self.text, bits_unsigned(self.buffered.fold - 1)
        if self.buffered.fold > 1:
            now = text.slice(f"%{port.prefix}_addr", 0, bits, port.addr_width)
            self._now[port] = now
            if port.reads:
                self._read[port] = text.register(text.named(f"{port.prefix}_part"), now, bits)

    def _answer(self, port: BankPort) -> None:
        """What a port reads."""
        if not port.reads:
            return
        text, words, bits = self.text, self._words[port], bits_unsigned(self.buffered.fold - 1)
        data = words[0]
        if len(words) > 1:
            which = self._read[port]
            users = [
                (text.compare("eq", which, text.const(turn, bits), bits), word)
                for turn, word in enumerate(words)
            ]
            data = text.choose(users, self.array.width)
        text.output(f"{port.prefix}_rdata", f"i{self.array.width}", data)

    def _bank(self, bank: int, cut: int, turn: int, way: _Way) -> str:
        """A bank, or one that it is cut into; what its first port reads, "" where nothing asks for that."""
        ports = [p for p in self.array.ports if p.bank == bank]
        if not ports and not self.buffered.stored:
            return ""
        users: list[BankPort | None] = [*ports] or [None]
        # Elements come in through a port that writes anyway: a bank that two ports write is no block RAM of
        # families but Xilinx's.
        fill = next((n for n, port in enumerate(ports) if port.writes), 0)
        made = [
            self._port((cut, turn), port, way, drains=n == 0, fills=n == fill)
            for n, port in enumerate(users)
        ]
        name = self.text.named(f"bank{cut}")
        for own in made:
            own.data = own.data and self.text.fresh()
        if self.layout.bank_depth == 1:
            self._register(name, made)
        else:
            ram_bank(self.text, self._as_array(), name, made)
        for port, own in zip(ports, made, strict=False):
            if port.reads:
                self._words.setdefault(port, []).append(own.data)
        return made[0].data

    def _port(
        self, place: tuple[int, int], port: BankPort | None, way: _Way, *, drains: bool, fills: bool
    ) -> RamPort:
        """A port as the core uses it, and as the walk does if it drains or fills the bank.

        ``place``: the bank, and which one it is of those that the core's bank is cut into.
        """
        text, width, depth = self.text, self.array.width, way.walk.word_bits
        address = way.walk.word
        writes: list[RamUse] = []
        if port is not None:
            low = bits_unsigned(self.buffered.fold - 1) if self.buffered.fold > 1 else 0
            own = text.slice(f"%{port.prefix}_addr", low, depth, port.addr_width)
            address = text.mux(way.moving, address, own, depth) if drains or fills else own
            if port.writes:
                wanted = [f"%{port.prefix}_en", f"%{port.prefix}_we"]
                if low:
                    here = text.const(place[1], low)
                    wanted.append(text.compare("eq", self._now[port], here, low))
                writes.append(RamUse(text.all_of(*wanted), own, (), f"%{port.prefix}_wdata"))
        if fills and way.write:
            bank = place[0]
            writes.append(
                RamUse(self._selected(bank, way), way.walk.word, (), self._lane(bank, way))
            )
        reads = (port is not None and port.reads) or (drains and self.buffered.stored)
        made = RamPort(address, "yes" if reads else "", (), writes=writes)
        if writes:
            made.enable = text.any_of(*(w.condition for w in writes))
            made.value = writes[0].data
        if len(writes) == 2:
            made.value = text.mux(way.moving, writes[1].data, writes[0].data, width)
        return made

    def _selected(self, bank: int, way: _Way) -> str:
        """Whether a step is written that has a word for this bank."""
        if not way.walk.bank:
            return way.write
        base = self.text.const(bank - bank % self.lanes, way.walk.bank_bits)
        here = self.text.compare("eq", way.walk.bank, base, way.walk.bank_bits)
        return self.text.all_of(way.write, here)

    def _lane(self, bank: int, way: _Way) -> str:
        return way.lanes[bank % self.lanes]

    def _register(self, name: str, ports: list[RamPort]) -> None:
        """A bank of one word."""
        text, width = self.text, self.array.width
        uses = [use for port in ports for use in port.writes]
        if uses:
            value = text.choose([(u.condition, u.data) for u in uses], width)
            text.register(name, value, width, enable=text.any_of(*(u.condition for u in uses)))
        else:
            text.alias(name, text.const(0, width), width)
        for number, port in enumerate(ports):
            if port.data:
                held = text.register(text.named(f"{name[1:]}_p{number}_q"), name, width)
                port.data = held

    def _as_array(self) -> Array:
        a = self.array
        return Array(a.name, a.dtype, a.width, self.layout, a.shape, "ram")

    # --- out --------------------------------------------------------------------------

    def _drain(self, walk: Walk, words: list[str], draining: str, issue: str) -> None:
        """Steps leave the memory as long as the queue behind it has room."""
        text, kept = self.text, self.buffered
        pending = text.named("pending")
        fill = text.named("queued")
        room = text.compare("ult", fill, text.const(QUEUE - 1, 3), 3)
        text.alias(issue, text.all_of(draining, room), 1)
        over = text.all_of(issue, walk.last)
        flag(text, draining, "%drain_go", over)
        text.register(pending, issue, 1, reset=0)
        last = text.register(text.named("pending_last"), walk.last, 1)
        chosen = walk.bank
        if chosen:
            chosen = text.register(text.named("pending_bank"), walk.bank, walk.bank_bits)
        parts = [
            (self._cell(n, words, chosen, walk.bank_bits), kept.cell) for n in range(self.lanes)
        ]
        queue = self.made.fifo(
            text,
            "queue",
            self.width + 1,
            QUEUE,
            {
                "in_data": concat(text, [*parts, (last, 1)]),
                "in_valid": pending,
                "out_ready": "%out_ready",
            },
        )
        text.alias(fill, queue["fill"], 3)
        data = queue["out_data"]
        text.output("out_data", f"i{self.width}", text.slice(data, 0, self.width, self.width + 1))
        text.output("out_last", "i1", text.slice(data, self.width, 1, self.width + 1))
        text.output("out_valid", "i1", queue["out_valid"])

    def _cell(self, lane: int, words: list[str], chosen: str, bits: int) -> str:
        """The cell of a lane: of the bank that was read, with its sign."""
        text, kept = self.text, self.buffered
        users = []
        for bank in range(lane, len(words), self.lanes):
            here = text.compare("eq", chosen, text.const(bank - lane, bits), bits) if chosen else ""
            users.append((here, words[bank]))
        word = text.choose(users, kept.width)
        return text.extend(word, kept.width, kept.cell, signed=kept.signed)
