"""Lines of a bus as words of a core, and words as lines: runs may start and end anywhere in a line.

Both keep some units in a row, the oldest lowest. What comes is put behind them, and what leaves is
taken from the low end, in one cycle. Which of these happen is decided a cycle ahead, so that what comes
is shifted to its place in a cycle of its own; what leaves goes to a queue.
"""

from __future__ import annotations

from ...emit.builder import ModuleBuilder
from ...graph.linear import bits_unsigned
from ...netlist.locations import Locations
from ..parts import Made, concat, flag, reserve_ports
from .units import Units

QUEUE = 8
"""What has left the row and waits to be taken."""


def unpacker_module(name: str, units: Units, made: Made) -> ModuleBuilder:
    """Lines become words.

    Ports: of the runs ``run_start``, ``run_valid``, ``run_take``; ``in_data``, ``in_valid``,
    ``in_ready``; ``out_data``, ``out_valid``, ``out_ready``.
    """
    row = _Row(name, units, units.line)
    text, line, word = row.text, units.line, units.word
    leaves = text.all_of(row.enough, row.room)
    after = text.mux(leaves, row.fewer, row.fill, row.bits)
    # What comes must find less than a word: a word leaves, and not two are held, or none is.
    twice = text.named("twice")
    passes = text.all_of(row.room, text.invert(twice))
    ready = text.all_of(row.active, text.any_of(text.invert(row.enough), passes))
    take = text.all_of(ready, "%in_valid")
    row.run_over(text.all_of(take, row.is_last), take)
    data, count = row.line_of("%in_data")
    row.put(after, data, line, take, leaves, word, most=word - 1)
    grown = text.binary("add", after, count, row.bits)
    following = text.mux(take, grown, after, row.bits)
    row.count(following, word)
    text.register(row.enough, row.at_least(following, word), 1, reset=0)
    text.register(twice, row.at_least(following, 2 * word), 1, reset=0)
    text.output("in_ready", "i1", ready)
    row.queue(made, [(row.lowest(word), word * units.bits)], ("data",))
    return text


