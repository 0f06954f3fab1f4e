"""Chains of one associative integer operation in a body: what they combine, through casts and conditions.

The low bits of a sum, a product or a bitwise operation depend on the low bits of the operands alone. A
chain that ends in ``w`` bits is therefore opened through every cast that keeps ``w`` bits, and through a
narrower one where its operation cannot overflow. ``c ? s + x : s`` is ``s + (c ? x : 0)``, and in fixed point
``((s << k) + x) >> k`` is ``s + (x >> k)``. What something else uses too is not opened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from allo.dialects.affine.associative import DIFFERENCES, EXTREMES, MODULAR, family_of
from allo.dialects.core.integers import as_signed
from allo.dialects.ranges.interval import Interval, differences, of_bits, products, summed, within

from .nodes import Body, Node
from .spans import Spans

INTEGER_EXTREMES = frozenset(name for name in EXTREMES if name.endswith("i"))
_SUMS = ("arith.addi", "arith.subi")
_OVERFLOWS = {"arith.addi": summed, "arith.subi": differences, "arith.muli": products}


@dataclass(slots=True)
class Leaf:
    """An operand of a chain: a node, read with a sign or without where it is narrower than the chain.

    ``low``: its first bit that counts.
    """

    node: Node
    signed: bool
    span: Interval
    negative: bool = False
    low: int = 0


type Entry = tuple[Node, bool, str, int] | Leaf | Guarded
"""A node with its sign, how it is extended, and how often the chain uses it; or a finished operand."""


@dataclass(slots=True)
class Guarded:
    """Operands that count under a condition only; else they are what changes nothing.

    ``holds`` is the value of the condition under which they count.
    """

    condition: Node
    holds: bool
    chain: Chain


@dataclass(slots=True)
class Chain:
    """A chain of one operation.

    Attributes:
        root: its last node, of ``width`` bits.
        constant: its constant operands together, None where it has none.
        inner: nodes that nothing uses once the operands are combined in another way.
    """

    root: Node
    family: str
    width: int
    operands: list[Leaf | Guarded] = field(default_factory=list)
    constant: int | None = None
    inner: list[Node] = field(default_factory=list)

    def fold(self, value: int, negative: bool) -> None:
        """Combine a constant operand with those before."""
        bits = (1 << self.width) - 1
        value = (-value if negative else value) & bits
        before = self.constant
        if before is not None:
            value = FOLDS[self.family](before, value, self.width) & bits
        self.constant = value

    def leaves(self) -> list[Leaf]:
        """Every operand, those under conditions too."""
        found: list[Leaf] = []
        for operand in self.operands:
            found += [operand] if isinstance(operand, Leaf) else operand.chain.leaves()
        return found


FOLDS: dict[str, Callable[[int, int, int], int]] = {
    "arith.addi": lambda a, b, width: a + b,
    "arith.muli": lambda a, b, width: a * b,
    "arith.andi": lambda a, b, width: a & b,
    "arith.ori": lambda a, b, width: a | b,
    "arith.xori": lambda a, b, width: a ^ b,
    "arith.maxsi": lambda a, b, width: max(a, b, key=lambda x: as_signed(x, width)),
    "arith.minsi": lambda a, b, width: min(a, b, key=lambda x: as_signed(x, width)),
    "arith.maxui": lambda a, b, width: max(a, b),
    "arith.minui": lambda a, b, width: min(a, b),
}


def neutral_of(family: str, width: int) -> int:
    """The value of so many bits that changes no other."""
    top = 1 << (width - 1)
    values = {"arith.muli": 1, "arith.andi": -1, "arith.minui": -1}
    values |= {"arith.maxsi": top, "arith.minsi": top - 1}
    return values.get(family, 0) & (1 << width) - 1


class Finder:
    """Finds the chains of one body.

    Args:
        uses: how often each node is used, in the whole function.
    """

    def __init__(self, body: Body, uses: Counter[int], spans: Spans) -> None:
        self._body, self._uses, self._spans = body, uses, spans
        self._closed: set[int] = set()

    def chain(self, root: Node, may_guard: Callable[[Node], bool]) -> Chain | None:
        """The chain that ends in a node; None where none does.

        Args:
            may_guard: whether operands may be computed under a condition, given as a node.
        """
        family = self._family(root)
        if family is None:
            return None
        return self._collect(root, Chain(root, family, root.width), None, may_guard)

    def _family(self, node: Node) -> str | None:
        """The operation of the chain that ends in a node."""
        while True:
            if node.op == "arith.select":
                shared = self._updated(node)
                if shared is None:
                    return None
                node = shared[0]
            elif node.kind == "wire" and node.data[0] in ("slice", "sext", "zext"):
                if node.data[1]:
                    return "arith.addi" if self._aligned(node) else None
                node = node.operands[0]
                if node.body is not self._body or self._uses[node.number] != 1:
                    return None
            else:
                family = family_of(node.op)
                known = family in MODULAR or family in INTEGER_EXTREMES
                return family if known else None

    def _updated(self, select: Node) -> tuple[Node, Node, bool] | None:
        """Of a selection: the side that nothing else uses, the other, what condition takes the first."""
        _, then, other = select.operands
        for side, rest, holds in ((then, other, True), (other, then, False)):
            used = self._uses[side.number] == 1 and self._uses[rest.number] > 1
            if used and side.body is self._body and side.kind in ("op", "wire"):
                return side, rest, holds
        return None

    def _collect(
        self, root: Node, chain: Chain, base: Node | None, may_guard: Callable[[Node], bool]
    ) -> Chain | None:
        """Fill a chain with what ``root`` combines.

        Args:
            base: must be among the operands, once and not subtracted, and is left out; None where the
                chain is a whole one.
        """
        hits = 0
        stack: list[Entry] = [(root, False, "", 0)]
        while stack:
            entry = stack.pop()
            if isinstance(entry, Guarded | Leaf):
                chain.operands.append(entry)
                continue
            node, negative, view, known_uses = entry
            if node is base and not view:
                if negative:
                    return None
                hits += 1
                continue
            if node.kind == "const":
                signed = view == "s" and node.width < chain.width
                chain.fold(as_signed(node.data, node.width) if signed else node.data, negative)
                continue
            inside = node is root or (
                node.body is self._body and self._uses[node.number] == max(1, known_uses)
            )
            below = self._below(chain, node, negative, view, may_guard) if inside else None
            if below is None:
                chain.operands.append(self._leaf(chain, node, negative, view))
                continue
            if node is not chain.root:
                chain.inner.append(node)
            stack += reversed(below)
        return chain if base is None or hits == 1 else None

    def _leaf(self, chain: Chain, node: Node, negative: bool, view: str) -> Leaf:
        width = chain.width
        if node.width >= width:
            span = self._spans.of(node)
            if not within(span, (of_bits(width)[0], of_bits(width, signed=False)[1])):
                span = of_bits(width)
        else:
            span = self._spans.signed(node) if view == "s" else self._spans.unsigned(node)
        return Leaf(node, span[0] < 0, span, negative)

    def _below(
        self,
        chain: Chain,
        node: Node,
        negative: bool,
        view: str,
        may_guard: Callable[[Node], bool],
    ) -> list[Entry] | None:
        """The operands of a node of the chain, None where it is an operand itself."""
        if node.kind == "wire":
            return self._through(chain, node, negative, view)
        exact = node.width == chain.width if chain.family not in MODULAR else True
        if node.op == "arith.select" and exact and not view:
            return self._opened(chain, node, negative, may_guard)
        if not exact or family_of(node.op) != chain.family or len(node.operands) != 2:
            return None
        if view and not self._passes(chain, node, view):
            return None
        a, b = node.operands
        return [(a, negative, view, 0), (b, negative != (node.op in DIFFERENCES), view, 0)]

    def _through(self, chain: Chain, node: Node, negative: bool, view: str) -> list[Entry] | None:
        """What a cast in the chain is made of, None where it changes the value."""
        how, start = node.data[:2]
        first = node.operands[0]
        if start and chain.family == "arith.addi" and node.width >= chain.width:
            return self._shifted(chain, node, negative)
        if chain.family not in MODULAR or start or how not in ("slice", "sext", "zext"):
            return None
        if first.width >= chain.width:
            # Of all that the chain keeps, the cast keeps it too, if it is not extended afterwards.
            kept = min(node.width, first.width) >= chain.width or self._fits(first, node, view)
            return [(first, negative, "", 0)] if kept else None
        if how == "slice":
            return [(first, negative, view, 0)] if self._fits(first, node, view) else None
        kind = "s" if how == "sext" else "u"
        if view == "u" and kind == "s":
            return None
        return [(first, negative, kind, 0)]

    def _aligned(self, node: Node) -> tuple[Node, Node, bool] | None:
        """Of the high bits of a sum: what was shifted up to it, the other operand, the sign of the first."""
        total = node.operands[0]
        if node.data[0] != "slice" or total.body is not self._body or self._uses[total.number] != 1:
            return None
        sides = [(total.operands[::-1], total.op == "arith.subi")] if total.op in _SUMS else []
        if total.op == "arith.addi":
            sides.append((total.operands, False))
        for (raised, other), negative in sides:
            if raised.kind != "wire" or raised.data[0] != "concat" or len(raised.operands) != 2:
                continue
            zeros, value = raised.operands
            if zeros.kind == "const" and not zeros.data and zeros.width == node.data[1]:
                return value, other, negative
        return None

    def _shifted(self, chain: Chain, node: Node, negative: bool) -> list[Entry] | None:
        found = self._aligned(node)
        if found is None:
            return None
        value, other, minus = found
        chain.inner.append(node.operands[0])
        low = node.data[1]
        span = self._spans.of(other)
        span = span[0] >> low, span[1] >> low
        if not within(span, (of_bits(chain.width)[0], of_bits(chain.width, signed=False)[1])):
            span = of_bits(chain.width)
        return [(value, negative != minus, "", 0), Leaf(other, span[0] < 0, span, negative, low)]

    def _fits(self, node: Node, cast: Node, view: str) -> bool:
        """Whether a cast to fewer bits, extended again, keeps the value."""
        if cast.data[0] != "slice" or not view:
            return False
        if view == "s":
            return within(self._spans.signed(node), of_bits(cast.width))
        return within(self._spans.unsigned(node), of_bits(cast.width, signed=False))

    def _passes(self, chain: Chain, node: Node, view: str) -> bool:
        """Whether an operation in fewer bits than the chain's, extended, is what more bits would give."""
        rule = _OVERFLOWS.get(node.op)
        if rule is None:
            return chain.family in MODULAR
        read = self._spans.signed if view == "s" else self._spans.unsigned
        limits = of_bits(node.width, signed=view == "s")
        a, b = (read(o) for o in node.operands)
        return within(rule(a, b), limits)

    def _opened(
        self, chain: Chain, select: Node, negative: bool, may_guard: Callable[[Node], bool]
    ) -> list[Entry] | None:
        """``c ? s + x : s`` as s, and x under the condition."""
        if select.number in self._closed or not may_guard(select.operands[0]):
            return None
        found = self._updated(select)
        if found is None:
            return None
        side, rest, holds = found
        inner = Chain(chain.root, chain.family, chain.width)
        made = self._collect(side, inner, rest, may_guard)
        if made is None or negative or not (made.operands or made.constant is not None):
            self._closed.add(select.number)
            return None
        chain.inner += made.inner
        return [(rest, negative, "", 2), Guarded(select.operands[0], holds, made)]
