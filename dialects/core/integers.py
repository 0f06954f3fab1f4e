"""Integer arithmetic of the core IR on numbers known at compile time."""

from __future__ import annotations

import operator
from collections.abc import Callable

PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Predicates of ``arith.cmpi``, by number."""

DIGITS = 4000
"""Digits of a number that Python reads, or writes, at once."""

_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def as_signed(value: int, bits: int) -> int:
    """The low bits of a number, read in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits and value >> (bits - 1) else value


def integer_of_text(text: str) -> int:
    """The number that decimal text of any length stands for; Python reads at most 4,300 digits at once."""
    if len(text) <= DIGITS:
        return int(text)
    if text.startswith("-"):
        return -integer_of_text(text[1:])
    half = len(text) // 2
    scale: int = 10**half
    return integer_of_text(text[:-half]) * scale + integer_of_text(text[-half:])


def truncating_division(a: int, b: int) -> int:
    """Division toward zero, as hardware and C divide."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def is_unsigned(predicate: int) -> bool:
    """Whether a predicate reads the bits of its operands as unsigned numbers."""
    return PREDICATES[predicate].startswith("u")


def relation(predicate: int) -> Callable[[int, int], bool]:
    """What a predicate asks of two numbers, once their bits have been read as it reads them."""
    return _RELATIONS[PREDICATES[predicate][-2:]]
