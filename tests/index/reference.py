"""Integer expressions of the language in plain Python, typed by the tables of docs/language.md.

A value is a pair of a number and a type, ``("x", 64)`` for an index, ``("i", b)`` and ``("u", b)`` for
Int(b) and UInt(b). Nothing here is shared with the compiler.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

Kind = tuple[str, int]
Value = tuple[int, Kind]
INDEX: Kind = ("x", 64)
BIT: Kind = ("u", 1)


def wrap(number: int, kind: Kind) -> int:
    """A number reduced to a type."""
    sign, bits = kind
    number &= (1 << bits) - 1
    signed = sign != "u" and bits > 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    """The value of an expression."""
    return _value(ast.parse(text.strip(), mode="eval").body, names)


def _value(node: ast.expr, names: Mapping[str, Value]) -> Value:
    if isinstance(node, ast.Constant):
        bits = 32
        while not -(1 << (bits - 1)) <= node.value < 1 << (bits - 1):
            bits *= 2
        return node.value, ("i", bits)
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.UnaryOp):
        number, (sign, bits) = _value(node.operand, names)
        kind = ("i", bits) if sign == "u" else (sign, bits)
        return wrap(-number, kind), kind
    if isinstance(node, ast.Compare):
        left, right = _value(node.left, names), _value(node.comparators[0], names)
        return int(_COMPARE[type(node.ops[0])](left[0], right[0])), BIT
    assert isinstance(node, ast.BinOp)
    return _OPERATIONS[type(node.op)](_value(node.left, names), _value(node.right, names))


def _counted(kind: Kind) -> tuple[bool, int]:
    """(whether signed, bits) as the tables count: an index is 32 bits unsigned there."""
    return (False, 32) if kind[0] == "x" else (kind[0] == "i", kind[1])


def _joined(left: Kind, right: Kind, growth: int) -> Kind:
    if left[0] == right[0] == "x":
        return INDEX
    (s1, b1), (s2, b2) = _counted(left), _counted(right)
    if s1 or s2:
        return "i", max(b1 + (not s1), b2 + (not s2)) + growth
    return "u", max(b1, b2) + growth


def _product(left: Kind, right: Kind) -> Kind:
    if left[0] == right[0] == "x":
        return INDEX
    (s1, b1), (s2, b2) = _counted(left), _counted(right)
    return ("i" if s1 or s2 else "u"), b1 + b2


def _quotient(left: Kind, right: Kind) -> Kind:
    if left[0] == "x":
        return ("i", 32) if right[0] == "i" else INDEX
    signed = "i" in (left[0], right[0])
    return ("i" if signed else "u"), left[1]


def _bits(left: Kind, right: Kind) -> Kind:
    if left[0] == right[0] == "x":
        return INDEX
    (s1, b1), (s2, b2) = _counted(left), _counted(right)
    return ("i" if s1 or s2 else "u"), max(b1, b2)


def _wrapping(compute: Callable[[int, int], int], kind_of: Callable[[Kind, Kind], Kind]):
    def run(left: Value, right: Value) -> Value:
        kind = kind_of(left[1], right[1])
        return wrap(compute(left[0], right[0]), kind), kind

    return run


def _floored(a: int, b: int) -> int:
    return a // b if b else -1


def _truncated(a: int, b: int) -> int:
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - b * _truncated(a, b) if b else a


def _shifted(op: str):
    def run(left: Value, right: Value) -> Value:
        number, kind = left
        amount = right[0]
        if not 0 <= amount < kind[1]:
            return (-1 if op == ">>" and number < 0 else 0), kind
        return wrap(number << amount if op == "<<" else number >> amount, kind), kind

    return run


_OPERATIONS = {
    ast.Add: _wrapping(operator.add, lambda a, b: _joined(a, b, 1)),
    ast.Sub: _wrapping(operator.sub, lambda a, b: _joined(a, b, 1)),
    ast.Mult: _wrapping(operator.mul, _product),
    ast.FloorDiv: _wrapping(_floored, _quotient),
    ast.Div: _wrapping(_truncated, _quotient),
    ast.Mod: _wrapping(_remainder, lambda a, b: _joined(a, b, 0)),
    ast.LShift: _shifted("<<"),
    ast.RShift: _shifted(">>"),
    ast.BitAnd: _wrapping(operator.and_, _bits),
    ast.BitOr: _wrapping(operator.or_, _bits),
    ast.BitXor: _wrapping(operator.xor, _bits),
}
_COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
