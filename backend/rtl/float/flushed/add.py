"""Addition where subnormals count as zero: :mod:`..add` without a limit to its normalisation.

The sum is normalised by all its leading zeros, and a result whose exponent has no field is a zero. Such a
result is exact: both operands are multiples of the smallest subnormal number, and so is their sum.
"""

from __future__ import annotations

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from ..add import Align, aligned, aligned_finite, clear
from ..formats import FloatFormat
from ..parts import round_pack, unpack


def add_flushed(
    a: Signal, b: Signal, kind: FloatFormat, align: Align | None = None, *, quick: bool = False
) -> Signal:
    """``a + b``, where an operand or a result below the smallest normal number is a zero of its sign.

    ``align`` and ``quick`` are as for :func:`~..add.add`.
    """
    net, exponent, fraction = a.net, kind.exponent, kind.fraction
    left, right = unpack(a, kind), unpack(b, kind)
    swap = left.magnitude.ult(right.magnitude)
    subtract = left.sign ^ right.sign
    some, both = left.normal | right.normal, left.normal & right.normal
    field = mux(swap, right.exponent, left.exponent)
    high, top = field.bits(1, exponent - 1).all(), field.all()
    one, two = net.const(1, 1), net.const(0, 2)

    small = cat(one, mux(swap, left.fraction, right.fraction), two)
    if quick:
        above, below = left.exponent - right.exponent, right.exponent - left.exponent
        small = small & both.repeat(small.width)
        shifted, sticky = (align or aligned)(small, mux(swap, below, above))
        hidden = one
    else:
        distance = field - mux(swap, left.exponent, right.exponent)
        shifted, sticky = aligned_finite(small, distance, top, subtract, both)
        hidden = ~top

    width = kind.precision + 3
    first = cat(net.const(0, 1), hidden, mux(swap, right.fraction, left.fraction), two)
    second = shifted.zext(width) ^ subtract.repeat(width)
    total = (cat(first, subtract) + cat(second, ~sticky)).bits(1, width)

    # Nothing is taken from the exponent of infinities and NaNs, nor added to it, so that it stays.
    normal, zeros = _normalised(cat(total, sticky))
    bits = max(exponent, zeros.width) + 1
    room = field.zext(bits) - (zeros & (~top).repeat(zeros.width)).zext(bits)
    magnitude = round_pack(
        room.bits(0, exponent),
        cat(normal.bit(-1) & ~top, normal.bits(4, fraction)),
        normal.bit(3) & ~top,
        normal.bits(0, 3).any(),
        kind,
    )

    empty = ~normal.bit(-1)
    tiny = (empty | room.bit(-1)) & ~top
    cancel = (empty | ~some) & subtract
    result = magnitude.bits(fraction, exponent)
    if quick:
        operand_nan = top & mux(swap, right.fraction, left.fraction).any()
        positive, nan = operand_nan | cancel, operand_nan | (top & cancel)
        result = mux(top, net.const(-1, exponent), result)
    else:
        positive, nan = mux(top, ~empty, cancel), top & ~empty
    kill = tiny | top | (high & total.bit(-1))
    return cat(
        mux(swap, right.sign, left.sign) & ~positive,
        mux(tiny, net.const(0, exponent), result),
        mux(kill, nan, magnitude.bit(fraction - 1)),
        mux(kill, net.const(0, fraction - 1), magnitude.bits(0, fraction - 1)),
    )


def subtract_flushed(
    a: Signal, b: Signal, kind: FloatFormat, align: Align | None = None, *, quick: bool = False
) -> Signal:
    """``a - b``, as :func:`add_flushed` draws it."""
    return add_flushed(a, cat(~b.bit(-1), b.bits(0, kind.width - 1)), kind, align, quick=quick)


def _normalised(total: Signal) -> tuple[Signal, Signal]:
    """``total`` shifted left by its leading zeros, and their number; nothing stays nothing.

    Two steps are decided at once, so that they fit in one level of tables with six inputs, the last two by
    the upper three bits. The lowest two bits are zero where a step before these is taken: behind a
    subtraction of operands that are aligned by one bit at most.
    """
    value, tail, steps = total.bits(2, total.width - 2), total.bits(0, 2), []
    for level in range((total.width - 1).bit_length() - 1, 1, -2):
        wide, narrow = 1 << level, 1 << level >> 1
        first = clear(value, 0, wide)
        steps.append(first)
        if narrow < 4:
            value = mux(first, value.shl(wide), value)
            break
        behind = mux(first, clear(value, wide, narrow), clear(value, 0, narrow))
        steps.append(behind)
        value = mux(first, value.shl(wide), value)
        value = mux(behind, value.shl(narrow), value)
    value = cat(value, tail)
    top, second, third = value.bit(-1), value.bit(-2), value.bit(-3)
    twice = ~(top | second)
    once = ~mux(twice, third, top)
    far, near = mux(once, value.shl(3), value.shl(2)), mux(once, value.shl(1), value)
    return mux(twice, far, near), cat(*steps, twice, once)
