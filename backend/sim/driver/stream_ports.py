"""The part of the driver that feeds and drains the design's stream ports.

A word passes in a cycle in which valid and ready are both high. A word once offered stays,
unchanged, until it is taken: the driver keeps that rule and holds the design to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.rtl.design import HardwareDesign, StreamInterface

from ..boundary.storage import word_bits
from ..boundary.traffic import TICKS, Outside, StreamModel
from .channels import Request, add_port, touch
from .context import ContextLayout
from .wires import Wires

LAST = "last word"
"""The context field with the cycle in which the last word passed, of a design that never ends."""
FIELDS = ("data", "count", "position", "random", "starved", "blocked")


@dataclass(frozen=True, slots=True)
class _Transfer:
    """A stream in the current cycle: SSA names of valid, ready, and of what passes."""

    stream: StreamInterface
    valid: str
    ready: str
    fires: str
    position: str


class StreamPorts:
    """Emits the queues at every stream port."""

    def __init__(self, design: HardwareDesign, outside: Outside, dropped: int, shift: int) -> None:
        self._endless = design.endless
        self._streams = design.streams
        self._outside = outside
        self._dropped = dropped
        self._shift = shift
        self._transfers: list[_Transfer] = []

    def declare(self, context: ContextLayout) -> None:
        """Reserve this part's context fields."""
        if self._endless:
            context.add(LAST)
        for stream in self._streams:
            for field in FIELDS:
                context.add(f"{field} {stream.name}")
            context.add(f"pending {stream.name}")
            context.add(f"offered {stream.name}", -(-word_bits(stream.width) // 64))
            model = self._model(stream)
            if model.channels:
                add_port(context, stream.name, model.channels)

    def _model(self, stream: StreamInterface) -> StreamModel:
        return self._outside.streams.get(stream.name, StreamModel())

    def silence(self, w: Wires) -> None:
        """Offer nothing and take nothing."""
        for stream in self._streams:
            port = "valid" if stream.direction == "in" else "ready"
            w.put(f"{stream.name}_{port}", w.f.constant(0, 1))

    def sample(self, w: Wires, fault: str) -> str:
        """See what passes in this cycle, take words, count; gives ``fault`` or a broken rule's code."""
        f = w.f
        self._transfers = []
        for number, stream in enumerate(self._streams):
            valid, ready = w.get(f"{stream.name}_valid"), w.get(f"{stream.name}_ready")
            fires = f.binary("and", valid, ready, 1)
            position = f.load(w.field(f"position {stream.name}"), 64)
            if stream.direction == "out":
                self._take(w, stream, position, fires)
                fault = self._hold_to_rule(w, stream, number, valid, fires, fault)
            moved = f.binary("add", position, f.resize(fires, 1, 64), 64)
            f.store(moved, w.field(f"position {stream.name}"), 64)
            idle = f.constant(1, 1)
            for name, seen in (
                ("starved", f.binary("and", ready, f.binary("xor", valid, idle, 1), 1)),
                ("blocked", f.binary("and", valid, f.binary("xor", ready, idle, 1), 1)),
            ):
                field = w.field(f"{name} {stream.name}")
                count = f.binary("add", f.load(field, 64), f.resize(seen, 1, 64), 64)
                f.store(count, field, 64)
            self._transfers.append(_Transfer(stream, valid, ready, fires, moved))
        return fault

    def _take(self, w: Wires, stream: StreamInterface, position: str, fires: str) -> None:
        f = w.f
        bits = word_bits(stream.width)
        target = f.select_pointer(fires, self._cell(w, stream, position), w.field("scratch"))
        f.store(f.resize(w.get(f"{stream.name}_data"), stream.width, bits), target, bits)

    def _cell(self, w: Wires, stream: StreamInterface, position: str) -> str:
        f = w.f
        data = f.load_pointer(w.field(f"data {stream.name}"))
        size = f.constant(word_bits(stream.width) // 8, 64)
        return f.index(data, f.binary("mul", position, size, 64), 8)

    def _hold_to_rule(
        self, w: Wires, stream: StreamInterface, number: int, valid: str, fires: str, fault: str
    ) -> str:
        """A word offered and not taken must still be offered, unchanged."""
        f = w.f
        bits = word_bits(stream.width)
        data = f.resize(w.get(f"{stream.name}_data"), stream.width, bits)
        pending = f.load(w.field(f"pending {stream.name}"), 64)
        before = f.load(w.field(f"offered {stream.name}"), bits)
        was = f.compare("ne", pending, f.constant(0, 64), 64)
        changed = f.compare("ne", data, before, bits)
        gone = f.binary("xor", valid, f.constant(1, 1), 1)
        bad = f.binary("and", was, f.binary("or", gone, changed, 1), 1)
        waits = f.binary("and", valid, f.binary("xor", fires, f.constant(1, 1), 1), 1)
        f.store(f.resize(waits, 1, 64), w.field(f"pending {stream.name}"), 64)
        f.store(data, w.field(f"offered {stream.name}"), bits)
        code = f.constant((number << self._shift) + self._dropped, 64)
        return f.select(bad, code, fault, 64)

    def updates(self, w: Wires, cycle: str) -> list[tuple[str, str]]:
        """What the ports are driven with after this cycle, number ``cycle``."""
        values = []
        for transfer in self._transfers if self._endless else ():
            last = w.f.load(w.field(LAST), 64)
            w.f.store(w.f.select(transfer.fires, cycle, last, 64), w.field(LAST), 64)
        for transfer in self._transfers:
            if transfer.stream.direction == "in":
                values += self._offer(w, transfer, cycle)
            else:
                values.append((f"{transfer.stream.name}_ready", self._accept(w, transfer, cycle)))
        return values

    def _offer(self, w: Wires, transfer: _Transfer, cycle: str) -> list[tuple[str, str]]:
        f, stream = w.f, transfer.stream
        count = f.load(w.field(f"count {stream.name}"), 64)
        some = f.compare("ult", transfer.position, count, 64)
        free = f.binary("and", some, self._open(w, transfer, cycle, some), 1)
        stays = f.binary(
            "and", transfer.valid, f.binary("xor", transfer.fires, f.constant(1, 1), 1), 1
        )
        valid = f.binary("or", stays, free, 1)
        position = f.select(some, transfer.position, f.constant(0, 64), 64)
        data = f.load(self._cell(w, stream, position), word_bits(stream.width))
        data = f.resize(data, word_bits(stream.width), stream.width)
        return [(f"{stream.name}_valid", valid), (f"{stream.name}_data", data)]

    def _accept(self, w: Wires, transfer: _Transfer, cycle: str) -> str:
        f = w.f
        room = f.load(w.field(f"count {transfer.stream.name}"), 64)
        some = f.compare("ult", transfer.position, room, 64)
        return f.binary("and", some, self._open(w, transfer, cycle, some), 1)

    def _open(self, w: Wires, transfer: _Transfer, cycle: str, active: str) -> str:
        """Whether chance and memory let a word pass in the next cycle."""
        f, stream = w.f, transfer.stream
        model = self._model(stream)
        may = f.constant(1, 1)
        if model.stall:
            threshold = f.constant(round(model.stall * (1 << 32)), 64)
            arguments = [(w.field(f"random {stream.name}"), "!llvm.ptr"), (threshold, "i64")]
            struck = f.call("allo_strikes", arguments, "i1")
            may = f.binary("xor", struck, f.constant(1, 1), 1)
        if model.channels:
            may = f.binary("and", may, self._memory_lets(w, transfer, model, cycle, active), 1)
        return may

    def _memory_lets(
        self, w: Wires, transfer: _Transfer, model: StreamModel, cycle: str, active: str
    ) -> str:
        f, stream = w.f, transfer.stream
        following = f.binary("add", cycle, f.constant(1, 64), 64)
        now = f.binary("mul", following, f.constant(TICKS, 64), 64)
        write = f.constant(int(stream.direction == "out"), 1)
        request = Request(transfer.position, stream.width, now, active, write)
        ready = touch(w, stream.name, model.channels, request)
        return f.compare("ule", ready, now, 64)
