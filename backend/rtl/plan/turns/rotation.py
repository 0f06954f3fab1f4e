"""Accesses whose banks are unknown but differ: ``buf[(t + 1) % 4]`` beside ``buf[(t + 2) % 4]``.

In a cycle in which both happen, such accesses take one port of each bank that they may touch. Two accesses
meet in a cycle where they start in the same cycle of one iteration, or in cycles of two iterations that are
as many intervals apart as these iterations. The counters of the loops say what the subscripts of the later
iteration are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...graph.linear import common_factor, subtract
from ...graph.nodes import Access, Body, Lin, Node
from ...graph.regions import Leaf, Level
from .remainders import modular_row, rests_apart, without_remainders

FARTHEST = 64
"""Iterations between two accesses beyond which they count as ones that may meet."""


class Rotation:
    """Which accesses of a body are of different banks where they meet in a cycle.

    Args:
        levels: the loops whose iterations overlap, the outermost first.
        regular: whether iterations are always issued at the interval. Where they may wait for a stream, or
            between the runs of a pipeline, nothing is said of different iterations.
    """

    def __init__(self, body: Body, levels: Sequence[Level], *, regular: bool) -> None:
        self._body = body
        self._levels = [
            (level.iv.number, 1 if level.counts else level.step, level.trips) for level in levels
        ]
        self._steps = {number: step for number, step, _ in self._levels}
        self._regular = regular and all(level.stride is None for level in levels)
        self._found: dict[tuple[int, int, int], bool] = {}

    def apart(self, first: Node, second: Node, later: int) -> bool:
        """Whether two accesses are of different banks.

        Args:
            later: how many iterations after that of ``first`` the one of ``second`` is.
        """
        if later < 0:
            return self.apart(second, first, -later)
        key = first.number, second.number, later
        if key not in self._found:
            self._found[key] = self._apart(first.access, second.access, later)
        return self._found[key]

    def _apart(self, first: Access | None, second: Access | None, later: int) -> bool:
        if first is None or second is None or first.array is not second.array:
            return False
        pairs = list(zip(first.places, second.places, strict=True))
        if not later:
            return any(_differ(x, y) for x, y in pairs)
        if any(self._never_equal(x, y) for x, y in pairs):
            return True
        if not self._regular or later > FARTHEST:
            return False
        moves = list(self._moves(len(self._levels) - 1, later))
        return bool(moves) and all(
            any(self._differ_after(x, y, move) for x, y in pairs) for move in moves
        )

    def _varies(self, node: Node) -> bool:
        return node.number in self._steps or node.body is self._body

    def _never_equal(self, x: Lin, y: Lin) -> bool:
        """Whether two banks differ in all iterations."""
        found = modular_row(x, y, self._varies, lambda _: 0)
        if found is not None:
            return found[1] % found[2] != 0
        fixed = not any(self._varies(node) for node, _ in (*x.terms, *y.terms))
        return fixed and _differ(x, y)

    def _moves(self, position: int, later: int) -> Iterator[dict[int, int]]:
        """How far the counters may be from one iteration to the one so many later; none where not known."""
        if position < 0:
            return
        number, _, trips = self._levels[position]
        if not position:
            if trips is None or later < trips:
                yield {number: later}
            return
        if trips is None:
            return
        turns, moved = divmod(later, trips)
        for carried in (turns, turns + 1) if moved else (turns,):
            for outer in self._moves(position - 1, carried):
                yield {**outer, number: later - carried * trips}

    def _differ_after(self, x: Lin, y: Lin, move: dict[int, int]) -> bool:
        """Whether a bank differs from one that a later iteration names, whose counters are so far on."""
        found = modular_row(x, y, self._varies, lambda node: self._steps.get(node.number, 0))
        if found is not None:
            coefficients, right, modulus = found
            ahead = sum(factor * move[number] for number, factor in coefficients.items())
            return (right - ahead) % modulus != 0
        if x.signature != y.signature:
            return False
        if any(node.body is self._body and node.number not in move for node, _ in x.terms):
            return False
        ahead = sum(
            k * self._steps[n.number] * move[n.number] for n, k in y.terms if n.number in move
        )
        return x.const != y.const + ahead


def rotate(body: Body, levels: Sequence[Level], leaf: Leaf | None = None) -> None:
    """Note at the accesses of a body what is known of their banks, for the loops that overlap."""
    streams = any(node.stream is not None for node in body.nodes)
    rewinds = leaf is not None and leaf.rewind
    around = leaf.levels if leaf is not None and rewinds else levels
    rotation = Rotation(body, around, regular=not streams and not rewinds and bool(levels))
    accesses = [node.access for node in body.nodes if node.access is not None]
    unknown = [a for a in accesses if a.bank is None and a.array.storage != "reg"]
    counts = Counter(number for access in unknown for number in _symbols(access))
    for access in unknown:
        known = bool(access.places) and _in_place(access) and not _is_any_bank(access, counts)
        access.rotation = rotation if known else None


def _symbols(access: Access) -> set[int]:
    """The symbols of the banks' numbers, without remainders."""
    places = [without_remainders(place)[0] for place in access.places]
    return {node.number for place in places for node, _ in place.terms}


def _is_any_bank(access: Access, counts: Mapping[int, int]) -> bool:
    """Whether an access may go to each bank, by a symbol that is in no other access's subscripts.

    Nothing can be known then of its bank beside those of others. It is asked first because a pipeline with
    ``n`` such accesses has ``n · n`` pairs.
    """
    for place, dim in zip(access.places, access.array.layout.dims, strict=True):
        if dim.banks == 1:
            continue
        if place.const or len(place.terms) != 1:
            return False
        (node, factor), *_ = place.terms
        if factor != 1 or node.rest_of is None or node.rest_of[1] != dim.banks:
            return False
        plain, _ = without_remainders(place)
        free = [
            n for n, k in plain.terms if abs(k) == 1 and n.kind != "iv" and counts[n.number] == 1
        ]
        if not free:
            return False
    return True


def _in_place(access: Access) -> bool:
    """Whether the hardware's banks are those of the subscripts whenever the access's body runs.

    A speculative load names some bank although its subscript is out of range, so bounds have to hold always.
    """
    for place, dim in zip(access.places, access.array.layout.dims, strict=True):
        low, high = place.bounds()
        if low < 0 or high >= max(1, dim.banks) or not all(_exact(n) for n, _ in place.terms):
            return False
    return True


def _exact(node: Node) -> bool:
    """Whether the range of a symbol holds in every iteration that is issued, needed or not."""
    if node.kind in ("iv", "arg", "const"):
        return True
    if node.rest_of is not None:
        inner, divisor = node.rest_of
        return divisor & (divisor - 1) == 0 or all(_exact(n) for n, _ in inner.terms)
    return False


def _differ(x: Lin, y: Lin) -> bool:
    """Whether two banks of one iteration always differ."""
    difference = subtract(x, y)
    low, high = difference.bounds()
    if low > 0 or high < 0 or rests_apart(x, y):
        return True
    step = common_factor(difference)
    return bool(step) and difference.const % step != 0
