"""Integer operations on constants, computed at compile time."""

from __future__ import annotations

from collections.abc import Callable

from allo.dialects.core.integers import as_signed, is_unsigned, relation, truncating_division

from .nodes import Node

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
