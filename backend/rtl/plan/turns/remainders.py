"""Remainders in subscripts: what ``(t + 1) % 4`` and ``(t + 3) % 4`` say of each other.

The remainder of x by d is ``x - d * q`` with a whole number q. An expression with remainders therefore is
known up to a multiple of some modulus, as a linear expression without them. Two such expressions differ
where the difference of these is no multiple of the modulus and of what else may change.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from ...graph.linear import add, scale, subtract
from ...graph.nodes import Lin, Node


def without_remainders(expression: Lin) -> tuple[Lin, int]:
    """An expression of counters that differs from one with remainders by a multiple of a modulus.

    Returns:
        The expression, and the modulus: 0 where there are no remainders and the two are equal.
    """
    if not has_remainder(expression):
        return expression, 0
    modulus, found = 0, Lin(expression.const)
    for node, factor in expression.terms:
        if node.rest_of is None:
            found = add(found, Lin(0, ((node, factor),)))
            continue
        inner, divisor = node.rest_of
        plain, deeper = without_remainders(inner)
        modulus = gcd(modulus, factor * divisor, factor * deeper)
        found = add(found, scale(plain, factor))
    return found, modulus


def has_remainder(expression: Lin) -> bool:
    """Whether an expression has a remainder among its symbols."""
    return any(node.rest_of is not None for node, _ in expression.terms)


def rests_apart(x: Lin, y: Lin) -> bool:
    """Whether two values of one iteration are never equal, because of remainders in them."""
    difference, modulus = without_remainders(subtract(x, y))
    return bool(modulus) and _is_no_multiple(difference, modulus)


def rests_apart_across(x: Lin, y: Lin, varies: Callable[[Node], bool]) -> bool:
    """The same, also where those symbols that vary differ between the two values."""
    row = modular_row(x, y, varies, lambda _: 0)
    return row is not None and row[1] % row[2] != 0


def modular_row(
    x: Lin, y: Lin, varies: Callable[[Node], bool], step: Callable[[Node], int]
) -> tuple[dict[int, int], int, int] | None:
    """What equal values of ``x`` in one iteration and of ``y`` in another ask of the way between these.

    Args:
        varies: whether a symbol may differ between the iterations.
        step: how far a counter moves in one iteration of its loop, 0 for what is no counter of the nest.

    Returns:
        ``coefficients``, by counter, ``right`` and ``modulus``: the sum of the coefficients, each times the
        iterations between the two, is ``right`` up to a multiple of ``modulus``. None where no modulus is
        known.
    """
    if not (has_remainder(x) or has_remainder(y)):
        return None
    (first, one), (second, other) = without_remainders(x), without_remainders(y)
    modulus = gcd(one, other)
    if not modulus:
        return None
    mine = {node.number: (node, factor) for node, factor in first.terms}
    coefficients: dict[int, int] = {}
    for node, factor in second.terms:
        _, same = mine.pop(node.number, (node, 0))
        if varies(node) and not step(node):
            modulus = gcd(modulus, factor, same)
            continue
        modulus = gcd(modulus, factor - same)
        if step(node):
            coefficients[node.number] = factor * step(node)
    for _, factor in mine.values():
        modulus = gcd(modulus, factor)
    right = first.const - second.const
    return {number: k % modulus for number, k in coefficients.items()}, right, modulus


def _is_no_multiple(expression: Lin, modulus: int) -> bool:
    """Whether an expression is never a multiple of a modulus."""
    for _, factor in expression.terms:
        modulus = gcd(modulus, factor)
    return expression.const % modulus != 0
