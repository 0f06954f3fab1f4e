"""Products made of lookup tables: one row of a product for each bit of the shorter operand, added up."""

from __future__ import annotations

from ..netlist import Signal
from .add_sub import segmented_add
from .products import Part, sum_shifted


def product_of_rows(a: Part, b: Part, width: int, segment: int) -> Signal:
    """The low ``width`` bits of ``a * b`` without a multiplier; carry chains of at most ``segment`` bits."""
    if a.bits.width < b.bits.width:
        a, b = b, a
    if b.bits.width % 2:
        b = Part(b.resized(b.bits.width + 1), b.signed)
    pairs = [
        _pair(a, b, low, width - low, segment) for low in range(0, min(b.bits.width, width), 2)
    ]
    return sum_shifted(pairs, 2, width, segment).resized(width)


def _pair(a: Part, b: Part, low: int, limit: int, segment: int) -> Part:
    """The low ``limit`` bits of ``a`` times two bits of ``b``, of which its sign counts negative."""
    one, two = b.bits.bit(low), b.bits.bit(low + 1)
    negative = b.signed and low == b.bits.width - 2
    bits = min(a.bits.width + 2 + negative, limit)
    wide = a.resized(bits)
    once, twice = wide & one.repeat(bits), wide.shl(1)
    if negative:
        return Part(segmented_add(once, ~twice & two.repeat(bits), two, segment), True)
    twice = twice & two.repeat(bits)
    if bits <= segment:
        return Part(once + twice, a.signed)
    return Part(segmented_add(once, twice, one.net.const(0, 1), segment), a.signed)
