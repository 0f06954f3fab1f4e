"""Bound values as nodes or as index values, and the operations that others are made of.

An index value stays a linear expression as long as it can; an operation of the library computes the rest,
in as many bits as its values need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from allo.dialects.bindings import BINDING
from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.ranges.interval import INDEX_RANGE, Interval, products, within

from ...graph.fold import fold, fold_float, sum_with_nothing
from ...graph.linear import NARROW_BITS, bits_signed, index_width, scale
from ...graph.making import extension_of, operand_attributes
from ...graph.nodes import Lin, Node
from ...operators.library import OperatorLibrary
from ...operators.spec import Operator
from ..records import Op, element_width
from .builder import Bound, Builder, Deferred

FLOAT_ARITHMETIC = frozenset(
    {
        "arith.addf",
        "arith.subf",
        "arith.mulf",
        "arith.divf",
        "arith.remf",
        "math.sqrt",
        "math.fma",
    }
)


class Values(ABC):
    """The values of the body that a builder fills."""

    def __init__(self, builder: Builder, library: OperatorLibrary) -> None:
        self._b = builder
        self._library = library

    def node(self, bound: Bound, width: int) -> Node:
        """A bound value as a node of ``width`` bits."""
        bound = self.resolve(bound)
        if isinstance(bound, Lin):
            return self._b.lin_node(bound, width)
        assert isinstance(bound, Node)
        return bound

    def lin(self, bound: Bound) -> Lin:
        """A bound index value as a linear expression."""
        bound = self.resolve(bound)
        if isinstance(bound, Node):
            return self.as_index(bound, INDEX_RANGE)
        assert isinstance(bound, Lin)
        return bound

    def resolve(self, bound: Bound) -> Node | Lin:
        """Place a deferred operation in the current body."""
        if not isinstance(bound, Deferred):
            assert isinstance(bound, Node | Lin)
            return bound
        key = ("deferred", bound)
        found = self._b.body.unique.get(key)
        if found is None:
            saved = self._b.place
            self._b.place = bound.op.place
            found = self.evaluate(bound.op, bound.operands)
            self._b.place = saved
            self._b.body.unique[key] = found
        return found

    @abstractmethod
    def evaluate(self, op: Op, operands: list[Bound]) -> Node | Lin:
        """The value of a pure operation."""

    # --- operations of the library ------------------------------------------------

    def compute(self, op: Op, nodes: list[Node], types: tuple[str, ...], result: str) -> Node:
        """The value of an operation of the library on nodes of these types."""
        value = fold(op.name, nodes, op.attrs.get("predicate"))
        value = fold_float(op.name, nodes, result) if value is None else value
        if value is not None:
            return self._b.const(value, element_width(result))
        same = sum_with_nothing(op.name, nodes, result)
        if same is not None:
            return same
        operator, name = self.find(op, types, result, nodes), op.name
        if op.name == "arith.subf" and operator.name.startswith(f"fsub_{result}"):
            adder = self._library.find("arith.addf", types, result)
            if adder.name == operator.name.replace("fsub", "fadd", 1):
                # Sums and differences share units: a - b is a + -b.
                operator, name = adder, "arith.addf"
                nodes = [nodes[0], self._b.negative(nodes[1])]
        return self._b.op(
            operator,
            nodes,
            float_op=name in FLOAT_ARITHMETIC,
            name=name,
            impl=op.attrs.get(BINDING, ""),
        )

    def find(
        self, op: Op, types: tuple[str, ...], result: str, nodes: list[Node] | None = None
    ) -> Operator:
        """The library's operator for an operation; its place is in the error.

        Raises:
            UnsupportedOpError: there is none.
        """
        attributes = operand_attributes(op.name, nodes or [], result)
        if "predicate" in op.attrs:
            attributes["predicate"] = op.attrs["predicate"]
        if op.name == "arith.remf" and BINDING in op.attrs:
            attributes["impl"] = op.attrs[BINDING]
        try:
            return self._library.find(op.name, types, result, attributes)
        except UnsupportedOpError as error:
            raise UnsupportedOpError(error.message, op.place, help=error.help) from error

    def multiply(self, a: Lin, b: Lin) -> Lin:
        """A product; hardware where neither side is constant."""
        if a.is_const:
            return scale(b, a.const)
        if b.is_const:
            return scale(a, b.const)
        low, high = _product_range(a, b)
        width = index_width(min(low, *a.bounds(), *b.bounds()), max(high, *a.bounds(), *b.bounds()))
        nodes = self._factor(a, width), self._factor(b, width)
        extended = tuple(extension_of(node) for node in nodes) if width > NARROW_BITS else ()
        attributes: dict[str, Any] = {"extended": extended} if any(extended) else {}
        kind = f"i{width}"
        operator = self._library.find("arith.muli", (kind, kind), kind, attributes)
        return self._b.as_symbol(self._b.op(operator, nodes, name="arith.muli"), low, high)

    def _factor(self, value: Lin, width: int) -> Node:
        """A factor of a product; beyond 32 bits extended from what it needs, so that this is seen."""
        own = bits_signed(*value.bounds())
        if width <= NARROW_BITS or own >= width:
            return self._b.lin_node(value, width)
        return self._b.wire("sext", self._b.lin_node(value, own), width)

    def extreme(self, values: list[Lin], smallest: bool) -> Lin:
        """Minimum or maximum of index values."""
        values = [self.wrapped(value) for value in values]
        result = values[0]
        for value in values[1:]:
            a, b = result.bounds(), value.bounds()
            first_wins = a[1] <= b[0] if smallest else a[0] >= b[1]
            second_wins = b[1] <= a[0] if smallest else b[0] >= a[1]
            if first_wins:
                continue
            if second_wins:
                result = value
                continue
            less = self._b.compare(2, result, value)
            pick = (result, value) if smallest else (value, result)
            low = min(a[0], b[0]) if smallest else max(a[0], b[0])
            high = min(a[1], b[1]) if smallest else max(a[1], b[1])
            result = self.choose(less, *pick, (low, high))
        return result

    def choose(self, condition: Node, a: Lin, b: Lin, limits: Interval | None = None) -> Lin:
        """One index value or another; ``limits`` are what is known of the result."""
        if condition.kind == "const":
            return a if condition.data else b
        a, b = self.wrapped(a), self.wrapped(b)
        bounds = (*a.bounds(), *b.bounds())
        width = index_width(min(bounds), max(bounds))
        node = self._b.select(condition, self._b.lin_node(a, width), self._b.lin_node(b, width))
        return self._b.as_symbol(node, *(limits or (min(bounds), max(bounds))))

    # --- index values ---------------------------------------------------------------

    def less(self, a: Lin, b: Lin) -> Node:
        """Whether one index value is below another."""
        return self._b.compare(2, a, b)

    def compare(self, predicate: int, a: Lin, b: Lin) -> Node:
        """A comparison of index values by MLIR's predicate number."""
        return self._b.compare(predicate, a, b)

    def wrapped(self, value: Lin) -> Lin:
        """An index value modulo its 64 bits."""
        return self._b.wrapped(value)

    def as_index(self, node: Node, limits: Interval) -> Lin:
        """A node as an index value of a range."""
        return self._b.as_symbol(node, *limits)

    def cut(self, node: Node, width: int) -> Node:
        """The low bits of a node."""
        return self._b.wire("slice", node, width)

    def lin_of_width(self, value: Lin, width: int) -> Node:
        """An index value as a node."""
        return self._b.lin_node(value, width)

    def floor_divide(self, value: Lin, divisor: int) -> Lin:
        """An index value by a positive constant, rounded down."""
        return self._b.floor_divide(value, divisor)

    def modulo(self, value: Lin, divisor: int) -> Lin:
        """The remainder of an index value by a positive constant, never negative."""
        return self._b.modulo(value, divisor)


def _product_range(a: Lin, b: Lin) -> Interval:
    found = products(a.bounds(), b.bounds())
    return found if within(found, INDEX_RANGE) else INDEX_RANGE
