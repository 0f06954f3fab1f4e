"""Integer multiplication.

The attribute ``extended`` says which operands are narrower numbers made wide: for each operand
None, or ``("s", bits)`` after a sign extension, ``("u", bits)`` after zeros. An i32 product of two
such i8 numbers then takes one multiplier block and no cycle.
"""

from __future__ import annotations

from ..hw_text import delay_lines, wrap_module
from ..netlist import Signal
from ..request import Builder, Drawing, Request, fitted
from ..spec import Operator
from .add_sub import segment_bits
from .products import Part, Tiling, tiled_product

NATIVE_BITS = 64
"""Widest product that the in-process simulator takes in one operation."""


def tiling_of(request: Request) -> Tiling:
    """The device's multiplier block and carry chain."""
    large, small = request.device.dsp_shape
    return Tiling(large, small, segment_bits(request))


def _build(request: Request) -> Operator:
    width = request.result_width
    for position in (0, 1):
        constant = request.constant(position)
        if constant is not None and (constant := constant % (1 << width)).bit_count() <= 1:
            return fitted(request, _by_power(width, 1 - position, constant))
    narrow = [_narrow(request, position) for position in (0, 1)]
    tiling = tiling_of(request)
    block = tiling.small + 1

    def draw(*operands: Signal) -> Signal:
        a, b = (
            Part(operand.bits(0, bits), signed)
            for operand, (bits, signed) in zip(operands, narrow, strict=True)
        )
        if width <= block:
            return operands[0] * operands[1]
        return tiled_product(a, b, width, tiling)

    name = f"mul_i{width}"
    if any(bits < width for bits, _ in narrow):
        name += "".join(f"_{'s' if signed else 'u'}{bits}" for bits, signed in narrow)

    def native(module: str, latency: int) -> str:
        inputs = [(name, width) for name in "ab"]
        product = f"%value = comb.mul %a, %b : i{width}"
        return wrap_module(module, inputs, width, [product, *delay_lines("%value", width, latency)])

    whole = native if width <= NATIVE_BITS else None
    return fitted(request, Drawing(name, draw, whole, shareable=True))


def _narrow(request: Request, position: int) -> tuple[int, bool]:
    """Significant bits of an operand and whether they are signed."""
    width = request.result_width
    constant = request.constant(position)
    if constant is not None:
        constant %= 1 << width
        negative = constant >> (width - 1)
        size = (constant ^ (1 << width) - 1 if negative else constant).bit_length()
        return min(width, max(1, size) + int(negative)), bool(negative)
    extended = request.attributes.get("extended") or ()
    if position < len(extended) and extended[position] is not None:
        letter, bits = extended[position]
        return min(bits, width), letter == "s"
    return width, False


def _by_power(width: int, position: int, constant: int) -> Drawing:
    def draw(*operands: Signal) -> Signal:
        operand = operands[position]
        if not constant:
            return operand.net.const(0, width)
        return operand.shl(constant.bit_length() - 1)

    return Drawing(f"mul_i{width}_by{constant}", draw, shareable=False)


OPERATORS: dict[str, Builder] = {"arith.muli": _build}
