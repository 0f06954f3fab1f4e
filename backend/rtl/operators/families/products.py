"""Products of any width from products that fit one multiplier block each."""

from __future__ import annotations

from dataclasses import dataclass

from ..netlist import Signal, cat
from .add_sub import segmented_add


@dataclass(frozen=True, slots=True)
class Part:
    """A number: its bits and whether they are in two's complement."""

    bits: Signal
    signed: bool

    def resized(self, width: int) -> Signal:
        """The bits cut or extended to ``width``."""
        if self.bits.width >= width:
            return self.bits.bits(0, width)
        return self.bits.sext(width) if self.signed else self.bits.zext(width)


@dataclass(frozen=True, slots=True)
class Tiling:
    """How products are cut: operand widths of an unsigned multiplier block, the larger first, and
    the longest carry chain of the sum, in bits."""

    large: int
    small: int
    segment: int


def tiled_product(a: Part, b: Part, width: int, tiling: Tiling) -> Signal:
    """The low ``width`` bits of ``a * b``."""
    if a.bits.width < b.bits.width:
        a, b = b, a
    return product_by_pieces(a, b, width, tiling)


def product_by_pieces(a: Part, b: Part, width: int, tiling: Tiling) -> Signal:
    """The same, ``a`` cut for the larger operands of the blocks and ``b`` for the smaller."""
    rows = [
        _row(a, piece, tiling.large, width - index * tiling.small, tiling.segment)
        for index, piece in enumerate(_pieces(b, tiling.small, width))
    ]
    return sum_shifted(rows, tiling.small, width, tiling.segment).resized(width)


def _pieces(number: Part, step: int, width: int) -> list[Part]:
    """The number in digits of ``step`` bits, the top one signed (a bit longer) if the number is."""
    limit = min(number.bits.width, width)
    signed = number.signed and limit == number.bits.width
    pieces: list[Part] = []
    low = 0
    while limit - low > step + int(signed):
        pieces.append(Part(number.bits.bits(low, step), False))
        low += step
    pieces.append(Part(number.bits.bits(low, limit - low), signed))
    return pieces


def _row(a: Part, b: Part, step: int, width: int, segment: int) -> Part:
    products: list[Part] = []
    for index, piece in enumerate(_pieces(a, step, width)):
        limit = width - index * step
        bits = min(piece.bits.width + b.bits.width, limit)
        signed = piece.signed or b.signed
        products.append(Part(piece.resized(bits) * b.resized(bits), signed))
    return sum_shifted(products, step, width, segment)


def sum_shifted(parts: list[Part], step: int, width: int, segment: int) -> Part:
    """Sum of ``parts[i] << (i * step)``, pairwise, modulo ``2**width``."""
    distance = step
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [
            pair[0] if len(pair) == 1 else _add_shifted(pair[0], pair[1], distance, width, segment)
            for pair in pairs
        ]
        distance *= 2
    return parts[0]


def _add_shifted(low: Part, high: Part, distance: int, width: int, segment: int) -> Part:
    signed = low.signed or high.signed
    total = min(max(low.bits.width, high.bits.width + distance) + 1 + int(signed), width)
    if total <= distance:
        return low
    bits = total - distance
    below = low.resized(max(low.bits.width, distance + int(low.signed)))
    if below.width <= distance:
        return Part(cat(high.resized(bits), low.resized(distance)), signed)
    rest = Part(below.bits(distance, below.width - distance), low.signed)
    upper, other = rest.resized(bits), high.resized(bits)
    if bits > segment:
        zero = low.bits.net.const(0, 1)
        return Part(
            cat(segmented_add(upper, other, zero, segment), below.bits(0, distance)), signed
        )
    return Part(cat(upper + other, below.bits(0, distance)), signed)
