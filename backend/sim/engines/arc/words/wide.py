"""Wide words put together and taken apart by halves.

LLVM computes on a word of n registers in n steps. As arc writes a concatenation of n parts, or n slices
of one word, each part costs a shift of the whole: n² steps, and more to compile. By halves each
step is a move of registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from allo.backend.rtl._circt import ir

NARROW = 128
"""Bits of a word that is left as it is."""
CHUNK = 64
_INTEGER = re.compile(r"i(\d+)")


def halve_wide_words(module: ir.Module) -> None:
    """Make trees of wide concatenations and slices, in place."""
    concatenations, slices = [], []
    for op in _operations(module.operation):
        if op.name == "comb.concat" and len(op.operands) > 2 and _bits(op.results[0]) > NARROW:
            concatenations.append(op)
        elif op.name == "comb.extract" and _bits(op.operands[0]) > NARROW:
            slices.append(op)
    halves = _Halves()
    for op in slices:
        halves.narrow(op)
    for op in concatenations:
        with op.context, op.location, ir.InsertionPoint(op):
            joined = _join(list(op.operands))
        op.results[0].replace_all_uses_with(joined)
        op.erase()


def _operations(root: ir.Operation) -> Iterator[ir.Operation]:
    for region in root.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation
                yield from _operations(op.operation)


def _bits(value: ir.Value) -> int:
    found = _INTEGER.fullmatch(str(value.type))
    return int(found[1]) if found else 0


def _join(parts: list[ir.Value]) -> ir.Value:
    """The concatenation of parts, the first one highest."""
    if len(parts) == 1:
        return parts[0]
    widths = [_bits(part) for part in parts]
    total = sum(widths)
    wanted = _lower_half(total)
    low, split = 0, len(parts)
    while split > 1 and (split == len(parts) or low + widths[split - 1] <= wanted):
        split -= 1
        low += widths[split]
    kind = ir.IntegerType.get_signless(total)
    halves = [_join(parts[:split]), _join(parts[split:])]
    return ir.Operation.create("comb.concat", results=[kind], operands=halves).result


def _lower_half(width: int) -> int:
    """The largest power of two below a width."""
    return 1 << (width - 1).bit_length() - 1


class _Halves:
    """Halves of wide values, each made once, behind the value."""

    def __init__(self) -> None:
        self._made: dict[tuple[ir.Value, int], ir.Value] = {}

    def narrow(self, op: ir.Operation) -> None:
        """Take a slice from the smallest part that holds it."""
        part, width = op.operands[0], _bits(op.results[0])
        start = ir.IntegerAttr(op.attributes["lowBit"]).value
        total = _bits(part)
        while total > CHUNK and width < total:
            half = _lower_half(total)
            if start < half < start + width:
                break
            if start < half:
                part, total = self._half(part, 0, half), half
            else:
                part, total = self._half(part, half, total - half), total - half
                start -= half
        if width == total:
            op.results[0].replace_all_uses_with(part)
            op.erase()
            return
        with op.context:
            op.operands[0] = part
            op.attributes["lowBit"] = _bit(start)

    def _half(self, value: ir.Value, low: int, width: int) -> ir.Value:
        found = self._made.get((value, low))
        if found is None:
            owner = value.owner
            at_start = isinstance(owner, ir.Block)
            point = ir.InsertionPoint.at_block_begin(owner) if at_start else _behind(owner)
            with value.context, value.location, point:
                found = ir.Operation.create(
                    "comb.extract",
                    results=[ir.IntegerType.get_signless(width)],
                    operands=[value],
                    attributes={"lowBit": _bit(low)},
                ).result
            self._made[value, low] = found
        return found


def _behind(owner: ir.Operation) -> ir.InsertionPoint:
    return ir.InsertionPoint.after(owner)


def _bit(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), number)
