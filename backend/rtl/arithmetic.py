"""Arithmetic of the core IR to nodes: index values stay linear, the rest goes to the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from allo.dialects.diagnostics import UnsupportedOpError

from .builder import INDEX_BITS, INDEX_HIGH, INDEX_LOW, Bound, Builder, Deferred
from .fold import fold
from .graph import Node
from .linear import Lin, add, constant, scale, subtract
from .operators.spec import Operator
from .read import Expr, Map, Op, element_width

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
_WIRES = {
    "arith.extsi": "sext",
    "arith.extui": "zext",
    "arith.trunci": "slice",
    "arith.bitcast": "slice",
}
_DIVISIONS = frozenset(
    f"arith.{name}" for name in ("divui", "divsi", "remui", "remsi", "floordivsi")
)
_CONSTANT_MATTERS = _DIVISIONS | {"arith.shli", "arith.shrsi", "arith.shrui", "arith.muli"}
_PURE_DIALECTS = ("arith.", "math.")


class Library(Protocol):
    """What is asked of the operator library."""

    def find(
        self,
        op: str,
        operand_types: tuple[str, ...],
        result_type: str,
        attributes: dict[str, Any] | None = None,
    ) -> Operator: ...


def is_pure(op: Op) -> bool:
    """Whether an operation only computes a value."""
    return op.name.startswith(_PURE_DIALECTS) or op.name in (
        "affine.apply",
        "affine.min",
        "affine.max",
    )


class Arithmetic:
    """Evaluates pure operations in the body a builder fills."""

    def __init__(self, builder: Builder, library: Library) -> None:
        self._b = builder
        self._library = library

    # --- bound values ------------------------------------------------------

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
            return self._b.as_symbol(bound, INDEX_LOW, INDEX_HIGH)
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

    def can_defer(self, op: Op, operands: list[Bound]) -> bool:
        """Whether the operation is combinational."""
        if op.name in _WIRES or op.name.startswith("affine.") or op.name == "arith.constant":
            return True
        if "index" in (*op.operand_types, *op.result_types):
            if op.name in _DIVISIONS:
                return _is_constant(operands[1])
            if op.name == "arith.muli":
                return any(_is_constant(o) for o in operands)
            return op.name not in ("arith.uitofp", "arith.sitofp")
        return self._find(op).latency == 0

    # --- operations --------------------------------------------------------

    def evaluate(self, op: Op, operands: list[Bound]) -> Node | Lin:
        """The value of a pure operation."""
        if op.name == "arith.constant":
            return self._constant(op)
        if op.name == "affine.apply":
            return self.expressions(op.attrs["map"], [self.lin(o) for o in operands])[0]
        if op.name in ("affine.min", "affine.max"):
            values = self.expressions(op.attrs["map"], [self.lin(o) for o in operands])
            return self.extreme(values, op.name == "affine.min")
        if op.result_types[0] == "index" or op.operand_types[0] == "index":
            found = self._index_op(op, operands)
            if found is not None:
                return found
        widths = [element_width(str(t)) for t in op.operand_types]
        nodes = [self.node(o, w) for o, w in zip(operands, widths, strict=True)]
        result = self._data_op(op, nodes)
        if op.result_types[0] == "index":
            return self._b.as_symbol(result, INDEX_LOW, INDEX_HIGH)
        return result

    def _constant(self, op: Op) -> Node | Lin:
        value = op.attrs["value"]
        if op.result_types[0] == "index":
            return constant(value)
        bits = value[1] if isinstance(value, tuple) else int(value)
        return self._b.const(bits, element_width(str(op.result_types[0])))

    def _data_op(self, op: Op, nodes: list[Node]) -> Node:
        width = element_width(str(op.result_types[0]))
        if op.name in _WIRES:
            return self._b.wire(_WIRES[op.name], nodes[0], width)
        if op.name == "arith.select":
            return self._b.select(nodes[0], nodes[1], nodes[2])
        if op.name in ("arith.addi", "arith.ori", "arith.xori") and _is_zero(nodes[1]):
            return nodes[0]
        if op.name in ("arith.andi", "arith.ori") and nodes[0] is nodes[1]:
            return nodes[0]
        value = fold(op.name, nodes, op.attrs.get("predicate"))
        if value is not None:
            return self._b.const(value, width)
        operator = self._find(op, nodes)
        return self._b.op(operator, nodes, float_op=op.name in FLOAT_ARITHMETIC)

    def _find(self, op: Op, nodes: list[Node] | None = None) -> Operator:
        operand_types = tuple("i32" if t == "index" else str(t) for t in op.operand_types)
        result = "i32" if op.result_types[0] == "index" else str(op.result_types[0])
        attributes: dict[str, Any] = {}
        if "predicate" in op.attrs:
            attributes["predicate"] = op.attrs["predicate"]
        if nodes and op.name in _CONSTANT_MATTERS and any(n.kind == "const" for n in nodes):
            attributes["constants"] = tuple(n.data if n.kind == "const" else None for n in nodes)
        if nodes and op.name == "arith.muli":
            extended = tuple(_extension(node) for node in nodes)
            if any(extended):
                attributes["extended"] = extended
        try:
            return self._library.find(op.name, operand_types, result, attributes)
        except UnsupportedOpError as error:
            raise UnsupportedOpError(error.message, op.place, help=error.help) from error

    def _index_op(self, op: Op, operands: list[Bound]) -> Node | Lin | None:
        handler = _INDEX_OPS.get(op.name)
        if handler is None:
            return None
        return handler(self, op, operands)

    @staticmethod
    def unsupported(op: Op, message: str) -> UnsupportedOpError:
        """An error at an operation."""
        return UnsupportedOpError(message, op.place, help="use a constant there.")

    # --- affine ------------------------------------------------------------

    def expressions(self, affine_map: Map, operands: list[Lin]) -> list[Lin]:
        """The results of an affine map on its operands, dims first."""
        return [self.expression(e, operands, affine_map.dims) for e in affine_map.results]

    def expression(self, expr: Expr, operands: list[Lin], dims: int) -> Lin:
        """One affine expression."""
        kind = expr[0]
        if kind == "c":
            return constant(expr[1])
        if kind == "d":
            return operands[expr[1]]
        if kind == "s":
            return operands[dims + expr[1]]
        left = self.expression(expr[1], operands, dims)
        right = self.expression(expr[2], operands, dims)
        if kind == "+":
            return add(left, right)
        if kind == "*":
            return self.multiply(left, right)
        if kind == "mod":
            return self._b.modulo(left, right.const)
        if kind == "floordiv":
            return self._b.floor_divide(left, right.const)
        return scale(self._b.floor_divide(scale(left, -1), right.const), -1)

    def multiply(self, a: Lin, b: Lin) -> Lin:
        """A product; hardware where neither side is constant."""
        if a.is_const:
            return scale(b, a.const)
        if b.is_const:
            return scale(a, b.const)
        nodes = self._b.lin_node(a, INDEX_BITS), self._b.lin_node(b, INDEX_BITS)
        operator = self._library.find("arith.muli", ("i32", "i32"), "i32", {})
        low, high = _product_range(a, b)
        return self._b.as_symbol(self._b.op(operator, nodes), low, high)

    def extreme(self, values: list[Lin], smallest: bool) -> Lin:
        """Minimum or maximum of index values."""
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
            nodes = [self._b.lin_node(p, INDEX_BITS) for p in pick]
            result = self._b.as_symbol(self._b.select(less, *nodes), low, high)
        return result


def _extension(node: Node) -> tuple[str, int] | None:
    """How a node was made wide, and from how many bits; None when it was not."""
    if node.kind != "wire" or node.data[0] not in ("sext", "zext"):
        return None
    return ("s" if node.data[0] == "sext" else "u"), node.operands[0].width


def _is_zero(node: Node) -> bool:
    return node.kind == "const" and node.data == 0


def _product_range(a: Lin, b: Lin) -> tuple[int, int]:
    corners = [x * y for x in a.bounds() for y in b.bounds()]
    return max(min(corners), INDEX_LOW), min(max(corners), INDEX_HIGH)


# --- operations on index values -------------------------------------------------


def _index_cast(self: Arithmetic, op: Op, operands: list[Bound]) -> Node | Lin:
    signed = op.name == "arith.index_cast"
    source, target = str(op.operand_types[0]), str(op.result_types[0])
    if source != "index":
        width = element_width(source)
        node = self.node(operands[0], width)
        if width > INDEX_BITS:
            node, width = self._b.wire("slice", node, INDEX_BITS), INDEX_BITS
        if signed or width == INDEX_BITS:
            low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
        else:
            low, high = 0, (1 << width) - 1
        return self._b.as_symbol(node, low, high)
    width = element_width(target)
    return self._b.lin_node(self.lin(operands[0]), width)


def _binary(fn: Callable[[Lin, Lin], Lin]) -> Callable[[Arithmetic, Op, list[Bound]], Lin]:
    def run(self: Arithmetic, op: Op, operands: list[Bound]) -> Lin:
        return fn(self.lin(operands[0]), self.lin(operands[1]))

    return run


def _is_constant(bound: Bound) -> bool:
    if isinstance(bound, Deferred):
        return bound.op.name == "arith.constant"
    return isinstance(bound, Lin) and bound.is_const


def _multiply(self: Arithmetic, op: Op, operands: list[Bound]) -> Lin:
    return self.multiply(self.lin(operands[0]), self.lin(operands[1]))


def _compare(self: Arithmetic, op: Op, operands: list[Bound]) -> Node:
    return self._b.compare(op.attrs["predicate"], self.lin(operands[0]), self.lin(operands[1]))


def _extreme(self: Arithmetic, op: Op, operands: list[Bound]) -> Lin:
    return self.extreme([self.lin(o) for o in operands], op.name.startswith("arith.min"))


def _floor(self: Arithmetic, op: Op, operands: list[Bound]) -> Lin | None:
    a, b = self.lin(operands[0]), self.lin(operands[1])
    truncating = op.name in ("arith.divsi", "arith.remsi")
    if not b.is_const or b.const <= 0 or (a.bounds()[0] < 0 and truncating):
        return None
    if op.name in ("arith.divui", "arith.remui") and a.bounds()[0] < 0:
        return None
    if "rem" in op.name:
        return self._b.modulo(a, b.const)
    return self._b.floor_divide(a, b.const)


def _shift_left(self: Arithmetic, op: Op, operands: list[Bound]) -> Lin | None:
    amount = self.lin(operands[1])
    return scale(self.lin(operands[0]), 1 << amount.const) if amount.is_const else None


def _select(self: Arithmetic, op: Op, operands: list[Bound]) -> Lin | None:
    if op.result_types[0] != "index":
        return None
    condition = self.node(operands[0], 1)
    a, b = self.lin(operands[1]), self.lin(operands[2])
    if condition.kind == "const":
        return a if condition.data else b
    nodes = self._b.lin_node(a, INDEX_BITS), self._b.lin_node(b, INDEX_BITS)
    low = min(a.bounds()[0], b.bounds()[0])
    high = max(a.bounds()[1], b.bounds()[1])
    return self._b.as_symbol(self._b.select(condition, *nodes), low, high)


_INDEX_OPS: dict[str, Callable[[Arithmetic, Op, list[Bound]], Node | Lin | None]] = {
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast,
    "arith.addi": _binary(add),
    "arith.subi": _binary(subtract),
    "arith.muli": _multiply,
    "arith.cmpi": _compare,
    "arith.minsi": _extreme,
    "arith.maxsi": _extreme,
    "arith.divsi": _floor,
    "arith.divui": _floor,
    "arith.floordivsi": _floor,
    "arith.remsi": _floor,
    "arith.remui": _floor,
    "arith.shli": _shift_left,
    "arith.select": _select,
}
