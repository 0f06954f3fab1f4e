"""The alignment of an adder's smaller operand by a multiplier: a shift is a product by a power of two."""

from __future__ import annotations

from collections.abc import Callable

from allo.backend.rtl.operators.netlist import Signal, cat, mux

STEPS = 4
"""Bits of the distance that the product takes: 16 places, which one port of a multiplier block holds."""


def align_by_product(
    value: Signal, distance: Signal, product: Callable[[Signal, Signal], Signal]
) -> tuple[Signal, Signal]:
    """``value >> distance``, and whether any bit was shifted out, as :func:`~.add.aligned` has it.

    The lowest two bits of ``value`` are zero. The low bits of the distance say which power of two it is
    multiplied by, so that the bits shifted out are the low ones of the product. Logic shifts by the others.
    """
    width = value.width
    levels = min(distance.width, width.bit_length())
    places = 1 << STEPS
    power = cat(*(distance.bits(0, STEPS).eq(step) for step in range(places)))
    # The product by 2 ** (places - 1 - distance) is the value with so many bits below it, less the two zeros.
    space = places - 3
    shifted = product(value.bits(2, width - 2), power).zext(width + space)
    lost = value.net.const(0, 1)
    for level in range(STEPS, levels):
        chosen = distance.bit(level)
        lost = lost | (chosen & shifted.bits(0, 1 << level).any())
        shifted = mux(chosen, shifted.shru(1 << level), shifted)
    sticky = lost | shifted.bits(0, space).any()
    shifted = shifted.bits(space, width)
    if distance.width > levels:
        near = distance.bits(levels, distance.width - levels).none()
        shifted = shifted & near.repeat(width)
    return shifted, sticky
