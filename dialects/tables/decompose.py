"""Functions of many bits taken apart into tables of few inputs.

Where a set of variables makes few different functions of the others, a code for these takes the set's place:
``f(a, b) = g(h(a), b)`` (Ashenhurst, "The decomposition of switching functions", 1957; for several functions
at once, and codes of several bits, Curtis 1962). What no code makes shorter is a choice between cofactors
(Shannon 1938).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from .network import Function, Network, arranged, reduced

_MOST_SETS = 260
"""Sets of variables that are looked at in one step; of more, neighbours and some at random."""
_GROWTH = 1.35
"""Tables of a function of a bit more than one has inputs, for each: two cofactors and a choice, or less."""


@dataclass(frozen=True, slots=True)
class _Code:
    """Variables of which a code takes the place.

    Attributes:
        places: of the variables.
        classes: which of the functions of the other variables each of their values makes.
        bits: of the code.
    """

    places: tuple[int, ...]
    classes: NDArray[np.intp]
    bits: int


class Decomposer:
    """Adds functions to a network.

    Args:
        inputs: the most that one table reads.
    """

    def __init__(self, network: Network, inputs: int) -> None:
        self._network, self._inputs = network, inputs

    def add(self, functions: Sequence[Function], variables: Sequence[int]) -> list[int]:
        """The bits that functions of the same variables are, with few tables: together, or each alone."""
        network = self._network
        start = len(network.tables)
        apart = [self._together([function], variables)[0] for function in functions]
        if len(functions) == 1 or len(network.tables) - start <= len(functions):
            return apart
        cost = len(network.tables) - start
        network.cut(start)
        found = self._together(functions, variables)
        if len(network.tables) - start <= cost:
            return found
        network.cut(start)
        return [self._together([function], variables)[0] for function in functions]

    def _together(self, functions: Sequence[Function], variables: Sequence[int]) -> list[int]:
        """The same, with one code for all functions in each step."""
        functions, variables = _needed(functions, variables)
        if len(variables) <= self._inputs:
            return [self._network.table(variables, function) for function in functions]
        code = self._best_code(functions, len(variables))
        if code is None:
            return [self._chosen(function, variables) for function in functions]
        of_code = [variables[k] for k in code.places]
        bits = [
            self._network.table(of_code, (code.classes >> bit & 1).astype(bool))
            for bit in range(code.bits)
        ]
        rest = [k for k in range(len(variables)) if k not in code.places]
        shorter = [_coded(function, code, rest) for function in functions]
        return self._together(shorter, [*bits, *(variables[k] for k in rest)])

    def _best_code(self, functions: Sequence[Function], count: int) -> _Code | None:
        """The code with which the fewest tables are expected; None where a choice is as good."""
        best, least = None, len(functions) * self._expected(count)
        for places in self._sets(count):
            rest = [k for k in range(count) if k not in places]
            order = [*places, *rest]
            columns = [
                arranged(f, order).reshape(-1, 1 << len(places)).T for f in functions
            ]  # a row for each value of the set
            rows = np.packbits(np.concatenate(columns, 1), axis=1)
            kinds: dict[bytes, int] = {}
            classes = np.array([kinds.setdefault(row.tobytes(), len(kinds)) for row in rows])
            bits = (len(kinds) - 1).bit_length()
            if bits >= len(places):
                continue
            left = count - len(places) + bits
            cost = bits + len(functions) * self._expected(left)
            if cost < least:
                best, least = _Code(places, classes, bits), cost
        return best

    def _expected(self, count: int) -> float:
        """Tables of a function of so many variables of which nothing is known."""
        more = count - self._inputs
        return 1.0 if more <= 0 else float((2**more) * _GROWTH)

    def _sets(self, count: int) -> Iterator[tuple[int, ...]]:
        """Sets of variables for a table, the largest first."""
        for size in range(min(self._inputs, count - 1), 1, -1):
            if comb(count, size) <= _MOST_SETS:
                yield from combinations(range(count), size)
                continue
            for first in range(count - size + 1):
                yield tuple(range(first, first + size))
            random = np.random.default_rng(count * 64 + size)
            for _ in range(_MOST_SETS // 4):
                yield tuple(sorted(map(int, random.choice(count, size, replace=False))))

    def _chosen(self, function: Function, variables: Sequence[int]) -> int:
        """A choice between cofactors by one variable, or by two where a table has inputs for that."""
        function, kept = reduced(function, variables)
        if len(kept) <= self._inputs:
            return self._network.table(kept, function)
        count = 2 if self._inputs >= 6 and len(kept) > self._inputs + 1 else 1
        places = _dividing(function, len(kept), count)
        rest = [k for k in range(len(kept)) if k not in places]
        parts = arranged(function, [*rest, *places]).reshape(1 << count, -1)
        others = [kept[k] for k in rest]
        words = [self._together([part], others)[0] for part in parts]
        address = np.arange(1 << (count + len(words)))
        chosen = (address >> (count + (address & ((1 << count) - 1))) & 1).astype(bool)
        return self._network.table([*(kept[k] for k in places), *words], chosen)


def _needed(
    functions: Sequence[Function], variables: Sequence[int]
) -> tuple[list[Function], list[int]]:
    """Functions without the variables that make no difference to any of them."""
    whole = np.concatenate(functions)
    more = (len(functions) - 1).bit_length()
    places = list(range(len(variables)))
    spare = np.zeros((1 << more) * (1 << len(variables)) - whole.size, bool)
    _, kept = reduced(np.concatenate([whole, spare]), [*places, *(-1 - k for k in range(more))])
    stay = [k for k in places if k in kept]
    gone = [k for k in places if k not in kept]
    size = 1 << len(stay)
    short = [np.asarray(arranged(f, [*stay, *gone])[:size]) for f in functions]
    return short, [variables[k] for k in stay]


def _coded(function: Function, code: _Code, rest: Sequence[int]) -> Function:
    """A function of the code's bits and of the variables beside its own."""
    first: dict[int, int] = {}
    for value, kind in enumerate(code.classes.tolist()):
        first.setdefault(kind, value)
    # a code that no value has stands for one that some have
    used = [first.get(c, first.get(c - (1 << (code.bits - 1)), 0)) for c in range(1 << code.bits)]
    by_value = arranged(function, [*code.places, *rest]).reshape(-1, len(code.classes))
    return np.ascontiguousarray(by_value[:, used]).reshape(-1)


def _dividing(function: Function, variables: int, count: int) -> tuple[int, ...]:
    """The variables whose cofactors need the fewest variables together."""

    def left(places: tuple[int, ...]) -> int:
        rest = [k for k in range(variables) if k not in places]
        parts = arranged(function, [*rest, *places]).reshape(1 << count, -1)
        return sum(len(reduced(part, rest)[1]) for part in parts)

    return min(combinations(range(variables), count), key=left)
