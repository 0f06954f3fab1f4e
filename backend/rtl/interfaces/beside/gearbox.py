"""Lines of a bus as words of a core, and words as lines: runs may start and end anywhere in a line.

Both keep some units in a row, the oldest lowest. What comes is put behind them, and what leaves is
taken from the low end, in one cycle.
"""

from __future__ import annotations

from ...emit.builder import ModuleBuilder
from ...graph.linear import bits_unsigned
from ...netlist.locations import Locations
from ..parts import concat, flag, reserve_ports
from .units import Units


def unpacker_module(name: str, units: Units) -> ModuleBuilder:
    """Lines become words.

    Ports: of the runs ``run_start``, ``run_valid``, ``run_take``; ``in_data``, ``in_valid``,
    ``in_ready``; ``out_data``, ``out_valid``, ``out_ready``.
    """
    row = _Row(name, units, units.line)
    text, line, word = row.text, units.line, units.word
    some = row.at_least(row.fill, word)
    pop = text.all_of(some, "%out_ready")
    kept = row.less(row.fill, word)
    after = text.mux(pop, kept, row.fill, row.bits)
    room = text.invert(row.at_least(after, word))
    ready = text.all_of(row.active, room)
    take = text.all_of(ready, "%in_valid")
    row.run_over(text.all_of(take, row.is_last), take)
    data, count = row.line_of("%in_data")
    old = text.mux(pop, row.dropped(word), row.units_held, row.size)
    row.put(old, after, data, line, take, most=word - 1)
    grown = text.binary("add", after, count, row.bits)
    text.register(row.fill, text.mux(take, grown, after, row.bits), row.bits, reset=0)
    text.output("in_ready", "i1", ready)
    text.output("out_data", f"i{word * units.bits}", row.lowest(word))
    text.output("out_valid", "i1", some)
    return text


def packer_module(name: str, units: Units) -> ModuleBuilder:
    """Words become lines, each run by itself.

    Ports: as those of :func:`unpacker_module`, and ``out_strobe``.
    """
    row = _Row(name, units, units.word)
    text, line = row.text, units.line
    enough = text.any_of(row.at_least(row.fill, line), row.reaches_end())
    full = text.all_of(row.active, enough)
    leaves = text.all_of(full, "%out_ready")
    over = text.all_of(leaves, row.is_last)
    row.run_over(over, leaves)
    after = text.mux(leaves, row.less(row.fill, line), row.fill, row.bits)
    more = text.all_of(row.active, text.invert(over), text.invert(row.at_least(after, line)))
    left = text.mux(leaves, row.left_behind(), row.left, row.left_bits)
    ready = text.all_of(more, row.below(after, left))
    take = text.all_of(ready, "%in_valid")
    old = text.mux(leaves, row.dropped(line), row.units_held, row.size)
    row.put(old, after, "%in_data", units.word, take, most=line - 1)
    grown = text.binary("add", after, text.const(units.word, row.bits), row.bits)
    filled = text.mux(take, grown, after, row.bits)
    first = text.extend(row.offset(), row.offset_bits, row.bits, signed=False)
    following = text.mux(row.begins, first, filled, row.bits)
    text.register(row.fill, following, row.bits, reset=0)
    text.output("in_ready", "i1", ready)
    text.output("out_data", f"i{line * units.bits}", row.lowest(line))
    text.output("out_strobe", f"i{line * units.bits // 8}", row.strobe())
    text.output("out_valid", "i1", full)
    return text


class _Row:
    """The units held by a module, and where in its run it is.

    Attributes:
        fill: how many units are held; in a packer, with what lies in front of a run in its first line.
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
        self.fill, self.units_held = text.named("fill"), text.named("held")
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
            parts.append((text.extend(inside, 1, each, signed=True), each))
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

    def reaches_end(self) -> str:
        """Whether all units of the run are held."""
        return self.text.invert(self.below(self.fill, self.left))

    def less(self, value: str, number: int) -> str:
        """A number of units less another."""
        return self.text.binary("sub", value, self.text.const(number, self.bits), self.bits)

    def lowest(self, count: int) -> str:
        """The oldest units."""
        return self.text.slice(self.units_held, 0, count * self.units.bits, self.size)

    def dropped(self, count: int) -> str:
        """The row without its oldest units."""
        gone = count * self.units.bits
        if gone >= self.size:
            return self.text.const(0, self.size)
        rest = self.text.slice(self.units_held, gone, self.size - gone, self.size)
        return self.text.extend(rest, self.size - gone, self.size, signed=False)

    def put(self, old: str, place: str, data: str, count: int, take: str, *, most: int) -> None:
        """Hold ``old``, and with ``take`` also ``count`` units behind its first ``place``, at ``most``."""
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
        parts = []
        for number in range(self.capacity):
            mine = text.slice(old, number * bits, bits, size)
            came = text.slice(moved, number * bits, bits, size)
            behind = text.all_of(take, text.invert(self.above(place, number, self.bits)))
            parts.append((text.mux(behind, came, mine, bits), bits))
        text.register(self.units_held, concat(text, parts), size)
