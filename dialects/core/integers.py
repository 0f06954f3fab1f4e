"""Integer arithmetic of the core IR on numbers known at compile time."""

from __future__ import annotations

import operator
from collections.abc import Callable

PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Predicates of ``arith.cmpi``, by number."""

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
