"""Arithmetic of the core IR to nodes: index values stay linear, the rest goes to the library."""

from __future__ import annotations

from typing import Any

from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.ranges.interval import INDEX_BITS, INDEX_RANGE

from ...graph.linear import add, constant, scale
from ...graph.making import DIVISIONS
from ...graph.nodes import Lin, Node
from ...graph.words import is_zero, top_of
from ..records import Expr, Map, Op, element_width
from . import bits
from .builder import Bound, Deferred
from .index_operations import INDEX_OPS
from .values import Values

_WIRES = {
    "arith.extsi": "sext",
    "arith.extui": "zext",
    "arith.trunci": "slice",
    "arith.bitcast": "slice",
}
_BY_CONSTANTS = frozenset(
    {
        *DIVISIONS,
        "arith.ceildivsi",
        "arith.ceildivui",
        "arith.shli",
        "arith.shrsi",
        "arith.shrui",
    }
)
_SHIFTS = frozenset({"arith.shli", "arith.shrsi", "arith.shrui"})
_NOT_DEFERRED = frozenset({"arith.uitofp", "arith.sitofp", "arith.minui", "arith.maxui"})
MOST_TABLE_BITS = 6
"""Bits of the place in a table that is a shifted constant."""
_UNSIGNED = frozenset({"arith.divui", "arith.remui", "arith.ceildivui", "arith.shrui"})
_PURE_DIALECTS = ("arith.", "math.")
_PURE = frozenset({"affine.apply", "affine.min", "affine.max"})


def is_pure(op: Op) -> bool:
    """Whether an operation only computes a value."""
    return op.name.startswith(_PURE_DIALECTS) or op.name in _PURE


class Arithmetic(Values):
    """Evaluates pure operations in the body a builder fills."""

    def can_defer(self, op: Op, operands: list[Bound]) -> bool:
        """Whether the operation is combinational."""
        if op.name in _WIRES or op.name.startswith("affine.") or op.name == "arith.constant":
            return True
        if "index" in (*op.operand_types, *op.result_types):
            if op.name in _BY_CONSTANTS:
                return _is_constant(operands[1]) and op.name not in _UNSIGNED
            if op.name == "arith.muli":
                return any(_is_constant(o) for o in operands)
            return op.name not in _NOT_DEFERRED
        types = tuple(_data_type(t) for t in op.operand_types)
        return self.find(op, types, _data_type(op.result_types[0])).latency == 0

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
            return self.as_index(result, INDEX_RANGE)
        return result

    def _constant(self, op: Op) -> Node | Lin:
        value = op.attrs["value"]
        if op.result_types[0] == "index":
            return constant(value)
        bits = value[1] if isinstance(value, tuple) else int(value)
        return self._b.const(bits, element_width(str(op.result_types[0])))

    def _data_op(self, op: Op, nodes: list[Node]) -> Node:
        width = element_width(str(op.result_types[0]))
        if op.name == "arith.shrui":
            table = self._table(nodes[0], nodes[1], width)
        elif op.name == "arith.trunci" and nodes[0].op == "arith.shrui":
            table = self._table(nodes[0].operands[0], nodes[0].operands[1], width)
        else:
            table = None
        if table is not None:
            return table
        if op.name in _WIRES:
            return self._b.wire(_WIRES[op.name], nodes[0], width)
        if op.name == "arith.select":
            return self._b.select(nodes[0], nodes[1], nodes[2])
        if op.name in ("arith.addi", "arith.ori", "arith.xori"):
            for node, other in (nodes, nodes[::-1]):
                if is_zero(other):
                    return node
        if op.name in ("arith.andi", "arith.ori") and nodes[0] is nodes[1]:
            return nodes[0]
        wired = self._wired(op.name, nodes)
        if wired is not None:
            return wired
        types = tuple(_data_type(t) for t in op.operand_types)
        return self.compute(op, nodes, types, _data_type(op.result_types[0]))

    def _table(self, words: Node, place: Node, width: int) -> Node | None:
        """The low bits of a constant shifted by a word of few bits, None for any other words."""
        bits = top_of(place)
        if words.kind != "const" or place.kind == "const" or not 1 <= bits <= MOST_TABLE_BITS:
            return None
        if bits >= words.width or place.width not in (words.width, bits):
            return None
        types, given = (f"i{words.width}", f"i{bits}"), {"constants": (words.data, None)}
        operator = self._library.find("arith.shrui", types, f"i{width}", given)
        read = self._b.wire("slice", place, bits)
        return self._b.op(operator, [words, read], name="arith.shrui")

    def _wired(self, name: str, nodes: list[Node]) -> Node | None:
        """An operation that only moves bits, None where it takes logic or is known."""
        if all(node.kind == "const" for node in nodes):
            return None
        if name in _SHIFTS and nodes[1].kind == "const":
            return bits.shifted(self._b, name, nodes[0], nodes[1].data)
        if name == "arith.ori":
            return bits.joined(self._b, *nodes)
        if name == "arith.andi":
            for node, mask in (nodes, nodes[::-1]):
                if mask.kind == "const":
                    return bits.masked(self._b, node, mask.data)
        return None

    def _index_op(self, op: Op, operands: list[Bound]) -> Node | Lin | None:
        handler = INDEX_OPS.get(op.name)
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
            return operands[dims + int(expr[1])]
        left = self.expression(expr[1], operands, dims)
        right = self.expression(expr[2], operands, dims)
        if kind == "+":
            return add(left, right)
        if kind == "*":
            return self.multiply(left, right)
        if kind == "mod":
            return self._b.modulo(self.wrapped(left), right.const)
        if kind == "floordiv":
            return self._b.floor_divide(self.wrapped(left), right.const)
        return scale(self._b.floor_divide(scale(self.wrapped(left), -1), right.const), -1)


def _data_type(kind: Any) -> str:
    """The type of an operand as data."""
    return f"i{INDEX_BITS}" if kind == "index" else str(kind)


def _is_constant(bound: Bound) -> bool:
    if isinstance(bound, Deferred):
        return bound.op.name == "arith.constant"
    return isinstance(bound, Lin) and bound.is_const
