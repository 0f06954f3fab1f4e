"""Integer operations on constants, and quotients and roots of normal f32, computed at compile time."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from struct import pack, unpack

from allo.dialects.core.integers import as_signed, is_unsigned, relation, truncating_division

from .nodes import Node

SMALLEST, INFINITE = 0x00800000, 0x7F800000
"""Bits of the smallest positive normal f32, and of infinity."""
LEAST = 2.0**-126
"""The smallest positive normal f32."""

NEGATIVE_ZEROS = {"f16": 1 << 15, "bf16": 1 << 15, "f32": 1 << 31, "f64": 1 << 63}

Fold = Callable[[int, int, int], int | None]


def _on_signed(fn: Callable[[int, int], int]) -> Fold:
    return lambda a, b, w: fn(as_signed(a, w), as_signed(b, w))


def _nonzero(fn: Callable[[int, int], int], *, signed: bool) -> Fold:
    def fold(a: int, b: int, width: int) -> int | None:
        if b == 0:
            return None
        return fn(as_signed(a, width), as_signed(b, width)) if signed else fn(a, b)

    return fold


_FOLDS: dict[str, Fold] = {
    "arith.addi": lambda a, b, w: a + b,
    "arith.subi": lambda a, b, w: a - b,
    "arith.muli": lambda a, b, w: a * b,
    "arith.andi": lambda a, b, w: a & b,
    "arith.ori": lambda a, b, w: a | b,
    "arith.xori": lambda a, b, w: a ^ b,
    "arith.shli": lambda a, b, w: a << b if b < w else None,
    "arith.shrui": lambda a, b, w: a >> b if b < w else None,
    "arith.shrsi": lambda a, b, w: as_signed(a, w) >> b if b < w else None,
    "arith.maxsi": _on_signed(max),
    "arith.minsi": _on_signed(min),
    "arith.maxui": lambda a, b, w: max(a, b),
    "arith.minui": lambda a, b, w: min(a, b),
    "arith.divui": _nonzero(lambda a, b: a // b, signed=False),
    "arith.remui": _nonzero(lambda a, b: a % b, signed=False),
    "arith.divsi": _nonzero(truncating_division, signed=True),
    "arith.remsi": _nonzero(lambda a, b: a - b * truncating_division(a, b), signed=True),
    "arith.floordivsi": _nonzero(lambda a, b: a // b, signed=True),
}


def fold(op: str, nodes: list[Node], predicate: int | None) -> int | None:
    """The value of an operation on constant nodes, or None where it must be computed."""
    if len(nodes) != 2 or any(n.kind != "const" for n in nodes):
        return None
    a, b, width = nodes[0].data, nodes[1].data, nodes[0].width
    if op == "arith.cmpi" and predicate is not None:
        if not is_unsigned(predicate):
            a, b = as_signed(a, width), as_signed(b, width)
        return int(relation(predicate)(a, b))
    rule = _FOLDS.get(op)
    return rule(a, b, width) if rule else None


def fold_float(op: str, nodes: list[Node], kind: str) -> int | None:
    """The bits of a square root or a quotient of positive normal constants in f32; None for all else.

    What is computed in f64 and rounded again is the nearest result in f32. A result below the smallest
    normal number before it is rounded is left to a unit: it is a zero where subnormals are flushed.
    """
    if kind != "f32" or op not in ("math.sqrt", "arith.divf"):
        return None
    if not all(node.kind == "const" and SMALLEST <= node.data < INFINITE for node in nodes):
        return None
    values = [unpack("<f", pack("<I", node.data))[0] for node in nodes]
    exact = sqrt(values[0]) if len(values) == 1 else values[0] / values[1]
    if exact < LEAST:
        return None
    try:
        return int(unpack("<I", pack("<f", exact))[0])
    except OverflowError:
        return None


def sum_with_nothing(op: str, nodes: list[Node], kind: str) -> Node | None:
    """What a float sum with a constant -0 is: its other operand, where that is a result of arithmetic.

    Of any other one, a unit would change a NaN, and could flush a subnormal.
    """
    if op != "arith.addf" or kind not in NEGATIVE_ZEROS:
        return None
    for nothing, other in (nodes, nodes[::-1]):
        if nothing.kind == "const" and nothing.data == NEGATIVE_ZEROS[kind] and other.float_op:
            return other
    return None
