"""Making nodes: value numbering, constants, linear expressions, predicates.

A :class:`Builder` holds the body being filled. Pure operations met outside every leaf body are
*deferred*: they become nodes in the bodies that read them, so that index arithmetic between loops
costs no cycle of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd
from typing import Any

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.ranges.interval import INDEX_BITS, INDEX_RANGE, within

from ...graph.linear import (
    add,
    bits_signed,
    bits_unsigned,
    common_factor,
    divide_exactly,
    remainder,
    scale,
    split_multiples,
    subtract,
    symbol,
)
from ...graph.linear import floor_divide as linear_floor_divide
from ...graph.nodes import Array, Body, Lin, Node, Stream
from ...graph.regions import Function
from ...graph.words import top_of
from ...operators.spec import Operator
from ..records import Op
from . import glue

INDEX_LOW, INDEX_HIGH = INDEX_RANGE


@dataclass(slots=True, eq=False)
class Deferred:
    """A pure operation not yet placed in a body, with what its operands were bound to."""

    op: Op
    operands: list[Bound]


Bound = Node | Lin | Array | Stream | Deferred


class Builder:
    """Fills bodies of one function with nodes."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.static = Body(0)
        self.body: Body = self.static
        self.predicate: Node | None = None
        self.guards: tuple[Any, ...] = ()
        self.place: SourcePlace | None = None
        self.asserted: frozenset[int] = frozenset()

    @contextmanager
    def filling(self, body: Body) -> Iterator[None]:
        """Make ``body`` the one that new nodes go to, without predicate."""
        saved = self.body, self.predicate, self.guards
        self.body, self.predicate, self.guards = body, None, ()
        yield
        self.body, self.predicate, self.guards = saved

    @contextmanager
    def under(self, condition: Node | None, guard: Any) -> Iterator[None]:
        """Add a condition to the predicate of what follows."""
        saved = self.predicate, self.guards
        if condition is not None:
            self.predicate = self.both(self.predicate, condition)
        self.guards = (*self.guards, guard) if guard is not None else self.guards
        yield
        self.predicate, self.guards = saved

    # --- nodes -------------------------------------------------------------

    def add_node(self, kind: str, width: int, operands: Sequence[Node] = (), **fields: Any) -> Node:
        """A node of the current body, always new."""
        node = Node(
            self.function.number(),
            kind,
            width,
            tuple(operands),
            self.body,
            place=self.place,
            guard=self.guards,
            **fields,
        )
        self.body.nodes.append(node)
        return node

    def _unique(self, key: Any, kind: str, width: int, operands: Sequence[Node], **f: Any) -> Node:
        found = self.body.unique.get(key)
        if found is None:
            found = self.body.unique[key] = self.add_node(kind, width, operands, **f)
        return found

    def free_node(self, kind: str, width: int, label: str, **fields: Any) -> Node:
        """A value that belongs to no body: a counter, an argument, a call's result."""
        return Node(self.function.number(), kind, width, label=label, place=self.place, **fields)

    def const(self, value: int, width: int) -> Node:
        """The node of a constant, its value cut to ``width`` bits; equal constants share it."""
        if value < 0 or value.bit_length() > width:  # masks of wide words are long
            value &= (1 << width) - 1
        key = ("const", value, width)
        found = self.static.unique.get(key)
        if found is None:
            found = Node(self.function.number(), "const", width, data=value, low=value, high=value)
            self.static.unique[key] = found
        return found

    def op(
        self,
        operator: Operator,
        operands: Sequence[Node],
        *,
        float_op: bool = False,
        name: str = "",
        impl: str = "",
    ) -> Node:
        """A node computed by an operator of the library, for the operation ``name`` of the core IR.

        ``impl`` says what it is asked to be made of.
        """
        key = ("op", id(operator), impl, *(o.number for o in operands))
        return self._unique(
            key,
            "op",
            operator.result_width,
            operands,
            operator=operator,
            op=name,
            impl=impl,
            float_op=float_op,
        )

    def wire(self, how: str, node: Node, width: int, low_bit: int = 0) -> Node:
        """``slice`` from ``low_bit``, ``zext`` or ``sext`` of a node."""
        if node.width == width:
            return node
        if node.kind == "const":
            value = node.data >> low_bit if how == "slice" else node.data
            if how == "sext" and node.data >> (node.width - 1):
                value -= 1 << node.width
            return self.const(value, width)
        if how == "slice" and node.kind == "wire" and node.body is self.body:
            found = self._part(node, width, low_bit)
            if found is not None:
                return found
        key = ("wire", how, node.number, width, low_bit)
        return self._unique(key, "wire", width, (node,), data=(how, low_bit))

    def _part(self, node: Node, width: int, low: int) -> Node | None:
        """Bits of a wire taken from what it is made of; None where they are of several parts."""
        how, start = node.data[:2]
        first = node.operands[0]
        if how == "slice":
            return self.wire("slice", first, width, start + low)
        if how in ("zext", "sext"):
            if low + width <= first.width:
                return self.wire("slice", first, width, low)
            if how == "zext" and low >= first.width:
                return self.const(0, width)
            return self.wire(how, first, width) if not low else None
        if how == "insert":
            value = node.operands[1]
            if start <= low and low + width <= start + value.width:
                return self.wire("slice", value, width, low - start)
            return None
        for part in node.operands:
            if low < part.width:
                return self.wire("slice", part, width, low) if low + width <= part.width else None
            low -= part.width
        return None

    def concat(self, parts: Sequence[Node]) -> Node:
        """Nodes side by side, the first one in the lowest bits."""
        key = ("concat", *(part.number for part in parts))
        width = sum(part.width for part in parts)
        return self._unique(key, "wire", width, parts, data=("concat", 0))

    def insert(self, word: Node, value: Node, low: int) -> Node:
        """A word with the bits from ``low`` on replaced by a value."""
        if value.width == word.width:
            return value
        top = max(low + value.width, top_of(word))
        key = ("insert", word.number, value.number, low)
        return self._unique(key, "wire", word.width, (word, value), data=("insert", low, top))

    # --- logic -------------------------------------------------------------

    def both(self, a: Node | None, b: Node | None) -> Node | None:
        """Conjunction of two predicates, None being true."""
        if a is None or a is b:
            return b
        if b is None:
            return a
        if a.kind == "const":
            return b if a.data else a
        if b.kind == "const":
            return a if b.data else b
        return self.op(glue.gate("and"), (a, b))

    def negate(self, a: Node) -> Node:
        """The negation of a predicate."""
        if a.kind == "const":
            return self.const(a.data ^ 1, 1)
        return self.op(glue.gate("xor"), (a, self.const(1, 1)))

    def negative(self, a: Node) -> Node:
        """A float with its sign turned."""
        if a.kind == "const":
            return self.const(a.data ^ 1 << (a.width - 1), a.width)
        return self.op(glue.negative(a.width), (a,))

    def select(self, condition: Node, then: Node, other: Node) -> Node:
        """A multiplexer: ``then`` where the condition holds, else ``other``.

        A word that several copies of a body move on under one condition, as in a window, becomes one
        multiplexer and not a chain. Sums keep their chains, which become trees later.
        """
        while then.op == "arith.select" and then.operands[0] is condition:
            then = then.operands[1]
        moved = then.kind == "load"
        while moved and other.op == "arith.select" and other.operands[0] is condition:
            other = other.operands[2]
        if then is other:
            return then
        if condition.kind == "const":
            return then if condition.data else other
        return self.op(glue.mux(then.width), (condition, then, other), name="arith.select")

    # --- index expressions ---------------------------------------------------

    def lin_node(self, lin: Lin, width: int) -> Node:
        """The value of a linear expression, modulo ``2**width``."""
        if lin.is_const:
            return self.const(lin.const, width)
        if len(lin.terms) == 1 and not lin.const and lin.terms[0][1] == 1:
            return self.resize(lin.terms[0][0], width)
        key = ("lin", lin.key, width)
        return self._unique(key, "lin", width, [node for node, _ in lin.terms], data=lin)

    def resize(self, node: Node, width: int) -> Node:
        """A symbol at another width, its sign kept."""
        if node.width >= width:
            return self.wire("slice", node, width)
        return self.wire("zext" if node.low >= 0 else "sext", node, width)

    def as_symbol(self, node: Node, low: int, high: int) -> Lin:
        """A linear expression of one node, whose values lie in ``low`` … ``high``."""
        if node.kind == "const":
            value = node.data
            if low < 0 and value >> (node.width - 1):
                value -= 1 << node.width
            return Lin(value)
        if node.low == node.high == 0:
            node.low, node.high = low, high
        elif (node.low < 0) != (low < 0):
            node = self.add_node("wire", node.width, (node,), data=("slice", 0))
            node.low, node.high = low, high
        return symbol(node)

    def wrapped(self, lin: Lin) -> Lin:
        """An index value modulo its 64 bits, where a linear expression may go past them."""
        if within(lin.bounds(), INDEX_RANGE):
            return lin
        return self.as_symbol(self.lin_node(lin, INDEX_BITS), *INDEX_RANGE)

    def floor_divide(self, lin: Lin, divisor: int) -> Lin:
        """``lin floordiv divisor``, by hardware where it is not linear."""
        found = linear_floor_divide(lin, divisor)
        if found is not None:
            return found
        quotient, _ = self._divide(lin, divisor)
        return quotient

    def modulo(self, lin: Lin, divisor: int) -> Lin:
        """``lin mod divisor``, by hardware where it is not linear."""
        found = remainder(lin, divisor)
        if found is not None:
            return found
        _, rest = self._divide(lin, divisor)
        return rest

    def _divide(self, lin: Lin, divisor: int) -> tuple[Lin, Lin]:
        common = gcd(common_factor(lin), divisor)
        if common > 1:
            # (6 t + 5) mod 4 is 2 ((3 t + 2) mod 2) + 1.
            least = lin.const % common
            part = divide_exactly(add(lin, Lin(-least)), common)
            turned = scale(self.modulo(part, divisor // common), common)
            return self.floor_divide(part, divisor // common), add(turned, Lin(least))
        whole, part = split_multiples(lin, divisor)
        if whole.terms and divisor & (divisor - 1):
            # (6 t + u) // 3 is 2 t + u // 3; of a power of two, a quotient is bits of the sum.
            return add(self.floor_divide(part, divisor), whole), self.modulo(part, divisor)
        low, high = lin.bounds()
        shift = -(low // divisor) if low < 0 else 0
        lifted = add(lin, Lin(shift * divisor))
        top = high + shift * divisor
        width = bits_unsigned(top)
        value = self.lin_node(lifted, width)
        if divisor & (divisor - 1) == 0:
            cut = divisor.bit_length() - 1
            quotient = self.wire("slice", value, width - cut, cut)
        else:
            quotient = self.op(
                glue.divide_by_constant(width, divisor, bits_unsigned(top // divisor)), (value,)
            )
            quotient.quotient_of = lifted, divisor
        quotient_lin = self.as_symbol(quotient, 0, top // divisor)
        # The remainder's range is known better than its linear form tells.
        if divisor & (divisor - 1) == 0:
            rest = self.wire("slice", value, divisor.bit_length() - 1, 0)
        else:
            rest = self.lin_node(
                subtract(lifted, scale(quotient_lin, divisor)), bits_unsigned(divisor - 1)
            )
        rest_lin = self.as_symbol(rest, 0, divisor - 1)
        if rest.body is self.body and rest.kind != "const":
            rest.rest_of = lin, divisor
        return add(quotient_lin, Lin(-shift)), rest_lin

    def compare(self, predicate: int, a: Lin, b: Lin) -> Node:
        """A comparison of two index values, decided now where the ranges allow."""
        a, b = self.wrapped(a), self.wrapped(b)
        unsigned = predicate >= 6
        difference = subtract(a, b)
        decided = _decide(predicate - 4 if unsigned else predicate, difference)
        if decided is not None and not (unsigned and min(a.bounds()[0], b.bounds()[0]) < 0):
            return self.const(int(decided), 1)
        low = min(a.bounds()[0], b.bounds()[0])
        high = max(a.bounds()[1], b.bounds()[1])
        test = None if unsigned and low < 0 else (predicate - 4 * unsigned, difference)
        if low >= 0:
            width = bits_unsigned(high)
            predicate = predicate + 4 if 2 <= predicate < 6 else predicate
        else:
            width = INDEX_BITS if unsigned else bits_signed(low, high)
        operands = (self.lin_node(a, width), self.lin_node(b, width))
        node = self.op(glue.compare(predicate, width), operands)
        node.test = node.test or test
        return node


def _decide(predicate: int, difference: Lin) -> bool | None:
    low, high = difference.bounds()
    always, never = {
        0: (low == high == 0, low > 0 or high < 0),
        1: (low > 0 or high < 0, low == high == 0),
        2: (high < 0, low >= 0),
        3: (high <= 0, low > 0),
        4: (low > 0, high <= 0),
        5: (low >= 0, high < 0),
    }[predicate]
    return True if always else False if never else None
