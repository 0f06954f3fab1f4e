"""Constants as sums of powers of two, added or subtracted: what a product by a constant is made of."""

from __future__ import annotations


def signed_digits(value: int) -> list[tuple[int, int]]:
    """A number as a sum of 1 or -1 at places of which no two are next to each other, the lowest first.

    No other sum of powers of two, added or subtracted, is shorter.
    """
    found: list[tuple[int, int]] = []
    place = 0
    while value:
        if value & 1:
            digit = 2 - (value & 3)
            found.append((place, digit))
            value -= digit
        value >>= 1
        place += 1
    return found
