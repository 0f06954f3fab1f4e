"""Piecewise polynomials in fixed point, evaluated with ``arith`` operations.

A table gives one polynomial for each segment of the argument. Coefficients of a segment lie side
by side in constants of at most 64 bits, found by trees of selects (a lookup table for each bit in
hardware); Horner's rule then runs in just the widths that each step needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from .bits import Bits

WORD = 64
"""Widest constant that holds several coefficients."""


@dataclass(frozen=True, slots=True)
class PolynomialTable:
    """Polynomials ``sum c[k] * u**k`` with ``u`` in [-1, 1) and ``c[k]`` scaled by ``2**fraction``.

    Attributes:
        fraction: fraction bits of coefficients and result.
        coefficients: for each segment c[0] … c[degree].
    """

    fraction: int
    coefficients: tuple[tuple[int, ...], ...]

    @property
    def degree(self) -> int:
        """Degree of every segment's polynomial."""
        return len(self.coefficients[0]) - 1

    def field_width(self, power: int) -> int:
        """Bits, sign included, of the coefficients of one power."""
        return max(_signed_bits(row[power]) for row in self.coefficients)

    def sum_width(self, power: int) -> int:
        """Bits, sign included, of Horner's partial sum down to one power."""
        largest = max(sum(abs(c) for c in row[power:]) for row in self.coefficients)
        return _signed_bits(largest + self.degree)

    def groups(self) -> list[list[int]]:
        """The powers whose coefficients lie in one constant: as many as fit in 64 bits, or one."""
        groups: list[list[int]] = []
        room = 0
        for power in range(self.degree + 1):
            width = self.field_width(power)
            if width > room:
                groups.append([])
                room = WORD
            groups[-1].append(power)
            room -= width
        return groups

    def packed(self, powers: list[int]) -> list[int]:
        """The constant of each segment with the coefficients of ``powers``, the first lowest."""
        words = []
        for row in self.coefficients:
            word, low = 0, 0
            for power in powers:
                width = self.field_width(power)
                word |= (row[power] & (1 << width) - 1) << low
                low += width
            words.append(word)
        return words


def _signed_bits(value: int) -> int:
    return (value if value >= 0 else -value - 1).bit_length() + 1


def lookup(index: Bits, words: list[int], width: int) -> Bits:
    """``words[index]``; words past the end may come out as any word."""
    emitter = index.emitter
    level: list[Bits] = [emitter.constant(word, width) for word in words]
    for position in range(index.width):
        if len(level) == 1:
            break
        bit = index.field(position, 1)
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [
            pair[0]
            if len(pair) == 1 or pair[0] is pair[1]
            else emitter.select(bit, pair[1], pair[0])
            for pair in pairs
        ]
    return level[0]


def evaluate(table: PolynomialTable, index: Bits, local: Bits) -> Bits:
    """The polynomial of segment ``index`` at ``local``.

    Args:
        local: position in the segment: all its bits, 0 at the segment's lower end.

    Returns:
        The value times ``2**table.fraction``, signed, of ``table.sum_width(0)`` bits.
    """
    coefficients = _coefficients(table, index)
    position = local ^ (1 << (local.width - 1))
    result: Bits | None = None
    for power in reversed(range(table.degree + 1)):
        width = table.sum_width(power)
        coefficient = coefficients[power].sext(width)
        if result is None:
            result = coefficient
            continue
        result = _scaled(result, position).sext(width) + coefficient
    assert result is not None
    return result


def _coefficients(table: PolynomialTable, index: Bits) -> dict[int, Bits]:
    found: dict[int, Bits] = {}
    for powers in table.groups():
        widths = [table.field_width(power) for power in powers]
        word = lookup(index, table.packed(powers), sum(widths))
        low = 0
        for power, width in zip(powers, widths, strict=True):
            found[power] = word.field(low, width)
            low += width
    return found


def _scaled(value: Bits, position: Bits) -> Bits:
    """``value * position``, the position read as a fraction in [-1, 1) and cut to what matters."""
    keep = min(position.width, value.width + 1)
    short = position.sar(position.width - keep).zext(keep)
    wide = value.width + keep
    product = value.sext(wide) * short.sext(wide)
    return product.sar(keep - 1).zext(value.width + 1)
