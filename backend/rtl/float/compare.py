"""Comparison, minimum and maximum."""

from __future__ import annotations

from allo.backend.rtl.operators.netlist import Signal, mux

from .formats import FloatFormat
from .parts import Unpacked, flushed, unpack

PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
"""``arith.cmpf`` predicates by number."""


def compare(a: Signal, b: Signal, kind: FloatFormat, predicate: str) -> Signal:
    """The bit ``arith.cmpf`` gives: predicates starting with ``u`` also hold on NaN."""
    if predicate in ("true", "false"):
        return a.net.const(int(predicate == "true"), 1)
    left, right = unpack(a, kind), unpack(b, kind)
    unordered = left.nan | right.nan
    if predicate in ("ord", "uno"):
        return unordered if predicate == "uno" else ~unordered
    relation = predicate[1:]
    if relation in ("gt", "ge"):
        left, right, relation = right, left, {"gt": "lt", "ge": "le"}[relation]
    zeros = left.zero & right.zero
    equal = zeros | (left.magnitude.eq(right.magnitude) & ~(left.sign ^ right.sign))
    less = _ordered_less(left, right) & ~zeros
    holds = {"eq": equal, "ne": ~equal, "lt": less, "le": less | equal}[relation]
    return holds | unordered if predicate[0] == "u" else holds & ~unordered


def _ordered_less(left: Unpacked, right: Unpacked) -> Signal:
    """Less in the order of bit patterns, in which -0 is below +0."""
    below = left.magnitude.ult(right.magnitude)
    above = ~below & left.magnitude.ne(right.magnitude)
    return mux(left.sign ^ right.sign, left.sign, mux(left.sign, above, below))


def extremum(a: Signal, b: Signal, kind: FloatFormat, *, maximum: bool, number: bool) -> Signal:
    """The smaller or larger operand, -0 below +0.

    A NaN operand makes the result NaN, or the other operand where ``number`` is asked for.
    """
    a, b = flushed(a, kind), flushed(b, kind)
    left, right = unpack(a, kind), unpack(b, kind)
    less = _ordered_less(left, right)
    chosen = mux(less ^ a.net.const(int(maximum), 1), a, b)
    nan = a.net.const(kind.nan, kind.width)
    if number:
        one = mux(left.nan, mux(right.nan, nan, b), a)
        return mux(left.nan | right.nan, one, chosen)
    return mux(left.nan | right.nan, nan, chosen)
