"""Whether two index values may be equal, of one iteration or of any two."""

from __future__ import annotations

from math import gcd

from ...graph.linear import common_factor, subtract
from ...graph.nodes import Lin
from ...graph.ranges import always_apart
from ..turns.remainders import rests_apart, rests_apart_across


def may_equal(x: Lin, y: Lin) -> bool:
    """Whether two index values of one iteration may be equal."""
    difference = subtract(x, y)
    low, high = difference.bounds()
    if low > 0 or high < 0 or always_apart(x, y) or rests_apart(x, y):
        return False
    step = common_factor(difference)
    if step and difference.const % step:
        return False
    return not (difference.is_const and difference.const)


def separate(x: Lin, y: Lin) -> bool:
    """Whether ranges or divisibility keep two subscripts apart in all iterations."""
    a, b = x.bounds(), y.bounds()
    if a[1] < b[0] or b[1] < a[0]:
        return True
    step = gcd(common_factor(x), common_factor(y))
    if step and (x.const - y.const) % step:
        return True
    return rests_apart_across(x, y, lambda _: True)
