"""Sums of floats without rounding: a fixed-point number as wide as all exponents, in words beside each other.

A float is an integer times a power of two, and so is every sum of floats: times the smallest power of its
format. ``Accumulator`` keeps such a sum in words, as Kulisch proposed (Computer Arithmetic and Validity,
2013). A term touches two of them, and a carry stays in the word where it arises: each word has room for the
carries of all terms. So an addition is as long as one word, whatever the format. The words are brought to one
number once, behind the last term, and this number is rounded once, to nearest even.

All of this is integer arithmetic of the core IR, so every target gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._mlir import ir
from ..passes.math.bits import Bits, Emitter

NOT_A_NUMBER, PLUS_INFINITY, MINUS_INFINITY, NOT_MINUS_ZERO = range(4)
"""The bits of the word of marks: what terms there were."""
MARKS = 4
WORD = 32
"""Bits of the fixed-point number in each word; where a format has fewer in all, these, and where its
fractions are wider, twice as many."""


@dataclass(frozen=True, slots=True)
class Format:
    """A float format: bits of its exponent and of its fraction."""

    name: str
    exponent: int
    fraction: int

    @property
    def width(self) -> int:
        """All its bits."""
        return 1 + self.exponent + self.fraction

    @property
    def positions(self) -> int:
        """Bits of a fixed-point number in which all its finite values have exact places."""
        return (1 << self.exponent) - 2 + self.fraction

    @property
    def word(self) -> int:
        """Bits of that number in each word: a power of two where there are several."""
        if self.positions <= 2 * WORD:
            return self.positions
        return WORD if self.fraction < WORD else 2 * WORD

    @property
    def words(self) -> int:
        """Words of that number."""
        return -(-self.positions // self.word)

    @property
    def last_word(self) -> int:
        """The last word in which the fraction of a float can begin."""
        return (self.positions - self.fraction - 1) // self.word


FORMATS = {f.name: f for f in (Format("f16", 5, 10), Format("bf16", 8, 7), Format("f32", 8, 23))}
FORMATS["f64"] = Format("f64", 11, 52)
"""The formats that can be summed exactly, by their names in the core IR."""


@dataclass(frozen=True, slots=True)
class Term:
    """What a float adds to the words: its place and value there, and its marks."""

    parts: tuple[Bits, ...]
    first: Bits
    marks: Bits


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The fixed-point sum of up to ``terms`` floats of a format.

    Attributes:
        terms: how many are added, at most.
    """

    format: Format
    terms: int

    @property
    def width(self) -> int:
        """Bits of a word with its carries and its sign."""
        return self.format.word + self.terms.bit_length() + 2

    def term(self, emitter: Emitter, value: ir.Value, *, negative: bool = False) -> Term:
        """Take a float apart; ``negative``: that it is subtracted."""
        made, word = self.format, self.format.word
        bits = emitter.bits_of(value, made.width)
        sign = bits.field(made.width - 1, 1)
        if negative:
            sign = sign ^ 1
        exponent = bits.field(made.fraction, made.exponent)
        fraction = bits.field(0, made.fraction)
        special = exponent.is_("eq", -1)
        normal = exponent.is_("ne", 0)
        nothing = fraction.is_("eq", 0)
        whole = fraction.zext(made.fraction + 1) | normal.zext(made.fraction + 1).shl(made.fraction)
        whole = emitter.select(special, emitter.constant(0, whole.width), whole)
        # subnormals have the place of the smallest normal exponent
        place = exponent - normal.zext(made.exponent)
        single = made.words == 1
        inside = place if single else place & (word - 1)
        wide = word if single else made.fraction + word
        shifted = whole.zext(wide).shl(inside.zext(wide))
        fields = [shifted] if single else [shifted.field(0, word), shifted.field(word, wide - word)]
        parts = tuple(_signed(emitter, field, sign, word + 1) for field in fields)
        first = emitter.constant(0, 1) if single else place.shr(word.bit_length() - 1)
        infinite = special & nothing
        zero = normal.is_("eq", 0) & nothing & sign
        marks = (special & (nothing ^ 1), infinite & (sign ^ 1), infinite & sign, zero ^ 1)
        return Term(parts, first, _joined(marks))

    def added(self, emitter: Emitter, term: Term, number: int) -> Bits:
        """What a term adds to a word."""
        nothing = emitter.constant(0, self.format.word + 1)
        if self.format.words == 1:
            return term.parts[0].sext(self.width)
        chosen = nothing
        if number <= self.format.last_word:
            chosen = emitter.select(term.first.is_("eq", number), term.parts[0], nothing)
        if number:
            chosen = emitter.select(term.first.is_("eq", number - 1), term.parts[1], chosen)
        return chosen.sext(self.width)

    def rounded(self, emitter: Emitter, words: Sequence[Bits], marks: Bits) -> ir.Value:
        """The sum as a float: rounded to nearest even, infinite where it is too large."""
        made, word = self.format, self.format.word
        carry = emitter.constant(0, self.width)
        digits: list[Bits] = []
        for number in words[:-1]:
            total = number + carry
            digits.append(total.field(0, word))
            carry = total.sar(word)
        top = words[-1] + carry
        sign = top.field(self.width - 1, 1)
        # the magnitude: all digits inverted and one more, which goes on over digits that are zero
        on = sign
        magnitude: list[Bits] = []
        for digit in digits:
            magnitude.append((digit ^ sign.sext(word)) + on.zext(word))
            on = on & digit.is_("eq", 0)
        magnitude.append((top ^ sign.sext(self.width)) + on.zext(self.width))
        high, below, rest, base = self._highest(emitter, magnitude)
        nothing = emitter.constant(1, 1)
        for digit in magnitude:
            nothing = nothing & digit.is_("eq", 0)
        exact = magnitude[0].zext(made.fraction + 1)
        size = self._encoded(emitter, high, below, rest, base)
        small = exact.zext(size.width)
        # below twice the smallest normal number the digits are the bits of the float
        is_small = high.shr(made.fraction + 1).is_("eq", 0) & base.is_("eq", 0)
        size = emitter.select(is_small, small, size)
        infinity = ((1 << made.exponent) - 1) << made.fraction
        largest = emitter.constant(infinity, size.width)
        size = size.umin(largest)
        has = [marks.field(mark, 1) for mark in range(MARKS)]
        infinite = has[PLUS_INFINITY] | has[MINUS_INFINITY]
        size = emitter.select(infinite, largest, size)
        invalid = has[NOT_A_NUMBER] | (has[PLUS_INFINITY] & has[MINUS_INFINITY])
        quiet = emitter.constant(infinity | 1 << (made.fraction - 1), size.width)
        size = emitter.select(invalid, quiet, size)
        minus = emitter.select(nothing, has[NOT_MINUS_ZERO] ^ 1, sign)
        minus = emitter.select(infinite, has[MINUS_INFINITY], minus) & (invalid ^ 1)
        bits = minus.zext(made.width).shl(made.width - 1) | size.zext(made.width)
        return bits.as_float(made.name)

    def _highest(
        self, emitter: Emitter, magnitude: Sequence[Bits]
    ) -> tuple[Bits, Bits, Bits, Bits]:
        """The highest digit that is not zero, the one below it, whether more follow, and its place."""
        word, one = self.format.word, emitter.constant(1, 1)
        places = (len(magnitude) * word).bit_length() + 1
        high = magnitude[0].zext(self.width)
        below, rest = emitter.constant(0, word), emitter.constant(0, 1)
        base = emitter.constant(0, places)
        any_below = emitter.constant(0, 1)
        for number in range(1, len(magnitude)):
            digit, previous = magnitude[number], magnitude[number - 1]
            is_high = digit.is_("ne", 0)
            high = emitter.select(is_high, digit.zext(self.width), high)
            below = emitter.select(is_high, previous, below)
            rest = emitter.select(is_high, any_below, rest)
            base = emitter.select(is_high, emitter.constant(number * word, places), base)
            any_below = any_below | (previous.is_("eq", 0) ^ one)
        return high, below, rest, base

    def _encoded(self, emitter: Emitter, high: Bits, below: Bits, rest: Bits, base: Bits) -> Bits:
        """Exponent and fraction of a number with these digits, rounded; the carry may reach infinity."""
        made, word = self.format, self.format.word
        several = made.words > 1
        width = self.width + (word if several else 0)
        number = high.zext(width).shl(word) | below.zext(width) if several else high
        zeros = emitter.constant(0, width.bit_length())
        step = 1 << ((width - 1).bit_length() - 1)
        while step:
            empty = number.shr(width - step).is_("eq", 0)
            number = emitter.select(empty, number.shl(step), number)
            zeros = zeros + empty.zext(zeros.width).shl(step.bit_length() - 1)
            step >>= 1
        kept = made.fraction + 1
        mantissa = number.field(width - kept, kept)
        half = number.field(width - kept - 1, 1)
        more = number.field(0, width - kept - 1).is_("ne", 0) | rest
        up = half & (more | mantissa.field(0, 1))
        bits = max(base.width, zeros.width) + 2
        exponent = base.zext(bits) + (self.width - 1 - made.fraction) - zeros.zext(bits)
        size = made.width + 3 + max(0, bits - made.exponent)
        total = exponent.zext(size).shl(made.fraction) + mantissa.zext(size)
        return total + up.zext(size)


def _signed(emitter: Emitter, field: Bits, sign: Bits, width: int) -> Bits:
    """A part of a term, or its negation."""
    return (field.zext(width) ^ sign.sext(width)) + sign.zext(width)


def _joined(marks: Sequence[Bits]) -> Bits:
    """Single bits as one word, the first in its lowest bit."""
    word = marks[0].zext(MARKS)
    for number, mark in enumerate(marks[1:], 1):
        word = word | mark.zext(MARKS).shl(number)
    return word
