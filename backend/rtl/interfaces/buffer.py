"""The RAM of one array beside the core: the core's own ports, and a way in and out for its elements.

The elements pass in row-major order, ``lanes`` of them at once, each in its cell. They pass while the core
is idle, through the first port of each bank: so no bank needs a port more than the core asks for.

Elements of an array that is ``early`` come in while the core runs. Where no port of a bank writes and it has
one port, they have a second one; elsewhere they take the port in cycles in which the core does not use it.
Those of an array that ``leaves`` have a port to themselves on their way out.

A core that such an array can make stand still takes what it has read when it goes on: a port answers with it
until then, or, where the core also waits by itself, until it reads there again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..design import ArrayInterface, BankPort
from ..emit.builder import ModuleBuilder, identifier
from ..emit.memory.ram import RamPort, RamUse, ram_bank
from ..graph.linear import bits_unsigned
from ..graph.nodes import Array
from ..netlist.locations import Locations
from .board import Buffered
from .early.ports import filled_by, shared_ports
from .parts import Made, concat, flag, reserve_ports
from .walk import Walk, emit_walk, fold_of, folded

QUEUE = 4
"""Steps that have left the memory and wait for the bus."""


def buffer_module(
    array: ArrayInterface, buffered: Buffered, lanes: int, core: str, made: Made, waits: Waits
) -> ModuleBuilder:
    """The module of an array.

    Ports, besides the core's: where the array is loaded ``fill_go``, ``in_data``, ``in_valid``,
    ``in_ready`` and the pulse ``filled``; where it is stored ``drain_go``, ``out_data``, ``out_last``,
    ``out_valid``, ``out_ready``; where it leaves while the core runs, whether a step ``may_leave``, and
    whether one has ``left``. Where the core can stand still, ``moves`` says that it goes on in this
    cycle, and ``still`` that it uses no port; where this array is early, ``step`` says that a step comes in.

    Args:
        waits: what can make the core stand still.
    """
    return _Buffer(array, buffered, lanes, core, made, waits).emit()


@dataclass(frozen=True, slots=True)
class Waits:
    """What can make a core stand still: arrays that come in, ``outside``, and its own streams, ``inside``."""

    outside: bool = False
    inside: bool = False


@dataclass(frozen=True, slots=True)
class _Way:
    """How the elements of a step pass: SSA names.

    Attributes:
        moving: whether steps pass through ports of the core, "" where none do; ``drains`` whether some leave
            through these, where others come in while the core runs.
        outward: the word of those that leave; that of ``walk`` is of those that come in.
        write: whether a step is written, "" where none ever is.
        lanes: the words that are written.
        waiting: for each of them whether it waits for a port of the core, none where none does.
    """

    moving: str
    drains: str
    outward: str
    walk: Walk
    write: str
    lanes: list[str]
    waiting: Sequence[str] = ()


class _Buffer:
    def __init__(
        self,
        array: ArrayInterface,
        buffered: Buffered,
        lanes: int,
        core: str,
        made: Made,
        waits: Waits,
    ) -> None:
        self.array = array
        self.waits = waits
        self.buffered = buffered
        self.lanes = lanes
        self.made = made
        self.text = ModuleBuilder(f"{core}_{identifier(array.name)}_buffer", Locations())
        self.width = buffered.cell * lanes
        self.layout = folded(array.layout, buffered.fold)
        self._now: dict[BankPort, str] = {}
        self._read: dict[BankPort, str] = {}
        self._words: dict[BankPort, list[str]] = {}
        self._owner = {
            cut: bank
            for bank in range(array.layout.bank_count)
            for cut in fold_of(array.layout, buffered.fold, bank)
        }

    def emit(self) -> ModuleBuilder:
        """The module."""
        self._declare()
        text, kept = self.text, self.buffered
        filling, draining = text.named("filling"), text.named("draining")
        issue, step = text.named("issue"), []
        depth = self.layout.bank_depth
        late = bool(kept.early and shared_ports(self.array, depth, early=True))
        takes = text.named("takes") if late else filling
        if kept.loaded:
            step.append(text.all_of(takes, "%in_valid"))
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
            text.output("in_ready", "i1", takes)
            if not late:
                text.output("filled", "i1", filled)
            lanes = [
                text.slice("%in_data", n * kept.cell, kept.width, self.width)
                for n in range(self.lanes)
            ]
        shares = kept.stored and not kept.leaves
        modes = ([filling] if kept.loaded else []) + ([draining] if shares else [])
        moving = text.any_of(*modes) if modes else ""
        drains = draining if kept.early and kept.stored else ""
        way = _Way(moving, drains, walk.word, walk, step[0] if kept.loaded else "", lanes)
        if late:
            way = self._wait_for_ports(way, filling, takes)
        elif kept.early:
            text.output("step", "i1", step[0])
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
        if self.buffered.early:
            outputs.append("step")
        if self.waits.outside:
            inputs |= {"moves": 1, "still": 1}
            for port in self.array.ports:
                inputs[f"{port.prefix}_en"] = 1
        if self.buffered.stored:
            inputs |= {"drain_go": 1, "out_ready": 1}
            outputs += ["out_data", "out_last", "out_valid"]
        if self.buffered.leaves:
            inputs["may_leave"] = 1
            outputs.append("left")
        reserve_ports(self.text, inputs, tuple(outputs))

    # --- beside the core ----------------------------------------------------------------

    def _wait_for_ports(self, way: _Way, filling: str, takes: str) -> _Way:
        """A step in registers, each word of which goes in when the core leaves a port of its bank to it.

        The core says late in a cycle which ports it uses. So it is seen a cycle later that all words are in,
        but at once where the core stands still or does not run: then it uses none.
        """
        text, walk = self.text, way.walk
        bank = walk.bank and text.register(
            text.named("step_bank"), walk.bank, walk.bank_bits, enable=way.write
        )
        word = text.register(text.named("step_word"), walk.word, walk.word_bits, enable=way.write)
        last = text.register(text.named("step_last"), walk.last, 1, enable=way.write)
        words, waiting = [], []
        for lane, value in enumerate(way.lanes):
            words.append(
                text.register(text.named(f"lane{lane}"), value, self.array.width, enable=way.write)
            )
            waiting.append(text.named(f"lane{lane}_waits"))
        held = text.named("step_held")
        made = replace(
            way, walk=replace(walk, bank=bank, word=word), lanes=words, waiting=waiting, write=held
        )
        for lane, waits in enumerate(waiting):
            banks = range(lane, self.layout.bank_count, self.lanes)
            goes = text.any_of(*(self._selected(each, made) for each in banks))
            flag(text, waits, way.write, goes)
        none = text.invert(text.any_of(*waiting))
        over = text.all_of(held, text.any_of("%still", none))
        flag(text, held, way.write, over)
        text.alias(takes, text.all_of(filling, text.any_of(text.invert(held), over)), 1)
        text.output("step", "i1", over)
        text.output("filled", "i1", text.all_of(over, last))
        return made

    def _free(self, bank: int) -> str:
        """Whether the core leaves the port to a step through which a bank of the RAM is filled."""
        text = self.text
        ports = [p for p in self.array.ports if p.bank == self._owner[bank]]
        place = filled_by(ports, early=self.buffered.early)
        if not ports or place is None or self.layout.bank_depth == 1:
            return text.const(1, 1)
        return text.any_of("%still", text.invert(self._taken(ports[place])))

    def _taken(self, port: BankPort) -> str:
        """Whether the core uses a port in this cycle."""
        moves = ["%moves"] if self.waits.outside else []
        return self.text.all_of(f"%{port.prefix}_en", *moves)

    def _answers(self, port: BankPort) -> str:
        """When a port takes up a word; "" for in every cycle.

        A port of a block RAM does not change its answer in a cycle in which it writes.
        """
        if not self.waits.outside:
            return ""
        moves = self._taken(port) if self.waits.inside else "%moves"
        writing = [self.text.invert(f"%{port.prefix}_we")] if port.writes else []
        return self.text.all_of(moves, *writing)

    # --- banks ------------------------------------------------------------------------

    def _part(self, port: BankPort) -> None:
        """Which of the banks that its bank is cut into a port means, now and for the word that it reads."""
        text, bits = self.text, bits_unsigned(self.buffered.fold - 1)
        if self.buffered.fold > 1:
            now = text.slice(f"%{port.prefix}_addr", 0, bits, port.addr_width)
            self._now[port] = now
            if port.reads:
                held = text.named(f"{port.prefix}_part")
                self._read[port] = text.register(held, now, bits, enable=self._answers(port))

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
        fill = filled_by(ports, early=self.buffered.early)
        if fill is None:
            fill = len(users)
            users.append(None)
        drain = 0
        if self.buffered.leaves and ports:
            drain = len(users)
            users.append(None)
        made = [
            self._port((cut, turn), port, way, drains=n == drain, fills=n == fill)
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
        return made[drain].data

    def _port(
        self, place: tuple[int, int], port: BankPort | None, way: _Way, *, drains: bool, fills: bool
    ) -> RamPort:
        """A port as the core uses it, and as the walk does if it drains or fills the bank.

        ``place``: the bank, and which one it is of those that the core's bank is cut into.
        """
        text, width, depth = self.text, self.array.width, way.walk.word_bits
        address = way.walk.word if fills else way.outward
        writes: list[RamUse] = []
        if port is not None:
            low = bits_unsigned(self.buffered.fold - 1) if self.buffered.fold > 1 else 0
            own = text.slice(f"%{port.prefix}_addr", low, depth, port.addr_width)
            if self.buffered.early:
                address = text.mux(self._taken(port), own, address, depth) if fills else own
            else:
                passes = way.moving if drains or fills else ""
                address = text.mux(passes, address, own, depth) if passes else own
            if port.writes:
                wanted = [self._taken(port), f"%{port.prefix}_we"]
                if low:
                    here = text.const(place[1], low)
                    wanted.append(text.compare("eq", self._now[port], here, low))
                writes.append(RamUse(text.all_of(*wanted), own, (), f"%{port.prefix}_wdata"))
        if drains and way.drains and (port is not None or fills):
            address = text.mux(way.drains, way.outward, address, depth)
        if fills and way.write:
            bank = place[0]
            writes.append(
                RamUse(self._selected(bank, way), way.walk.word, (), self._lane(bank, way))
            )
        reads = (port is not None and port.reads) or (drains and self.buffered.stored)
        made = RamPort(address, "yes" if reads else "", (), writes=writes)
        if port is not None and port.reads and (answers := self._answers(port)):
            leaves = [way.drains or way.moving] if drains and self.buffered.stored else []
            made.taken = text.any_of(answers, *leaves)
        if writes:
            made.enable = text.any_of(*(w.condition for w in writes))
            made.value = writes[0].data
        if len(writes) == 2:
            comes = writes[1].condition if way.waiting else way.moving
            made.value = text.mux(comes, writes[1].data, writes[0].data, width)
        return made

    def _selected(self, bank: int, way: _Way) -> str:
        """Whether a step is written that has a word for this bank."""
        waits = [way.waiting[bank % self.lanes], self._free(bank)] if way.waiting else []
        if not way.walk.bank:
            return self.text.all_of(way.write, *waits)
        base = self.text.const(bank - bank % self.lanes, way.walk.bank_bits)
        here = self.text.compare("eq", way.walk.bank, base, way.walk.bank_bits)
        return self.text.all_of(way.write, *waits, here)

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
                held = text.named(f"{name[1:]}_p{number}_q")
                port.data = text.register(held, name, width, enable=port.taken)

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
        may = ["%may_leave"] if kept.leaves else []
        text.alias(issue, text.all_of(draining, room, *may), 1)
        if kept.leaves:
            text.output("left", "i1", issue)
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
