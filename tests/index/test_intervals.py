"""Interval arithmetic: every result that numbers of small ranges have lies in what is said of it."""

from __future__ import annotations

from itertools import product

import pytest

from allo.dialects.ranges.interval import (
    INDEX_RANGE,
    OPERATORS,
    combined,
    hull,
    kept,
    of_bits,
    within,
)

NUMBERS = range(-4, 5)
RANGES = [(low, high) for low in NUMBERS for high in NUMBERS if low <= high]


def truncated_remainder(x: int, y: int) -> int:
    size = abs(x) % abs(y)
    return size if x >= 0 else -size


MEANING = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "min": min,
    "max": max,
    "floordiv": lambda x, y: x // y,
    "ceildiv": lambda x, y: -(-x // y),
    "mod": lambda x, y: x % y,
    "rem": truncated_remainder,
    "&": lambda x, y: x & y,
    ">>": lambda x, y: x >> y,
}
TIGHT = ("+", "-", "*", "min", "max", "floordiv", "ceildiv", ">>")


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_interval_holds_every_result(operator: str) -> None:
    known = 0
    for a, b in product(RANGES, RANGES):
        found = combined(operator, a, b)
        if found is None:
            continue
        known += 1
        values = [
            MEANING[operator](x, y) for x in range(a[0], a[1] + 1) for y in range(b[0], b[1] + 1)
        ]
        assert within((min(values), max(values)), found), (a, b, found)
        if operator in TIGHT:
            assert found == (min(values), max(values)), (a, b)
    assert known > len(RANGES)


def test_divisors_that_may_not_be_positive_tell_nothing() -> None:
    for operator in ("floordiv", "ceildiv", "mod", "rem"):
        assert combined(operator, (1, 9), (0, 3)) is None


def test_one_side_alone_tells_of_masks_and_remainders() -> None:
    assert combined("&", None, (0, 7)) == (0, 7)
    assert combined("&", None, (-1, 7)) is None
    assert combined("mod", None, (5, 5)) == (0, 4)
    assert combined("+", None, (0, 0)) is None


def test_a_type_keeps_what_fits_and_nothing_else() -> None:
    assert of_bits(8) == (-128, 127) and of_bits(8, signed=False) == (0, 255)
    assert kept((0, 9), of_bits(8)) == (0, 9)
    assert kept((0, 128), of_bits(8)) == kept(None, of_bits(8)) == (-128, 127)
    assert kept((0, 9), None) == (0, 9) and kept(None, None) is None
    assert hull((1, 2), (-5, 0)) == (-5, 2)
    assert INDEX_RANGE == (-(2**63), 2**63 - 1)
