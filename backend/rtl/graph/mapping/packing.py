"""Several products of few bits in one multiplier block.

Products that have a factor in common are one product of that factor by a number that holds the others side by
side: ``((y << 16) + x) * a`` is ``(y * a << 16) + x * a``. Two by two factors of four bits are four products:
``((w1 << 16) + w0) * ((a1 << 8) + a0)``. A *lane* of the product is as wide as the product in it. Where it is
negative, the lanes above it are one less, which its sign bit, added to them, makes good. So every bit of
every product is as before, for all values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ...operators.library import OperatorLibrary
from ..making import Maker
from ..nodes import Body, Node
from ..regions import Function
from .order import Moves

PRODUCT = "arith.muli"
MOST_IN_ROW = 3
"""Products that share one factor in a block; more do not fit."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a product, without the bits that extend it."""

    node: Node
    signed: bool

    @property
    def key(self) -> tuple[int, bool]:
        """Equal for equal factors."""
        return self.node.number, self.signed

    @property
    def width(self) -> int:
        """Bits that it has."""
        return self.node.width


@dataclass(frozen=True, slots=True)
class Tile:
    """The products of each of some factors by each of some others, in one block.

    Attributes:
        lefts, rights: the factors, those in the lowest bits first.
        nodes: the products: those of the first left factor by all the right ones, then of the next.
    """

    lefts: tuple[Factor, ...]
    rights: tuple[Factor, ...]
    nodes: tuple[Node, ...]

    @property
    def step(self) -> int:
        """Bits of a lane."""
        lanes = [a.width + b.width for a in self.lefts for b in self.rights]
        return max(lanes[:-1], default=lanes[-1])

    def fits(self, shape: tuple[int, int]) -> bool:
        """Whether a block with unsigned operands of these widths, the larger first, computes it.

        Of more than two products, those in the lower lanes are all signed or all unsigned, so that one bit
        says whether all of them together are negative.
        """
        if len(self.lefts) * len(self.rights) > 2 and _mixed(self.lefts, self.rights):
            return False
        step = self.step
        left = _joined_width(self.lefts, step * len(self.rights))
        right = _joined_width(self.rights, step)
        large, small = shape
        return any(
            a[0] <= large + a[1] and b[0] <= small + b[1] for a, b in ((left, right), (right, left))
        )


def _mixed(*sides: Sequence[Factor]) -> bool:
    return any(len({factor.signed for factor in side}) > 1 for side in sides)


def _joined_width(factors: Sequence[Factor], step: int) -> tuple[int, bool]:
    """Bits of factors side by side, and whether they are a signed number."""
    *lower, top = factors
    borrows = any(factor.signed for factor in lower)
    return step * len(lower) + top.width + borrows, borrows or top.signed


def factors_of(node: Node) -> tuple[Factor, Factor] | None:
    """The factors of a product; None where one is a constant."""
    found = []
    for operand in node.operands:
        signed = True
        while operand.kind == "wire" and operand.data[0] in ("sext", "zext"):
            signed = operand.data[0] == "sext"
            operand = operand.operands[0]
        if operand.kind == "const":
            return None
        found.append(Factor(operand, signed))
    return found[0], found[1]


def pack_body(
    function: Function,
    body: Body,
    library: OperatorLibrary,
    products: Sequence[Node],
    most: int | None = None,
) -> tuple[int, int]:
    """Compute products of a body several in a block, where they have factors in common.

    Args:
        products: those that may be.
        most: blocks to save at most; None for no limit.

    Returns:
        How many products are, and in how many blocks.
    """
    moves = Moves(body)
    tiles = _Search(moves, moves.apart(products), library.device.dsp_shape).run(most)
    taken = [node for tile in tiles for node in tile.nodes]
    function.packed += [n.operator for n in taken if n.operator is not None and not n.impl]
    groups = [(_make(function, body, library, tile), list(tile.nodes)) for tile in tiles]
    if groups:
        body.nodes = moves.with_groups(groups)
    return len(taken), len(tiles)


