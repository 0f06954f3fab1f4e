"""Affine expressions of loop iterators and symbols, as plain data.

An :class:`Affine` is ``const + Σ coefficient · atom``. An atom is a loop iterator, a scalar
argument used as a symbol, or a floor division or remainder of an affine expression by a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.ranges.interval import INDEX_RANGE, linear
from allo.dialects.types import AlloType

from .rules.integers import range_of


@dataclass(slots=True, eq=False)
class ScalarArg:
    """A scalar argument the body never assigns: a value, not storage."""

    name: str
    dtype: AlloType
    place: SourcePlace


@dataclass(slots=True, eq=False)
class Iter:
    """A loop iterator; ``affine`` when its loop is an ``affine.for``.

    ``span`` is its (least, greatest) value where both are constants and the loop runs at all;
    ``reach`` is a range that holds all its values, ``shown`` the user's iterator where that is not the
    counter itself. Where a loop counts down from a value computed when it runs, that value is one of
    these too, not of an affine loop.
    """

    name: str
    affine: bool
    place: SourcePlace
    span: tuple[int, int] | None = None
    reach: tuple[int, int] = INDEX_RANGE
    shown: Affine | None = None


@dataclass(slots=True, eq=False)
class Symbol:
    """A scalar integer argument as an index, constant throughout the function.

    Its type holds nothing that is not an index.
    """

    arg: ScalarArg

    @property
    def reach(self) -> tuple[int, int]:
        """A range that holds every value."""
        return range_of(self.arg.dtype)


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """``value // divisor`` with a positive constant divisor."""

    value: Affine
    divisor: int

    @property
    def reach(self) -> tuple[int, int]:
        """A range that holds every value."""
        low, high = self.value.bounds()
        return low // self.divisor, high // self.divisor


@dataclass(frozen=True, slots=True)
class Mod:
    """The remainder, 0 … divisor − 1, of ``value`` by a positive constant."""

    value: Affine
    divisor: int

    @property
    def reach(self) -> tuple[int, int]:
        """A range that holds every value."""
        low, high = self.value.bounds()
        return (low, high) if low >= 0 and high < self.divisor else (0, self.divisor - 1)


Atom = Iter | Symbol | FloorDiv | Mod


@dataclass(frozen=True, slots=True)
class Affine:
    """``const + Σ coefficient · atom``; ``terms`` hold no zero coefficient and no atom twice."""

    const: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it is a whole number."""
        return not self.terms

    def __add__(self, other: Affine) -> Affine:
        sums = dict(self.terms)
        for atom, coefficient in other.terms:
            sums[atom] = sums.get(atom, 0) + coefficient
        return Affine(self.const + other.const, tuple((a, c) for a, c in sums.items() if c))

    def __sub__(self, other: Affine) -> Affine:
        return self + other.scaled(-1)

    def __neg__(self) -> Affine:
        return self.scaled(-1)

    def scaled(self, factor: int) -> Affine:
        """The expression times a constant."""
        if factor == 0:
            return Affine()
        return Affine(self.const * factor, tuple((a, c * factor) for a, c in self.terms))

    def floordiv(self, divisor: int) -> Affine:
        """Floor division by a positive constant."""
        if self.is_constant:
            return Affine(self.const // divisor)
        if divisor == 1:
            return self
        if self.const % divisor == 0 and all(c % divisor == 0 for _, c in self.terms):
            return Affine(self.const // divisor, tuple((a, c // divisor) for a, c in self.terms))
        return Affine(0, ((FloorDiv(self, divisor), 1),))

    def mod(self, divisor: int) -> Affine:
        """Remainder, never negative, by a positive constant."""
        if self.is_constant:
            return Affine(self.const % divisor)
        if divisor == 1:
            return Affine()
        return Affine(0, ((Mod(self, divisor), 1),))

    def bounds(self) -> tuple[int, int]:
        """A range that holds every value, as a whole number without a width."""
        return linear(self.const, ((atom.reach, factor) for atom, factor in self.terms))

    def span(self) -> tuple[int, int] | None:
        """(least, greatest) value, both reached, where iterators run over constants; else None."""
        spans = [(atom.span, factor) for atom, factor in self.terms if isinstance(atom, Iter)]
        known = [(span, factor) for span, factor in spans if span is not None]
        return linear(self.const, known) if len(known) == len(self.terms) else None

    def atoms(self) -> Iterator[Iter | Symbol]:
        """Every iterator and symbol in it, those under divisions included."""
        for atom, _ in self.terms:
            if isinstance(atom, (FloorDiv, Mod)):
                yield from atom.value.atoms()
            else:
                yield atom


def constant(value: int) -> Affine:
    """A whole number."""
    return Affine(value)


def of_atom(atom: Iter | Symbol) -> Affine:
    """An iterator or a symbol by itself."""
    return Affine(0, ((atom, 1),))


def is_affine(value: object) -> TypeGuard[Affine]:
    """Whether an affine operation may use a subscript: every iterator is of an affine loop."""
    return isinstance(value, Affine) and all(
        isinstance(atom, Symbol) or atom.affine for atom in value.atoms()
    )


def shown_iteration(values: dict[Iter, int]) -> str:
    """Values of loop counters as those of the user's iterators: ``i = 3, j = 0``."""
    shown = []
    for it, counter in values.items():
        number: int | None = counter
        if it.shown is not None:
            number = it.shown.const
            for atom, coefficient in it.shown.terms:
                known = values.get(atom) if isinstance(atom, Iter) else None
                number = None if known is None or number is None else number + coefficient * known
        if number is not None:
            shown.append(f"{it.name} = {number}")
    return ", ".join(shown)
