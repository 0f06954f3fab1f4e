"""Index arithmetic: linear expressions over loop counters, with floor division and remainder.

Addresses, banks and loop bounds are kept in this form, so that a bank known at compile time is
found, memory dependences are exact, and hardware is only as wide as the values need.
"""

from __future__ import annotations

from math import gcd

from allo.dialects.ranges.interval import INDEX_BITS, of_bits, within

from .nodes import Lin, Node

NARROW_BITS = 32
"""The width of run-time index values known to fit in it; wider ones have as many bits as they need."""
NARROW_RANGE = of_bits(NARROW_BITS)


def index_width(low: int, high: int) -> int:
    """Bits for run-time index values of a range, their sign included; at most those of an index."""
    if within((low, high), NARROW_RANGE):
        return NARROW_BITS
    return min(INDEX_BITS, bits_signed(low, high))


def constant(value: int) -> Lin:
    """The expression of a constant."""
    return Lin(value)


def symbol(node: Node, factor: int = 1, const: int = 0) -> Lin:
    """The expression ``factor * node + const``."""
    return Lin(const, ((node, factor),))


def add(a: Lin, b: Lin) -> Lin:
    """The sum of two expressions, without terms that cancel."""
    if not b.terms:
        return Lin(a.const + b.const, a.terms) if b.const else a
    if not a.terms:
        return Lin(a.const + b.const, b.terms) if a.const else b
    merged: dict[int, tuple[Node, int]] = {node.number: (node, k) for node, k in a.terms}
    for node, factor in b.terms:
        old = merged.get(node.number)
        merged[node.number] = (node, factor + (old[1] if old else 0))
    terms = tuple(pair for _, pair in sorted(merged.items()) if pair[1])
    return Lin(a.const + b.const, terms)


def scale(a: Lin, factor: int) -> Lin:
    """The product of an expression and a constant."""
    if factor == 1:
        return a
    if not a.terms or not factor:
        return Lin(a.const * factor)
    return Lin(a.const * factor, tuple((node, k * factor) for node, k in a.terms))


def subtract(a: Lin, b: Lin) -> Lin:
    """The difference of two expressions."""
    if a.terms == b.terms:
        return Lin(a.const - b.const)
    return add(a, scale(b, -1))


def divide_exactly(a: Lin, divisor: int) -> Lin:
    """The quotient of an expression whose constant and coefficients are multiples of ``divisor``."""
    return Lin(a.const // divisor, tuple((node, k // divisor) for node, k in a.terms))


def floor_divide(a: Lin, divisor: int) -> Lin | None:
    """``a floordiv divisor`` where it is linear again, else None."""
    parts = _divide(a, divisor)
    return parts[0] if parts else None


def remainder(a: Lin, divisor: int) -> Lin | None:
    """``a mod divisor`` (never negative) where it is linear again, else None."""
    parts = _divide(a, divisor)
    return parts[1] if parts else None


def _divide(a: Lin, divisor: int) -> tuple[Lin, Lin] | None:
    if divisor == 1:
        return a, Lin(0)
    lowest, highest = a.bounds()
    if lowest // divisor == highest // divisor:
        return Lin(lowest // divisor), Lin(a.const - lowest // divisor * divisor, a.terms)
    whole: list[tuple[Node, int]] = []
    rest: list[tuple[Node, int]] = []
    for node, factor in a.terms:
        quotient, left = divmod(factor, divisor)
        if quotient:
            whole.append((node, quotient))
        if left:
            rest.append((node, left))
    quotient, left = divmod(a.const, divisor)
    remaining = Lin(left, tuple(rest))
    low, high = remaining.bounds()
    step = low // divisor
    if step != high // divisor:
        return None
    return Lin(quotient + step, tuple(whole)), Lin(left - step * divisor, tuple(rest))


def split_multiples(a: Lin, divisor: int) -> tuple[Lin, Lin]:
    """``w`` and ``r`` with ``a = divisor * w + r``; no coefficient of ``r`` is as large as the divisor."""
    whole: list[tuple[Node, int]] = []
    rest: list[tuple[Node, int]] = []
    for node, factor in a.terms:
        times = abs(factor) // divisor * (1 if factor > 0 else -1)
        if times:
            whole.append((node, times))
        if left := factor - times * divisor:
            rest.append((node, left))
    return Lin(0, tuple(whole)), Lin(a.const, tuple(rest))


def common_factor(a: Lin) -> int:
    """Greatest common divisor of the coefficients, 0 for a constant."""
    result = 0
    for _, factor in a.terms:
        result = gcd(result, factor)
    return result


def bits_unsigned(high: int) -> int:
    """Bits that hold 0 … ``high``, at least one."""
    return max(1, high.bit_length())


def bits_signed(low: int, high: int) -> int:
    """Bits in two's complement that hold ``low`` … ``high``."""
    return max(low.bit_length() if low >= 0 else (~low).bit_length(), high.bit_length()) + 1