class _Search:
    """Finds tiles among products, each product in one at most."""

    def __init__(self, moves: Moves, products: Sequence[Node], shape: tuple[int, int]) -> None:
        self._moves = moves
        self._shape = shape
        self._free: dict[int, Node] = {}
        self._factors: dict[int, tuple[Factor, Factor]] = {}
        self._by_factor: defaultdict[tuple[int, bool], list[Node]] = defaultdict(list)
        self._by_pair: dict[frozenset[tuple[int, bool]], Node] = {}
        for node in products:
            factors = factors_of(node)
            if factors is None:
                continue
            self._free[node.number] = node
            self._factors[node.number] = factors
            self._by_pair[frozenset(f.key for f in factors)] = node
            for key in {f.key for f in factors}:
                self._by_factor[key].append(node)
        self._tiles: list[Tile] = []

    def run(self, most: int | None) -> list[Tile]:
        """The tiles, of as many products as fit."""
        for node in list(self._free.values()):
            if self._left(most) and node.number in self._free:
                self._square(node)
        for size in range(MOST_IN_ROW, 1, -1):
            for key in list(self._by_factor):
                while self._left(most) and self._row(key, size):
                    pass
        return self._tiles

    def _left(self, most: int | None) -> bool:
        saved = sum(len(tile.nodes) - 1 for tile in self._tiles)
        return most is None or saved < most

    def _other(self, node: Node, key: tuple[int, bool]) -> Factor:
        first, second = self._factors[node.number]
        return second if first.key == key else first

    def _members(self, key: tuple[int, bool]) -> list[Node]:
        return [n for n in self._by_factor[key] if n.number in self._free]

    def _take(self, tile: Tile) -> bool:
        if not (tile.fits(self._shape) and self._moves.together(tile.nodes)):
            return False
        self._tiles.append(tile)
        for node in tile.nodes:
            del self._free[node.number]
        return True

    def _square(self, node: Node) -> bool:
        """Four products of two by two factors, one of them given."""
        left, right = self._factors[node.number]
        if left.key == right.key or not Tile((left,) * 2, (right,) * 2, ()).fits(self._shape):
            return False
        for beside in self._members(left.key):
            other_right = self._other(beside, left.key)
            if other_right.key in (left.key, right.key):
                continue
            for below in self._members(right.key):
                other_left = self._other(below, right.key)
                last = self._by_pair.get(frozenset((other_left.key, other_right.key)))
                if last is None or last.number not in self._free:
                    continue
                nodes = (node, beside, below, last)
                lefts, rights = (left, other_left), (right, other_right)
                if len({n.number for n in nodes}) == 4 and self._take(Tile(lefts, rights, nodes)):
                    return True
        return False

    def _row(self, key: tuple[int, bool], size: int) -> bool:
        """Products that share a factor."""
        members = self._members(key)
        for start in range(len(members) - size + 1):
            nodes = members[start : start + size]
            shared = next(f for f in self._factors[nodes[0].number] if f.key == key)
            pairs = sorted(
                ((self._other(n, key), n) for n in nodes), key=lambda pair: pair[0].width
            )
            lefts = tuple(factor for factor, _ in pairs)
            if self._take(Tile(lefts, (shared,), tuple(n for _, n in pairs))):
                return True
        return False


# --- the nodes of a tile -----------------------------------------------------------------------


def _make(function: Function, body: Body, library: OperatorLibrary, tile: Tile) -> list[Node]:
    """Make the products of a tile lanes of one; the nodes in front of them."""
    maker = Maker(function, body, library, tile.nodes[0])
    step = tile.step
    left, left_signed = _joined(maker, tile.lefts, step * len(tile.rights))
    right, right_signed = _joined(maker, tile.rights, step)
    bits = left.width + right.width
    operands = (
        maker.sized(left, bits, signed=left_signed),
        maker.sized(right, bits, signed=right_signed),
    )
    product = maker.op(PRODUCT, operands, bits)
    product.impl = "dsp"
    lanes = [(a, b) for a in tile.lefts for b in tile.rights]
    borrows = False
    made: set[int] = set()
    for place, (node, (a, b)) in enumerate(zip(tile.nodes, lanes, strict=True)):
        width, signed = a.width + b.width, a.signed or b.signed
        value = maker.sized(product, width, signed=signed, low=step * place)
        if borrows:
            sign = maker.sized(product, 1, signed=False, low=step * place - 1)
            value = maker.op("arith.addi", (value, maker.sized(sign, width, signed=False)), width)
        value = maker.sized(value, node.width, signed=signed)
        node.kind, node.operands, node.data = value.kind, value.operands, value.data
        node.operator, node.op, node.impl = value.operator, value.op, ""
        made.add(value.number)
        borrows = borrows or signed
    return [node for node in maker.made if node.number not in made]


def _joined(maker: Maker, factors: Sequence[Factor], step: int) -> tuple[Node, bool]:
    """Factors side by side as one number: its node, and whether it is signed."""
    number, signed = factors[0].node, factors[0].signed
    for place, factor in enumerate(factors[1:], start=1):
        low = maker.sized(number, step * place, signed=signed)
        high, width = factor.node, factor.width
        if signed:
            width += 1
            sign = maker.sized(low, 1, signed=True, low=low.width - 1)
            high = maker.op(
                "arith.addi",
                (
                    maker.sized(high, width, signed=factor.signed),
                    maker.sized(sign, width, signed=True),
                ),
                width,
            )
        number = maker.joined((low, high))
        signed = signed or factor.signed
    return number, signed
