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
    """How products are cut: operand widths of an unsigned multiplier block, the larger first, the
    longest carry chain of the sum, in bits, and the bits of the adder in a block, 0 where it has none."""

    large: int
    small: int
    segment: int
    adder: int = 0


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


def cascaded_product(a: Signal, b: Signal, tiling: Tiling) -> Signal:
    """``a * b``, both unsigned, summed by the adders of the blocks.

    ``a`` is cut into columns. A column is a chain of blocks: each adds its product to what the one before
    it has above its lowest digit, which is the form that synthesis tools know as a cascade of blocks. Logic
    sums the columns. The last bit of ``a``, if it is alone, has no blocks: as many places of its row as there
    is room for go into the first sum of the last column, and the rest is added to the first column.
    """
    width = a.width + b.width
    starts = range(0, a.width, tiling.large)
    columns = [a.bits(low, min(tiling.large, a.width - low)) for low in starts]
    row: Signal | None = None
    if len(columns) > 1 and columns[-1].width == 1:
        row = b & columns.pop().repeat(b.width)
    sums = [_chain(column, b, tiling) for column in columns[:-1]]
    # Two bits less than the adder has: the sum shall not reach its sign.
    room = tiling.adder - 2 - tiling.large if row is not None else 0
    if row is not None and room > 0:
        first = cat(row.bits(0, min(room, b.width)), a.net.const(0, tiling.large))
        sums.append(_chain(columns[-1], b, tiling, first))
        row = row.bits(room, b.width - room) if room < b.width else None
    else:
        sums.append(_chain(columns[-1], b, tiling))
    parts = [Part(sum_, False) for sum_ in sums]
    total = parts[0]
    if row is not None:
        distance = len(columns) * tiling.large + max(0, room)
        total = _add_shifted(total, Part(row, False), distance, width, tiling.segment)
    for index, part in enumerate(parts[1:], 1):
        total = _add_shifted(total, part, index * tiling.large, width, tiling.segment)
    return total.resized(width)


def _chain(column: Signal, b: Signal, tiling: Tiling, first: Signal | None = None) -> Signal:
    """``column * b + first`` by blocks behind one another, the lowest digit of ``b`` first."""
    step, above = tiling.small, first
    most = column.width + b.width + int(first is not None)
    found: list[Signal] = []
    for low in range(0, b.width, step):
        digit = b.bits(low, min(step, b.width - low))
        bits = column.width + digit.width
        product = column.zext(bits) * digit.zext(bits)
        if above is not None:
            bits = min(max(bits, above.width) + 1, most - low)
            product = above.zext(bits).added_in_block(product.zext(bits))
        if low + step >= b.width:
            break
        found.append(product.bits(0, step))
        above = product.bits(step, product.width - step)
    return cat(product, *reversed(found))


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
