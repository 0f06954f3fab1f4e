"""What the bounds of loops say about index expressions: triangular loops keep subscripts apart.

A counter known only at run time lies between linear expressions of outer symbols. Putting a bound in
place of the counter, innermost first, gives the extremes of an expression: ``i - j`` for ``j < i`` is
at least 1, though the ranges of i and j alone would allow 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from .linear import add, constant, scale, subtract
from .nodes import Lin, Node

OPTIONS = 16
"""Bounds tried for one expression; each is valid by itself, more only make it tighter."""


def always_apart(x: Lin, y: Lin) -> bool:
    """Whether two values of one iteration are never equal."""
    difference = subtract(x, y)
    if not any(_bounded(node) for node, _ in difference.terms):
        return False
    return _lowest(difference) > 0 or _lowest(scale(difference, -1)) > 0


def apart_across(x: Lin, y: Lin, varies: Callable[[Node], bool]) -> bool:
    """Whether two values are never equal, also where those symbols that vary differ between them."""
    return _lowest_gap(x, y, varies) > 0 or _lowest_gap(y, x, varies) > 0


def _lowest_gap(x: Lin, y: Lin, varies: Callable[[Node], bool]) -> int:
    """The least value of ``x - y``, as far as bounds tell."""
    lows = _minima(x, varies)
    highs = [scale(low, -1) for low in _minima(scale(y, -1), varies)]
    return max(_lowest(subtract(low, high)) for low in lows for high in highs)


def _lowest(expression: Lin) -> int:
    return max(low.const for low in _minima(expression, lambda _: True))


def _minima(expression: Lin, replaced: Callable[[Node], bool]) -> list[Lin]:
    """Lower bounds of an expression in the symbols that are not replaced."""
    open_ones, closed = [expression], []
    while open_ones:
        current = open_ones.pop()
        inner = max((t for t in current.terms if replaced(t[0])), key=_number, default=None)
        if inner is None:
            closed.append(current)
            continue
        node, factor = inner
        rest = subtract(current, Lin(0, (inner,)))
        room = OPTIONS - len(open_ones) - len(closed)
        for bound in islice(_bounds(node, factor), max(1, room)):
            open_ones.append(add(rest, bound))
    return closed


def _number(term: tuple[Node, int]) -> int:
    return term[0].number


def _bounds(node: Node, factor: int) -> Iterator[Lin]:
    """Lower bounds of ``factor * node``."""
    yield constant(factor * (node.low if factor > 0 else node.high))
    if factor % node.stride == 0:
        for bound in node.floors if factor > 0 else node.ceilings:
            yield scale(bound, factor // node.stride)


def _bounded(node: Node) -> bool:
    return bool(node.floors or node.ceilings)
