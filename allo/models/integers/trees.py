"""Sums of decision trees of integers: comparisons with constants, truth tables of these, and sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allo.dialects.tables.network import ONE, ZERO, Network

from ..body import Call, Emitter, Result
from ..graph import Operator
from .arithmetic import Array


@dataclass(frozen=True, slots=True)
class Split:
    """A node of a tree.

    Attributes:
        feature: which element of the input is compared.
        limit: with what: a whole number, or one of float32 where inputs are.
        below, above: what stands for elements of at most ``limit``, and for others.
    """

    feature: int
    limit: float
    below: Tree
    above: Tree


type Tree = int | Split
"""A leaf is a number."""
INPUTS = 6
"""Of a lookup table."""


def ends_of(tree: Tree) -> tuple[int, int]:
    """The least and the greatest leaf."""
    if not isinstance(tree, Split):
        return tree, tree
    lows, highs = zip(ends_of(tree.below), ends_of(tree.above), strict=True)
    return min(lows), max(highs)


def narrowest(low: int, high: int) -> str:
    """The name of the narrowest type that holds two numbers."""
    if low >= 0:
        return f"uint{max(high.bit_length(), 1)}"
    return f"int{max(high.bit_length(), (~low).bit_length()) + 1}"


type _Cone = tuple[tuple[int, ...], tuple[bool, ...]]
"""Bits, and a function of them: its values by address, of which the first bit is the lowest."""


class _Tables:
    """The bits of leaves as lookup tables of the bits of comparisons.

    Attributes:
        keys: the comparisons: feature and limit.
        network: the tables.
    """

    def __init__(self, trees: Sequence[Sequence[Tree]]) -> None:
        found = {(s.feature, s.limit) for of_result in trees for t in of_result for s in splits(t)}
        self.keys = sorted(found)
        self._number = {key: number for number, key in enumerate(self.keys)}
        self.network = Network(len(self.keys))

    def bit(self, tree: Tree, less: int, place: int) -> int:
        """A bit of the leaf that a tree comes to, less a number."""
        return self._made(self._cone(tree, less, place))

    def _made(self, cone: _Cone) -> int:
        return self.network.table(cone[0], np.array(cone[1]))

    def _cone(self, tree: Tree, less: int, place: int) -> _Cone:
        """The same as a function of at most as many bits as a table has inputs."""
        if not isinstance(tree, Split):
            return (), (bool((tree - less) >> place & 1),)
        parts = [self._cone(part, less, place) for part in (tree.above, tree.below)]
        if parts[0] == parts[1]:
            return parts[0]
        key = self._number[tree.feature, tree.limit]
        while len({key, *parts[0][0], *parts[1][0]}) > INPUTS:
            longer = max(range(2), key=lambda k: len(parts[k][0]))
            bit = self._made(parts[longer])
            parts[longer] = ((bit,), (False, True)) if bit >= 0 else ((), (bit == ONE,))
        variables = tuple(sorted({key, *parts[0][0], *parts[1][0]}))
        values = []
        for address in range(1 << len(variables)):
            known = {v: address >> n & 1 for n, v in enumerate(variables)}
            mine, function = parts[known[key]]
            values.append(function[sum(known[v] << n for n, v in enumerate(mine))])
        return variables, tuple(values)


def splits(tree: Tree) -> Iterator[Split]:
    """The nodes of a tree that compare."""
    if isinstance(tree, Split):
        yield tree
        yield from splits(tree.below)
        yield from splits(tree.above)


def _emit(call: Call) -> Result:
    """Comparisons, tables, and the sums of each result: of leaves less the least one of their tree."""
    target, source, text = call.array(), call.tensor("self"), call.text
    made = _Tables(call["trees"])
    least = [[ends_of(tree)[0] for tree in trees] for trees in call["trees"]]
    leaves = [
        [
            [made.bit(tree, low, k) for k in range((ends_of(tree)[1] - low).bit_length())]
            for tree, low in zip(trees, lows, strict=True)
        ]
        for trees, lows in zip(call["trees"], least, strict=True)
    ]
    kept = made.network.kept(bit for trees in leaves for bits in trees for bit in bits)
    names: dict[int, str] = {ZERO: "0", ONE: "1"}
    one = call.types.of_torch("uint1")
    wider: dict[tuple[int, int], str] = {}

    def joined(parts: Sequence[int], width: int) -> str:
        """Bits side by side in so many, the first the lowest."""
        shifted = []
        for place, bit in enumerate(parts):
            if (bit, width) not in wider:
                wider[bit, width] = text.fresh("wide")
                kind = call.types.of_torch(f"uint{width}")
                text.line(f"{wider[bit, width]}: {kind} = {names[bit]}")
            name = wider[bit, width]
            shifted.append(f"({name} << {place})" if place else name)
        return " | ".join(shifted)

    for number, (feature, limit) in enumerate(made.keys):
        names[number] = text.fresh("key")
        text.line(
            f"{names[number]}: {one} = 1 if {source.at('0', str(feature))} <= {limit!r} else 0"
        )
    for number in kept:
        table = made.network.tables[number - made.network.count]
        words, width = text.fresh("words"), 1 << len(table.inputs)
        place = joined(table.inputs, width)
        names[number] = text.fresh("bit")
        text.line(f"{words}: {call.types.of_torch(f'uint{width}')} = {table.words}")
        text.line(f"{names[number]}: {one} = {words} >> ({place})")
    for number, (base, trees, lows) in enumerate(zip(call["bases"], leaves, least, strict=True)):
        terms = []
        for of_tree in trees:
            if of_tree:
                leaf, high = text.fresh("leaf"), (1 << len(of_tree)) - 1
                value = joined(of_tree, len(of_tree))
                text.line(f"{leaf}: {call.types.of_torch(narrowest(0, high))} = {value}")
                terms.append((leaf, high))
        found = _total(call, terms or [("0", 0)])[0]
        text.line(f"{target.at('0', str(number))} = {found} + ({base + sum(lows)})")
    return target


def _total(call: Call, terms: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The sum of terms, of two at a time, and the greatest that it may be."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    (first, one), (second, two) = _total(call, terms[:middle]), _total(call, terms[middle:])
    name = call.text.fresh("sum")
    kind = call.types.of_torch(narrowest(0, one + two))
    call.text.line(f"{name}: {kind} = {first} + {second}")
    return name, one + two


def _result(args: dict[str, Any], op: Operator) -> Array:
    """The same in NumPy: each tree is followed to its leaf."""
    row = np.asarray(args["self"]).reshape(-1)
    found = []
    for base, trees in zip(args["bases"], args["trees"], strict=True):
        total = int(base)
        for tree in trees:
            at = tree
            while isinstance(at, Split):
                at = at.below if row[at.feature] <= at.limit else at.above
            total += at
        found.append(total)
    return np.array([found], np.int64)


SUMS = "trees.sums"
EMITTERS: dict[str, Emitter] = {SUMS: _emit}
REFERENCE: dict[str, Callable[..., Any]] = {SUMS: _result}
