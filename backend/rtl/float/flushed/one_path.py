"""Addition in one path where subnormals count as zero, for sums on which a loop waits.

The steps are those of :mod:`.add`, with fewer levels: the exponents say by themselves how far the smaller
operand is shifted, for where they are equal it is not shifted, whichever it is; and the leading zeros of the
sum are counted four places at a time, before any is shifted out. It takes two thirds of the lookup tables of
:mod:`..paths`, and at some clocks no more cycles.
"""

from __future__ import annotations

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from ..add import aligned
from ..formats import FloatFormat
from ..parts import round_pack, unpack
from ..paths import leading_zeros, shifted_left


def add_in_one_path(a: Signal, b: Signal, kind: FloatFormat) -> Signal:
    """``a + b``, the bits of :func:`~.add.add_flushed`."""
    net, exponent, fraction = a.net, kind.exponent, kind.fraction
    left, right = unpack(a, kind), unpack(b, kind)
    swap = left.magnitude.ult(right.magnitude)
    subtract = left.sign ^ right.sign
    some, both = left.normal | right.normal, left.normal & right.normal
    one, two = net.const(1, 1), net.const(0, 2)

    wide = exponent + 1
    above = left.exponent.zext(wide) - right.exponent.zext(wide)
    further = above.bit(-1)
    distance = mux(further, right.exponent - left.exponent, above.bits(0, exponent))
    field = mux(further, right.exponent, left.exponent)
    high, top = field.bits(1, exponent - 1).all(), field.all()

    small = cat(one, mux(swap, left.fraction, right.fraction), two)
    shifted, sticky = aligned(small & both.repeat(small.width), distance)
    width = kind.precision + 3
    large = mux(swap, right.fraction, left.fraction)
    first = cat(net.const(0, 1), one, large, two)
    second = shifted.zext(width) ^ subtract.repeat(width)
    total = (cat(first, subtract) + cat(second, ~sticky)).bits(1, width)

    value = cat(total, sticky)
    zeros = leading_zeros(value, None)
    normal = shifted_left(value, zeros)
    bits = max(exponent, zeros.width) + 1
    room = field.zext(bits) - zeros.zext(bits)
    rest = normal.bits(0, 3).any()
    magnitude = round_pack(
        room.bits(0, exponent), normal.bits(4, kind.precision), normal.bit(3), rest, kind
    )

    empty = ~normal.bit(-1)
    tiny = (empty | room.bit(-1)) & ~top
    cancel = (empty | ~some) & subtract
    broken = top & large.any()
    nan = broken | (top & cancel)
    kill = tiny | top | (high & total.bit(-1))
    return cat(
        mux(swap, right.sign, left.sign) & ~(broken | cancel),
        (magnitude.bits(fraction, exponent) & (~tiny).repeat(exponent)) | top.repeat(exponent),
        (magnitude.bit(fraction - 1) & ~kill) | nan,
        magnitude.bits(0, fraction - 1) & (~kill).repeat(fraction - 1),
    )


def subtract_in_one_path(a: Signal, b: Signal, kind: FloatFormat) -> Signal:
    """``a - b``, as :func:`add_in_one_path` draws it."""
    return add_in_one_path(a, cat(~b.bit(-1), b.bits(0, kind.width - 1)), kind)
