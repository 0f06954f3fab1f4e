"""Wide registers and ports kept as parts: no value of a model is wider than it must be.

LLVM's instruction selection takes a time that is quadratic in the registers of a word. A word that is
read, put together, chosen, or written part by part never is one value here; what else
is done to a wide word puts its parts together first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from allo.backend.rtl._circt import ir

from ..graph import STATE_READ, STATE_WRITE, STORAGE

WIDEST = 128
"""Bits of a word that is left as it is."""
PART = 64
_INTEGER = re.compile(r"i(\d+)")
_STATE = re.compile(r"!arc\.state<i(\d+)>")
_BITWISE = ("comb.and", "comb.or", "comb.xor")
_PURE = (*_BITWISE, "comb.concat", "comb.extract", "comb.mux", "comb.replicate", "hw.constant")


def part_wide_words(block: ir.Block) -> None:
    """Make every access of a wide register or port of a model one to its parts, in place."""
    with block.owner.context:
        _Parting().run(block)


def _operations(block: ir.Block) -> Iterator[ir.Operation]:
    for view in block.operations:
        yield view.operation
        for region in view.operation.regions:
            for inner in region.blocks:
                yield from _operations(inner)


def bits_of(value: ir.Value) -> int:
    """Bits of an integer; 0 for what is none."""
    found = _INTEGER.fullmatch(str(value.type))
    return int(found[1]) if found else 0


class _Parting:
    def __init__(self) -> None:
        self._parts: dict[ir.Value, list[ir.Value]] = {}

    def run(self, block: ir.Block) -> None:
        operations = list(_operations(block))
        reads, pure, slices, writes = [], [], [], []
        for op in operations:
            name = op.name
            if name == STATE_READ and bits_of(op.results[0]) > WIDEST:
                reads.append(op)
            elif name == STATE_WRITE and bits_of(op.operands[1]) > WIDEST:
                writes.append(op)
            elif name in _PURE and bits_of(op.results[0]) > WIDEST:
                pure.append(op)
            elif name == "comb.extract" and bits_of(op.operands[0]) > WIDEST:
                slices.append(op)
        first: dict[ir.Value, ir.Value] = {}
        for op in reads:
            self._read(op, block, first)
        for op in pure:  # in order, so that parts are made from parts
            self._of(op.results[0])
        for op in writes:
            self._write(op)
        for op in slices:
            low = ir.IntegerAttr(op.attributes["lowBit"]).value
            with op.location, ir.InsertionPoint(op):
                found = self._slice(op.operands[0], low, bits_of(op.results[0]))
            op.results[0].replace_all_uses_with(found)
            op.erase()
        for op in reversed(pure):
            if not _used(op):
                op.erase()
        for op in reads:
            if _used(op):
                parts = self._of(op.results[0])
                with op.location, ir.InsertionPoint(op):
                    op.results[0].replace_all_uses_with(_join(parts))
            op.erase()

    def _read(self, op: ir.Operation, block: ir.Block, first: dict[ir.Value, ir.Value]) -> None:
        """Give a read its parts: those of the first read of its register, which all others equal.

        arc reads a register in each branch that takes some bits of it, so the first read is moved
        in front of its branch.
        """
        state, value = op.operands[0], op.results[0]
        if state in first:
            self._parts[value] = self._parts[first[state]]
            return
        around = op
        while around.block != block:
            around = around.parent
        if around is not op:
            op.move_before(around)
        self._of(value)
        first[state] = value

    def _write(self, op: ir.Operation) -> None:
        state, value = op.operands
        parts = self._of(value)
        with op.location, ir.InsertionPoint(op):
            for number, part in enumerate(parts):
                place = _part_of(state, number, bits_of(part))
                ir.Operation.create(STATE_WRITE, operands=[place, part])
        op.erase()

    def _of(self, value: ir.Value) -> list[ir.Value]:
        """The parts of a wide value, the lowest first, made where the value is."""
        found = self._parts.get(value)
        if found is None:
            owner = value.owner
            if isinstance(owner, ir.Block):
                with ir.Location.unknown(), ir.InsertionPoint.at_block_begin(owner):
                    found = [_extract(value, low, size) for low, size in _cut(bits_of(value))]
            else:
                op = owner.operation
                point = ir.InsertionPoint(op)
                if op.name not in (STATE_READ, *_PURE):
                    point = ir.InsertionPoint.after(op)
                with op.location, point:
                    found = self._make(op, value)
            self._parts[value] = found
        return found

    def _make(self, op: ir.Operation, value: ir.Value) -> list[ir.Value]:
        cuts = _cut(bits_of(value))
        operands = list(op.operands)
        match op.name:
            case "arc.state_read":
                return [
                    ir.Operation.create(
                        STATE_READ,
                        results=[_kind(size)],
                        operands=[_part_of(operands[0], number, size)],
                    ).result
                    for number, (_, size) in enumerate(cuts)
                ]
            case "hw.constant":
                word = ir.IntegerAttr(op.attributes["value"]).value
                return [_constant(word >> low, size) for low, size in cuts]
            case "comb.mux":
                chosen = [self._slices(operand, cuts) for operand in operands[1:]]
                return [
                    ir.Operation.create(
                        op.name, results=[_kind(size)], operands=[operands[0], then, other]
                    ).result
                    for (_, size), then, other in zip(cuts, *chosen, strict=True)
                ]
            case "comb.and" | "comb.or" | "comb.xor":
                columns = [self._slices(operand, cuts) for operand in operands]
                return [
                    ir.Operation.create(
                        op.name, results=[_kind(size)], operands=list(column)
                    ).result
                    for (_, size), column in zip(cuts, zip(*columns, strict=True), strict=True)
                ]
            case "comb.concat" | "comb.replicate" | "comb.extract":
                return self._moved(op, cuts)
        return [_extract(value, low, size) for low, size in cuts]

    def _moved(self, op: ir.Operation, cuts: list[tuple[int, int]]) -> list[ir.Value]:
        """The parts of a word whose bits come from other values as they are."""
        operands = list(op.operands)
        if op.name == "comb.extract":
            start = ir.IntegerAttr(op.attributes["lowBit"]).value
            return [self._slice(operands[0], start + low, size) for low, size in cuts]
        if op.name == "comb.replicate":
            operands *= bits_of(op.results[0]) // bits_of(operands[0])
        pieces: list[tuple[int, ir.Value]] = []
        start = 0
        for operand in reversed(operands):
            pieces.append((start, operand))
            start += bits_of(operand)
        parts, first = [], 0
        for low, size in cuts:
            while pieces[first][0] + bits_of(pieces[first][1]) <= low:
                first += 1
            found, at = [], first
            while at < len(pieces) and pieces[at][0] < low + size:
                begin, piece = pieces[at]
                lower = max(low - begin, 0)
                upper = min(low + size - begin, bits_of(piece))
                found.append(self._slice(piece, lower, upper - lower))
                at += 1
            parts.append(_join(found))
        return parts

    def _slices(self, value: ir.Value, cuts: list[tuple[int, int]]) -> list[ir.Value]:
        return [self._slice(value, low, size) for low, size in cuts]

    def _slice(self, value: ir.Value, low: int, size: int) -> ir.Value:
        """Some bits of a value; of a wide one, from its parts."""
        if bits_of(value) <= WIDEST:
            return value if size == bits_of(value) else _extract(value, low, size)
        parts = self._of(value)
        found = []
        while size:
            part, within = parts[low // PART], low % PART
            taken = min(size, bits_of(part) - within)
            found.append(part if taken == bits_of(part) else _extract(part, within, taken))
            low, size = low + taken, size - taken
        return _join(found)


def _used(op: ir.Operation) -> bool:
    return next(iter(op.results[0].uses), None) is not None


def _cut(bits: int) -> list[tuple[int, int]]:
    """The lowest bit and the size of each part of a word."""
    return [(low, min(PART, bits - low)) for low in range(0, bits, PART)]


def _kind(bits: int) -> ir.Type:
    return ir.IntegerType.get_signless(bits)


def _part_of(state: ir.Value, number: int, size: int) -> ir.Value:
    """The storage of a part: the bytes of a word lie in order, the lowest first."""
    owner = state.owner.operation
    offset = ir.IntegerAttr(owner.attributes["offset"]).value + number * PART // 8
    return ir.Operation.create(
        STORAGE,
        results=[ir.Type.parse(f"!arc.state<i{size}>")],
        operands=[owner.operands[0]],
        attributes={"offset": ir.IntegerAttr.get(_kind(32), offset)},
    ).result


def _constant(value: int, size: int) -> ir.Value:
    value &= (1 << size) - 1
    attribute = ir.Attribute.parse(f"{value - (value >> size - 1 << size)} : i{size}")
    return ir.Operation.create(
        "hw.constant", results=[_kind(size)], attributes={"value": attribute}
    ).result


def _join(parts: list[ir.Value]) -> ir.Value:
    """The concatenation of parts, the first one lowest."""
    if len(parts) == 1:
        return parts[0]
    kind = _kind(sum(bits_of(part) for part in parts))
    return ir.Operation.create("comb.concat", results=[kind], operands=parts[::-1]).result


def _extract(value: ir.Value, low: int, size: int) -> ir.Value:
    return ir.Operation.create(
        "comb.extract",
        results=[_kind(size)],
        operands=[value],
        attributes={"lowBit": ir.IntegerAttr.get(_kind(32), low)},
    ).result
