"""How many bits of adders an expression takes."""

from __future__ import annotations

from allo.dialects.sums.digits import signed_digits

from ..nodes import Lin

type _Part = tuple[bool, int, int]
"""Whether it is subtracted, its lowest bit, and the bit above its highest."""
type _Span = tuple[int, int]


def adder_bits(expression: Lin, width: int) -> tuple[int, int]:
    """Bits of the adders that compute an expression of symbols that are not negative, and their number.

    Parts that lie side by side need none, nor does a number below all ones.
    """
    parts = [
        (digit * factor < 0, place, place + node.width)
        for node, factor in expression.terms
        for place, digit in signed_digits(abs(factor))
        if place < width
    ]
    const = expression.const % (1 << width)
    ways = [_in_order(sorted(parts), const, width)]
    less = next((part for part in sorted(parts) if part[0]), None)
    if const and less is not None:
        parts.remove(less)
        ways.append(_from_constant(const, less, sorted(parts), width))
    return min(ways)


def _in_order(
    parts: list[_Part], const: int, width: int, taken: list[int] | None = None, span: _Span = (0, 0)
) -> tuple[int, int]:
    """Bits and number of the adders of parts, one after another, behind those that are ``taken``.

    Args:
        const: what is added at the end.
        span: the bits that what is there so far takes.
    """
    bits, (low, high) = list(taken or ()), span
    for negative, start, end in parts:
        if negative:
            bits.append(width - start)
            high = width
        elif start < high and low < end:
            high = min(width, max(high, end) + 1)
            bits.append(high - start)
        else:
            high = min(width, max(high, end))
        low = min(low, start)
    last = constant_bits(const, width, high)
    return sum(bits) + last, len(bits) + int(last > 0)


def _from_constant(const: int, less: _Part, parts: list[_Part], width: int) -> tuple[int, int]:
    """The same where a constant less a number, which is one difference, comes first."""
    _, low, top = less
    inverted = const == (1 << top) - (1 << low)
    span = min(low, _zeros(const)), top if inverted else width
    return _in_order(parts, 0, width, [] if inverted else [width - low], span)


def constant_bits(value: int, width: int, top: int) -> int:
    """Bits of the adder that adds a constant to a value of ``top`` bits."""
    value %= 1 << width
    return 0 if not value or _zeros(value) >= top else width - _zeros(value)


def _zeros(value: int) -> int:
    """Zeros at the end of a number that is not 0."""
    return (value & -value).bit_length() - 1
