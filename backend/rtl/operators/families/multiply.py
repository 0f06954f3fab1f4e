"""Integer multiplication.

The attribute ``extended`` says which operands are narrower numbers made wide: for each operand
None, or ``("s", bits)`` after a sign extension, ``("u", bits)`` after zeros. An i32 product of two
such i8 numbers then takes one multiplier block and no cycle.
"""

from __future__ import annotations

from allo.backend.devices import OperatorDelays
from allo.dialects.core.integers import as_signed
from allo.dialects.sums.digits import signed_digits

from ...netlist.modules import Module
from ...netlist.operations import Gate
from ..modules import delayed_module
from ..netlist import Signal
from ..request import Builder, Drawing, Request, fitted
from ..spec import Operator
from .add_sub import segment_bits
from .products import Part, Tiling, tiled_product
from .rows import product_of_rows

NATIVE_BITS = 64
"""Widest product that the in-process simulator takes in one operation."""


def tiling_of(request: Request) -> Tiling:
    """The device's multiplier block and carry chain."""
    large, small = request.device.dsp_shape
    return Tiling(large, small, segment_bits(request), request.device.dsp_adder)


def _build(request: Request) -> Operator:
    width = request.result_width
    for position in (0, 1):
        constant = request.constant(position)
        if constant is not None and (constant := constant % (1 << width)).bit_count() <= 1:
            return fitted(request, _by_power(width, 1 - position, constant))
    narrow = [_narrow(request, position) for position in (0, 1)]
    product = fitted(request, _product(request, narrow))
    if request.impl == "dsp":
        return product
    for position in (0, 1):
        constant = request.constant(position)
        if constant is not None:
            sum_ = fitted(request, _by_digits(request, narrow[1 - position], position, constant))
            return sum_ if better(sum_, product, request.device) else product
    return product


def better(a: Operator, b: Operator, device: OperatorDelays) -> bool:
    """Whether an operator is no slower than another, and takes no more of the device."""
    if (a.latency, a.delay_ns if not b.latency else 0.0) > (b.latency, b.delay_ns):
        return False
    sizes = (x.resources.lut + device.luts_for_dsp * x.resources.dsp for x in (a, b))
    return next(sizes) <= next(sizes)


def _product(request: Request, narrow: list[tuple[int, bool]]) -> Drawing:
    width = request.result_width
    tiling = tiling_of(request)
    block = tiling.small + 1
    fabric = request.impl == "fabric"

    def draw(*operands: Signal) -> Signal:
        a, b = (
            Part(operand.bits(0, bits), signed)
            for operand, (bits, signed) in zip(operands, narrow, strict=True)
        )
        if fabric:
            return product_of_rows(a, b, width, tiling.segment)
        if width <= block:
            return operands[0] * operands[1]
        return tiled_product(a, b, width, tiling)

    name = f"mul_i{width}"
    if any(bits < width for bits, _ in narrow):
        name += "".join(f"_{'s' if signed else 'u'}{bits}" for bits, signed in narrow)
    if fabric:
        name += "_fabric"

    def native(module: str, latency: int) -> Module:
        inputs = [(name, width) for name in "ab"]
        product = Gate("comb.mul", "%value", ("%a", "%b"), width)
        return delayed_module(module, inputs, [product], "%value", width, latency)

    whole = native if width <= NATIVE_BITS else None
    return Drawing(name, draw, whole, shareable=True)


def _by_digits(request: Request, factor: tuple[int, bool], position: int, constant: int) -> Drawing:
    """A product by a constant as a sum of shifted operands, plus or minus."""
    bits, signed = factor
    value = as_signed(constant, request.result_width)
    # What the product can be needs no more bits than both factors have.
    width = min(request.result_width, bits + value.bit_length() + 1)

    def draw(*operands: Signal) -> Signal:
        operand = Part(operands[1 - position].bits(0, bits), signed).resized(width)
        row = [(operand.shl(place), digit < 0) for place, digit in signed_digits(value)]
        while len(row) > 1:
            pairs = zip(row[::2], row[1::2], strict=False)
            row = [*(_sum(a, b) for a, b in pairs), *(row[-1:] if len(row) % 2 else [])]
        total, negative = row[0]
        total = total.net.const(0, width) - total if negative else total
        return Part(total, signed or value < 0).resized(request.result_width)

    name = f"mul_i{request.result_width}_{'s' if signed else 'u'}{bits}_by{constant}"
    return Drawing(name + _place(position), draw, shareable=False)


def _place(position: int) -> str:
    """The part of a name that says where the constant is: a unit is known by its name."""
    return "" if position else "_first"


def _sum(a: tuple[Signal, bool], b: tuple[Signal, bool]) -> tuple[Signal, bool]:
    """A sum of signed numbers; whether what is left is to be subtracted."""
    (x, minus), (y, other) = a, b
    if minus == other:
        return x + y, minus
    return (y - x, False) if minus else (x - y, False)


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

    return Drawing(f"mul_i{width}_by{constant}{_place(1 - position)}", draw, shareable=False)


OPERATORS: dict[str, Builder] = {"arith.muli": _build}