def packer_module(name: str, units: Units, made: Made) -> ModuleBuilder:
    """Words become lines, each run by itself.

    Ports: as those of :func:`unpacker_module`, and ``out_strobe``.
    """
    row = _Row(name, units, units.word)
    text, line = row.text, units.line
    leaves = text.all_of(row.enough, row.room)
    over = text.all_of(leaves, row.is_last)
    row.run_over(over, leaves)
    after = text.mux(leaves, row.fewer, row.fill, row.bits)
    left = text.mux(leaves, row.left_behind(), row.left, row.left_bits)
    # Less than a line must be held, and less than is left of the run; both are known before a line leaves.
    held = row.at_least(row.fill, line)
    held = text.mux(leaves, row.at_least(row.fill, 2 * line), held, 1)
    wanted = row.below(row.fill, row.left)
    ready = text.all_of(row.active, text.invert(over), text.invert(held), wanted)
    take = text.all_of(ready, "%in_valid")
    row.put(after, "%in_data", units.word, take, leaves, line, most=line - 1)
    grown = text.binary("add", after, text.const(units.word, row.bits), row.bits)
    filled = text.mux(take, grown, after, row.bits)
    first = text.extend(row.offset(), row.offset_bits, row.bits, signed=False)
    row.count(text.mux(row.begins, first, filled, row.bits), line)
    whole = text.any_of(row.at_least(filled, line), text.invert(row.below(filled, left)))
    going = text.all_of(row.active, text.invert(over), whole)
    text.register(row.enough, going, 1, reset=0)
    text.output("in_ready", "i1", ready)
    size = line * units.bits
    strobe = text.register(text.named("strobe"), row.strobe(), size // 8)
    row.queue(made, [(row.lowest(line), size), (strobe, size // 8)], ("data", "strobe"))
    return text


class _Row:
    """The units held by a module, and where in its run it is.

    Attributes:
        fill: how many units will be held; in a packer, with what lies in front of a run in its first line.
        fewer: how many these will be when some have left.
        enough: whether these are so many that some may leave.
        room: whether the queue takes one more.
        left: units from the begin of the line that is next to the end of the run.
        begins: whether the next run begins.
    """

    def __init__(self, name: str, units: Units, incoming: int) -> None:
        self.units = units
        text = self.text = ModuleBuilder(name, Locations())
        inputs = {"run_start": units.start_bits, "run_valid": 1, "in_data": incoming * units.bits}
        outputs = ("run_take", "in_ready", "out_data", "out_valid", "out_strobe")
        reserve_ports(text, {**inputs, "in_valid": 1, "out_ready": 1}, outputs)
        self.capacity = units.line + units.word - 1
        self.size = self.capacity * units.bits
        self.bits = bits_unsigned(self.capacity)
        self.offset_bits = max(1, (units.line - 1).bit_length())
        self.left_bits = bits_unsigned(units.line - 1 + units.length)
        self.fill, self.fewer, self.held = (text.named(n) for n in ("fill", "fewer", "held"))
        self.enough, self.room, self.leaving = (
            text.named(n) for n in ("enough", "room", "leaving")
        )
        self.active, self.left = text.named("active"), text.named("left")
        line = text.const(units.line, self.left_bits)
        self.is_last = text.compare("ule", self.left, line, self.left_bits)
        self.begins = self.first = self.kept_offset = ""

    # --- the run ----------------------------------------------------------------------

    def offset(self) -> str:
        """Where in a line the run that is offered starts."""
        units, text = self.units, self.text
        if units.is_aligned or units.line == 1:
            return text.const(0, self.offset_bits)
        return text.extend("%run_start", units.start_bits, self.offset_bits, signed=False)

    def run_over(self, over: str, step: str) -> None:
        """Begin the next run when there is none, or when it is ``over``; ``step``: a line is done."""
        text, units = self.text, self.units
        self.begins = text.all_of("%run_valid", text.any_of(text.invert(self.active), over))
        flag(text, self.active, self.begins, over)
        offset, bits = self.offset(), self.left_bits
        whole = text.binary(
            "add",
            text.extend(offset, self.offset_bits, bits, signed=False),
            text.const(units.length, bits),
            bits,
        )
        following = text.mux(self.begins, whole, self.left_behind(), bits)
        text.register(self.left, following, bits, enable=text.any_of(self.begins, step), reset=0)
        if not units.is_aligned:
            self.first = text.named("first")
            flag(text, self.first, self.begins, step)
            self.kept_offset = text.named("offset")
            text.register(self.kept_offset, offset, self.offset_bits, enable=self.begins)
        text.output("run_take", "i1", self.begins)

    def left_behind(self) -> str:
        """What is left of the run behind the line."""
        line = self.text.const(self.units.line, self.left_bits)
        return self.text.binary("sub", self.left, line, self.left_bits)

    def _now(self) -> str:
        """The offset of the run, in its first line, and 0 in others."""
        return self.text.mux(
            self.first, self.kept_offset, self.text.const(0, self.offset_bits), self.offset_bits
        )

    def line_of(self, data: str) -> tuple[str, str]:
        """The units of a line that belong to the run, lowest, and how many there are."""
        text, units = self.text, self.units
        common = max(self.bits, self.left_bits)
        left = text.extend(self.left, self.left_bits, common, signed=False)
        line = text.const(units.line, common)
        end = text.slice(text.mux(self.is_last, left, line, common), 0, self.bits, common)
        if units.is_aligned:
            return data, end
        now = self._now()
        size = units.line * units.bits
        for bit in range(self.offset_bits):
            far = units.bits << bit
            moved = text.slice(data, far, size - far, size)
            moved = text.extend(moved, size - far, size, signed=False)
            data = text.mux(text.slice(now, bit, 1, self.offset_bits), moved, data, size)
        skipped = text.extend(now, self.offset_bits, self.bits, signed=False)
        return data, text.binary("sub", end, skipped, self.bits)

    def strobe(self) -> str:
        """The bytes of a line that belong to the run."""
        text, units = self.text, self.units
        parts = []
        for number in range(units.line):
            inside = self.above(self.left, number, self.left_bits)
            if not units.is_aligned:
                now = self._now()
                behind = text.invert(self.above(now, number, self.offset_bits))
                inside = text.all_of(inside, behind)
            each = units.bits // 8
            if each:
                inside = text.extend(inside, 1, each, signed=True)
            parts.append((inside, max(1, each)))
        share = max(1, 8 // units.bits)
        if share > 1:  # units within a byte: runs end within one only where the array does
            groups = [parts[n : n + share] for n in range(0, len(parts), share)]
            parts = [(text.any_of(*(bit for bit, _ in some)), 1) for some in groups]
        return concat(text, parts)

    # --- the row ----------------------------------------------------------------------

    def above(self, value: str, number: int, bits: int) -> str:
        """Whether a value is larger than a number."""
        if number >> bits:
            return self.text.const(0, 1)
        return self.text.compare("ugt", value, self.text.const(number, bits), bits)

    def at_least(self, value: str, number: int) -> str:
        """Whether a number of units is reached."""
        return self.above(value, number - 1, self.bits)

    def below(self, value: str, left: str) -> str:
        """Whether a number of units is less than one as wide as ``left``."""
        common = max(self.bits, self.left_bits)
        a = self.text.extend(value, self.bits, common, signed=False)
        b = self.text.extend(left, self.left_bits, common, signed=False)
        return self.text.compare("ult", a, b, common)

    def count(self, following: str, gone: int) -> None:
        """Hold ``following`` units from the next cycle on; ``gone`` of them would leave at once."""
        text, bits = self.text, self.bits
        text.register(self.fill, following, bits, reset=0)
        text.register(self.fewer, text.binary("sub", following, text.const(gone, bits), bits), bits)

    def lowest(self, count: int) -> str:
        """The oldest units."""
        return self.text.slice(self.held, 0, count * self.units.bits, self.size)

    def queue(self, made: Made, parts: list[tuple[str, int]], names: tuple[str, ...]) -> None:
        """What has left waits for who takes it."""
        text = self.text
        width = sum(size for _, size in parts)
        inputs = {
            "in_data": concat(text, parts),
            "in_valid": self.leaving,
            "out_ready": "%out_ready",
        }
        found = made.fifo(text, "queue", width, QUEUE, inputs)
        bits = bits_unsigned(QUEUE)
        # What leaves in this cycle and in the two before is not in the queue yet.
        few = text.compare("ult", found["fill"], text.const(QUEUE - 3, bits), bits)
        text.register(self.room, few, 1, reset=0)
        low = 0
        for (_, size), name in zip(parts, names, strict=True):
            text.output(f"out_{name}", f"i{size}", text.slice(found["out_data"], low, size, width))
            low += size
        text.output("out_valid", "i1", found["out_valid"])

    def put(
        self, place: str, data: str, count: int, take: str, leaves: str, gone: int, *, most: int
    ) -> None:
        """With ``leaves`` the oldest ``gone`` units leave; with ``take`` ``count`` come behind those kept.

        Both happen in the next cycle. ``place``: how many are kept, at ``most`` so many when some come.
        """
        text, bits, size = self.text, self.units.bits, self.size
        moved = text.extend(data, count * bits, size, signed=False)
        for bit in range(most.bit_length()):
            far = bits << bit
            if far >= size:
                break
            shifted = text.concat(
                [(text.slice(moved, 0, size - far, size), size - far), (text.const(0, far), far)]
            )
            moved = text.mux(text.slice(place, bit, 1, self.bits), shifted, moved, size)
        coming = text.register(text.named("coming"), moved, size)
        text.register(self.leaving, leaves, 1, reset=0)
        parts = []
        for number in range(self.capacity):
            behind = text.all_of(take, text.invert(self.above(place, number, self.bits)))
            comes = text.register(text.named(f"comes{number}"), behind, 1, reset=0)
            mine = text.slice(self.held, number * bits, bits, self.size)
            if number + gone < self.capacity:
                low = (number + gone) * bits
                mine = text.mux(self.leaving, text.slice(self.held, low, bits, size), mine, bits)
            came = text.slice(coming, number * bits, bits, size)
            parts.append((text.mux(comes, came, mine, bits), bits))
        text.register(self.held, concat(text, parts), size)
