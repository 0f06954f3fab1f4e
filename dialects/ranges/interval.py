"""Interval arithmetic: what integers cannot leave, whatever computes them.

Every analysis of ranges is made of this: of the frontend's expressions, of the core IR
(:mod:`allo.dialects.ranges.values`), of the graph of the RTL back end and of the C++ of the HLS one.
An interval is its least and greatest value. None stands for integers of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

type Interval = tuple[int, int]

INDEX_BITS = 64
"""Bits of an index value on every target."""

_MOST_SHIFTED = 4096
"""Amounts beyond it shift everything out."""


def of_bits(width: int, *, signed: bool = True) -> Interval:
    """What bits can be, in two's complement or without a sign."""
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)


INDEX_RANGE = of_bits(INDEX_BITS)


def within(values: Interval, limits: Interval) -> bool:
    """Whether every value of an interval is in another."""
    return limits[0] <= values[0] and values[1] <= limits[1]


def kept(found: Interval | None, whole: Interval | None) -> Interval | None:
    """What a type leaves of values: all that it has, ``whole``, where one of them may be outside of it."""
    return found if whole is None or (found is not None and within(found, whole)) else whole


def hull(a: Interval, b: Interval) -> Interval:
    """The values of either."""
    return min(a[0], b[0]), max(a[1], b[1])


def summed(a: Interval, b: Interval) -> Interval:
    """Sums."""
    return a[0] + b[0], a[1] + b[1]


def differences(a: Interval, b: Interval) -> Interval:
    """Differences."""
    return a[0] - b[1], a[1] - b[0]


def products(a: Interval, b: Interval) -> Interval:
    """Products."""
    return _at_ends(lambda x, y: x * y, a, b)


def linear(constant: int, terms: Iterable[tuple[Interval, int]]) -> Interval:
    """A constant and multiples: each term is where a value lies, and what it is multiplied by."""
    low = high = constant
    for (least, most), factor in terms:
        ends = factor * least, factor * most
        low += min(ends)
        high += max(ends)
    return low, high


def combined(operator: str, a: Interval | None, b: Interval | None) -> Interval | None:
    """What an operator of :data:`OPERATORS` gives, of any size; None where nothing is known."""
    if operator == "&":
        tops = [side[1] for side in (a, b) if side is not None and side[0] >= 0]
        return (0, min(tops)) if tops else None
    if operator == "mod" and a is None and b is not None and b[0] > 0:
        return 0, b[1] - 1
    return None if a is None or b is None else OPERATORS[operator](a, b)


def _at_ends(rule: Callable[[int, int], int], a: Interval, b: Interval) -> Interval:
    values = [rule(x, y) for x in a for y in b]
    return min(values), max(values)


def _extreme(choose: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval]:
    return lambda a, b: (choose(a[0], b[0]), choose(a[1], b[1]))


def _divided(rule: Callable[[int, int], int]) -> Callable[[Interval, Interval], Interval | None]:
    """A division; None where the divisor may not be positive."""
    return lambda a, b: _at_ends(rule, a, b) if b[0] > 0 else None


def _modulo(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0:
        return None
    if a[0] >= 0 and a[1] < b[0]:
        return a
    return 0, min(a[1], b[1] - 1) if a[0] >= 0 else b[1] - 1


def _remainder(a: Interval, b: Interval) -> Interval | None:
    """Of a division toward zero, with the sign of ``a``."""
    if b[0] <= 0:
        return None
    size = b[1] - 1
    return max(-size, min(a[0], 0)), min(size, max(a[1], 0))


def _shifted(a: Interval, b: Interval) -> Interval | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return a[0] >> min(b[1], _MOST_SHIFTED), a[1] >> min(b[0], _MOST_SHIFTED)


OPERATORS: dict[str, Callable[[Interval, Interval], Interval | None]] = {
    "+": summed,
    "-": differences,
    "*": products,
    "min": _extreme(min),
    "max": _extreme(max),
    "floordiv": _divided(lambda x, y: x // y),
    "ceildiv": _divided(lambda x, y: -(-x // y)),
    "mod": _modulo,
    "rem": _remainder,
    "&": lambda a, b: combined("&", a, b),
    ">>": _shifted,
}

OF_ARITH = {
    "arith.addi": "+",
    "arith.subi": "-",
    "arith.muli": "*",
    "arith.floordivsi": "floordiv",
    "arith.remsi": "rem",
    "arith.andi": "&",
    "arith.minsi": "min",
    "arith.maxsi": "max",
    "arith.shrsi": ">>",
}
"""The operators of operations on signed integers."""
