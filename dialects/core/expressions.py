"""Affine expressions, walked in one place.

:func:`fold` computes something of every part of an expression from the inside out: a function of
each leaf (a dimension, a symbol or a constant), joined by a function of each operator. The rest of
this module, and every other reader of affine expressions, is a choice of these two functions::

    fold(d0 * 4 + s0, leaf, join)  =  join("+", join("*", leaf(d0), leaf(4)), leaf(s0))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .._mlir import ir

type Formula[E] = Callable[[E], int]
"""A number computed from an environment."""

_OPERATOR_OF: dict[type, str] = {
    ir.AffineAddExpr: "+",
    ir.AffineMulExpr: "*",
    ir.AffineModExpr: "mod",
    ir.AffineFloorDivExpr: "floordiv",
    ir.AffineCeilDivExpr: "ceildiv",
}

_BUILDERS: dict[str, Callable[[ir.AffineExpr, ir.AffineExpr], ir.AffineExpr]] = {
    "+": ir.AffineExpr.get_add,
    "*": ir.AffineExpr.get_mul,
    "mod": ir.AffineExpr.get_mod,
    "floordiv": ir.AffineExpr.get_floor_div,
    "ceildiv": ir.AffineExpr.get_ceil_div,
}

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "mod": lambda a, b: a % b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
}
"""What the operators of affine expressions compute."""


def fold[T](
    expr: ir.AffineExpr,
    leaf: Callable[[ir.AffineExpr], T],
    join: Callable[[str, T, T], T],
) -> T:
    """What ``leaf`` gives for dims, symbols and constants, put together by ``join``.

    Args:
        join: takes an operator, one of :data:`OPERATORS`, and what its two sides gave.
    """
    operator = _OPERATOR_OF.get(type(expr))
    if operator is None:
        return leaf(expr)
    return join(operator, fold(expr.lhs, leaf, join), fold(expr.rhs, leaf, join))


def leaves[T](
    dims: Callable[[int], T], symbols: Callable[[int], T], constant: Callable[[int], T]
) -> Callable[[ir.AffineExpr], T]:
    """A leaf function: of the position of a dim or symbol, of the value of a constant."""

    def leaf(expr: ir.AffineExpr) -> T:
        if isinstance(expr, ir.AffineConstantExpr):
            return constant(expr.value)
        if isinstance(expr, ir.AffineDimExpr):
            return dims(expr.position)
        if isinstance(expr, ir.AffineSymbolExpr):
            return symbols(expr.position)
        raise TypeError(f"{expr} is an affine expression of a kind that MLIR has not had so far")

    return leaf


def leaves_of(expr: ir.AffineExpr) -> Iterator[ir.AffineExpr]:
    """The dims, symbols and constants of an expression, from left to right."""
    if type(expr) not in _OPERATOR_OF:
        yield expr
        return
    yield from leaves_of(expr.lhs)
    yield from leaves_of(expr.rhs)


def rebuild_expression(
    expr: ir.AffineExpr, leaf: Callable[[ir.AffineExpr], ir.AffineExpr]
) -> ir.AffineExpr:
    """``expr`` with each dim and symbol replaced by ``leaf(it)``."""

    def kept(part: ir.AffineExpr) -> ir.AffineExpr:
        return part if isinstance(part, ir.AffineConstantExpr) else leaf(part)

    return fold(expr, kept, lambda operator, a, b: _BUILDERS[operator](a, b))


def formula[E](
    expr: ir.AffineExpr, dims: Sequence[Formula[E]], symbols: Sequence[Formula[E]]
) -> Formula[E]:
    """How to compute an expression from an environment, given how to compute dims and symbols."""
    leaf = leaves(dims.__getitem__, symbols.__getitem__, _number)
    found: Formula[E] = fold(expr, leaf, _combined)
    return found


def _number[E](value: int) -> Formula[E]:
    return lambda env: value


def _combined[E](operator: str, a: Formula[E], b: Formula[E]) -> Formula[E]:
    if operator == "+":
        return lambda env: a(env) + b(env)
    if operator == "*":
        return lambda env: a(env) * b(env)
    if operator == "mod":
        return lambda env: a(env) % b(env)
    if operator == "floordiv":
        return lambda env: a(env) // b(env)
    return lambda env: -(-a(env) // b(env))


type Form = tuple[list[int], int]
"""A linear expression: the coefficient of each dim, and the constant."""


def linear_form(expr: ir.AffineExpr, count: int) -> Form | None:
    """An expression of ``count`` dims as coefficients and a constant.

    None where it is not linear, and where it has a symbol.
    """
    leaf = leaves(lambda k: unit_form(k, count), lambda _: None, lambda value: ([0] * count, value))
    return fold(expr, leaf, join_linear)


def unit_form(position: int, count: int) -> Form | None:
    """One dim of ``count`` as a linear expression."""
    return [int(k == position) for k in range(count)], 0


def join_linear(operator: str, left: Form | None, right: Form | None) -> Form | None:
    """What an operator makes of two linear expressions; None where that is not linear."""
    if left is None or right is None:
        return None
    if operator == "+":
        return [a + b for a, b in zip(left[0], right[0], strict=True)], left[1] + right[1]
    if operator != "*":
        return None
    if any(right[0]):
        left, right = right, left
    if any(right[0]):
        return None
    return [a * right[1] for a in left[0]], left[1] * right[1]
