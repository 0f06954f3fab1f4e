"""Integer multiplication from products that fit one multiplier block each."""

from __future__ import annotations

from .add_sub import segment_bits, segmented_add
from .netlist import Signal, cat
from .request import Builder, Drawing, Request, fitted
from .spec import Operator


def tiled_product(a: Signal, b: Signal, width: int, tile: tuple[int, int], segment: int) -> Signal:
    """The low ``width`` bits of the unsigned product ``a * b``.

    Args:
        tile: operand widths of one multiplier block, the larger first.
        segment: longest carry chain, in bits, of the sum of the products.
    """
    if a.width < b.width:
        a, b = b, a
    rows = [
        _row(a, b.bits(low, min(tile[1], b.width - low)), tile[0], width - low, segment)
        for low in range(0, min(b.width, width), tile[1])
    ]
    return _sum_shifted(rows, tile[1], width, segment)


def _row(a: Signal, b: Signal, step: int, width: int, segment: int) -> Signal:
    products: list[Signal] = []
    for low in range(0, min(a.width, width), step):
        part = a.bits(low, min(step, a.width - low))
        bits = part.width + b.width
        product = part.zext(bits) * b.zext(bits)
        products.append(product.bits(0, min(bits, width - low)))
    return _sum_shifted(products, step, width, segment)


def _sum_shifted(parts: list[Signal], step: int, width: int, segment: int) -> Signal:
    """Sum of ``parts[i] << (i * step)``, pairwise, modulo ``2**width``."""
    distance = step
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [
            pair[0] if len(pair) == 1 else _add_shifted(pair[0], pair[1], distance, width, segment)
            for pair in pairs
        ]
        distance *= 2
    part = parts[0]
    return part.bits(0, width) if part.width >= width else part.zext(width)


def _add_shifted(low: Signal, high: Signal, distance: int, width: int, segment: int) -> Signal:
    total = min(max(low.width, high.width + distance) + 1, width)
    if total <= distance:
        return low
    bits = total - distance
    if low.width <= distance:
        return cat(_resize(high, bits), low.zext(distance))
    upper = _resize(low.bits(distance, low.width - distance), bits)
    other = _resize(high, bits)
    if bits <= segment:
        return cat(upper + other, low.bits(0, distance))
    zero = low.net.const(0, 1)
    return cat(segmented_add(upper, other, zero, segment), low.bits(0, distance))


def _resize(value: Signal, width: int) -> Signal:
    return value.bits(0, width) if value.width >= width else value.zext(width)


def _build(request: Request) -> Operator:
    width = request.result_width
    known = [request.constant(i) for i in (0, 1)]
    for position, constant in enumerate(known):
        if constant is not None and (constant := constant % (1 << width)).bit_count() <= 1:
            return fitted(request, _by_power(width, 1 - position, constant))
    large, small = request.device.dsp_shape
    signed_fits = width <= small + 1

    def draw(a: Signal, b: Signal) -> Signal:
        if signed_fits:
            return a * b
        return tiled_product(a, b, width, (large, small), segment_bits(request))

    return fitted(request, Drawing(f"mul_i{width}", draw, shareable=True))


def _by_power(width: int, position: int, constant: int) -> Drawing:
    def draw(*operands: Signal) -> Signal:
        operand = operands[position]
        if not constant:
            return operand.net.const(0, width)
        return operand.shl(constant.bit_length() - 1)

    return Drawing(f"mul_i{width}_by{constant}", draw, shareable=False)


OPERATORS: dict[str, Builder] = {"arith.muli": _build}
