"""Integer operations on constants, computed at compile time."""

from __future__ import annotations

from collections.abc import Callable

from .graph import Node

Fold = Callable[[int, int, int], int | None]


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def _truncating(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def _on_signed(fn: Callable[[int, int], int]) -> Fold:
    return lambda a, b, w: fn(_signed(a, w), _signed(b, w))


def _nonzero(fn: Callable[[int, int], int], *, signed: bool) -> Fold:
    def fold(a: int, b: int, width: int) -> int | None:
        if b == 0:
            return None
        return fn(_signed(a, width), _signed(b, width)) if signed else fn(a, b)

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
    "arith.shrsi": lambda a, b, w: _signed(a, w) >> b if b < w else None,
    "arith.maxsi": _on_signed(max),
    "arith.minsi": _on_signed(min),
    "arith.maxui": lambda a, b, w: max(a, b),
    "arith.minui": lambda a, b, w: min(a, b),
    "arith.divui": _nonzero(lambda a, b: a // b, signed=False),
    "arith.remui": _nonzero(lambda a, b: a % b, signed=False),
    "arith.divsi": _nonzero(_truncating, signed=True),
    "arith.remsi": _nonzero(lambda a, b: a - b * _truncating(a, b), signed=True),
    "arith.floordivsi": _nonzero(lambda a, b: a // b, signed=True),
}
_COMPARISONS: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)


def fold(op: str, nodes: list[Node], predicate: int | None) -> int | None:
    """The value of an operation on constant nodes, or None where it must be computed."""
    if len(nodes) != 2 or any(n.kind != "const" for n in nodes):
        return None
    a, b, width = nodes[0].data, nodes[1].data, nodes[0].width
    if op == "arith.cmpi" and predicate is not None:
        if predicate < 6:
            return int(_COMPARISONS[predicate](_signed(a, width), _signed(b, width)))
        return int(_COMPARISONS[predicate - 4](a, b))
    rule = _FOLDS.get(op)
    return rule(a, b, width) if rule else None
