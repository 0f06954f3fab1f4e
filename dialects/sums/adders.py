"""Constant matrices as graphs of adders that share sub-expressions: the planner of ``constant_multiply``.

A matrix times a vector is a set of sums of inputs, shifted, added or subtracted: one term for each digit of a
weight, written with digits 1, 0 and -1. Two terms that occur in several sums, in the same distance, are added
once. The planner takes such pairs one after the other, the most frequent first.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..ranges.interval import Interval, linear
from .digits import signed_digits

_FAR = 1 << 10
"""More than any two digits are apart, as a score counts them."""
_MOST_TAKEN = 256
"""Most terms of one sum of which all pairs are looked at when they are added up."""

type Term = tuple[int, int, int]
"""A node, how far it is shifted to the left, and its sign, 1 or -1."""


def bits_of(values: Interval) -> int:
    """The bits of a two's complement number that holds an interval."""
    return max(values[1].bit_length(), (-values[0] - 1).bit_length() if values[0] < 0 else 0) + 1


@dataclass(frozen=True, slots=True)
class Node:
    """An input, or ``left + sign * right`` of two earlier nodes, both shifted.

    Attributes:
        values: where it lies.
        depth: additions one after the other.
        cost: bits of adder that it takes; the low bits under a shifted operand are wires.
    """

    values: Interval
    depth: int
    left: tuple[int, int] = (-1, 0)
    right: tuple[int, int] = (-1, 0)
    sign: int = 1
    cost: int = 0

    @property
    def is_input(self) -> bool:
        """Whether it is no sum."""
        return self.left[0] < 0


@dataclass(slots=True)
class Plan:
    """A graph of adders.

    Attributes:
        nodes: inputs first, every node behind its operands.
        outputs: for each row a node and its shift; None for a row of zeros.
    """

    nodes: list[Node]
    outputs: list[tuple[int, int] | None]

    @property
    def adders(self) -> int:
        """Additions and subtractions."""
        return sum(not node.is_input for node in self.nodes)

    @property
    def bits(self) -> int:
        """Bits of all adders."""
        return sum(node.cost for node in self.nodes)

    @property
    def depth(self) -> int:
        """Additions on the longest path."""
        return max((self.nodes[o[0]].depth for o in self.outputs if o is not None), default=0)


class DepthError(ValueError):
    """A limit of depth that no graph keeps; ``least`` is the lowest that one does."""

    def __init__(self, least: int) -> None:
        super().__init__(f"no graph of adders is less than {least} deep")
        self.least = least


def least_depth(rows: Sequence[Mapping[int, int]], constants: Sequence[int] = ()) -> int:
    """The additions that must follow each other, for the digits of the weights."""
    counts = [sum(len(signed_digits(c)) for c in row.values()) for row in rows]
    for number, row in enumerate(rows):
        constant = constants[number] if constants else 0
        counts[number] += constant != 0 or _is_negative(row)
    return max(max(counts, default=0) - 1, 0).bit_length()


def _is_negative(row: Mapping[int, int]) -> bool:
    """Whether no digit of a row is positive: its terms are then taken from 0."""
    return bool(row) and all(d < 0 for c in row.values() for _, d in signed_digits(c))


def plan_adders(
    rows: Sequence[Mapping[int, int]],
    inputs: Sequence[Interval],
    depth: int | None = None,
    constants: Sequence[int] = (),
) -> Plan:
    """A graph of adders for sums of inputs times constants.

    Args:
        rows: for each output its weights, by the number of the input.
        inputs: where each input lies.
        constants: what is added to each row; none for zeros. Their nodes follow the inputs.
        depth: the most additions that may follow each other; None for no limit.

    Raises:
        DepthError: the digits of a row need more additions one after the other.
    """
    least = least_depth(rows, constants)
    if depth is not None and depth < least:
        raise DepthError(least)
    search = _Search(rows, inputs, constants, depth)
    search.share()
    return search.finish()


class _Search:
    """Sums of which pairs of terms become nodes."""

    def __init__(
        self,
        rows: Sequence[Mapping[int, int]],
        inputs: Sequence[Interval],
        constants: Sequence[int],
        depth: int | None,
    ) -> None:
        wanted = [
            c if c or _is_negative(row) else None
            for c, row in zip(constants or [0] * len(rows), rows, strict=True)
        ]
        distinct = sorted({c for c in wanted if c is not None})
        places = {c: len(inputs) + k for k, c in enumerate(distinct)}
        self.constants: list[Term | None] = [
            None if c is None else (places[c], 0, 1) for c in wanted
        ]
        self.negated: dict[int, int] = {}
        self.inputs = [*inputs, *((c, c) for c in distinct)]
        self.budget = None if depth is None else 1 << depth
        self.nodes = [Node(values, 0) for values in self.inputs]
        self.forms: list[dict[int, int]] = [{k: 1} for k in range(len(self.inputs))]
        self.rows: list[dict[tuple[int, int], int]] = []
        for row in rows:
            terms: dict[tuple[int, int], int] = {}
            for position, weight in row.items():
                for place, digit in signed_digits(weight):
                    terms[position, place] = digit
            self.rows.append(terms)
        self.counts: dict[tuple[int, int, int, int], int] = defaultdict(int)
        self.heap: list[tuple[int, tuple[int, int, int, int]]] = []
        self.capped: dict[tuple[int, int, int, int], int] = {}
        self.of_node: dict[int, set[int]] = defaultdict(set)
        for number, terms in enumerate(self.rows):
            for node, _ in terms:
                self.of_node[node].add(number)

    # Pairs: (node, node, distance of their shifts, product of their signs).

    @staticmethod
    def _pair(a: tuple[int, int], b: tuple[int, int], sign: int) -> tuple[int, int, int, int]:
        if a > b:
            a, b = b, a
        return a[0], b[0], b[1] - a[1], sign

    def share(self) -> None:
        """Make nodes of pairs while one saves an adder."""
        for terms in self.rows:
            items = list(terms.items())
            for k, (a, sign) in enumerate(items):
                for b, other in items[:k]:
                    self.counts[self._pair(a, b, sign * other)] += 1
        for pair, count in self.counts.items():
            if count > 1:
                self._push(pair, count)
        while self.heap:
            score, pair = heapq.heappop(self.heap)
            count = min(self.counts[pair], self.capped.get(pair, 1 << 30))
            if count < 2:
                continue
            if -score != self._score(pair, count):
                self._push(pair, count)
                continue
            found = list(self._occurrences(pair))
            if len(found) < count:
                self.capped[pair] = len(found)
                if len(found) > 1:
                    self._push(pair, len(found))
                continue
            self._take(pair, found)

    @staticmethod
    def _score(pair: tuple[int, int, int, int], count: int) -> int:
        """The most frequent pairs first; of those the least shifted, whose sums have the fewest bits."""
        return count * _FAR - min(abs(pair[2]), _FAR - 1)

    def _push(self, pair: tuple[int, int, int, int], count: int) -> None:
        heapq.heappush(self.heap, (-self._score(pair, count), pair))

    def _made(self, left: int, right: int, distance: int, sign: int) -> tuple[Node, int, int]:
        """The node of a pair, the shift of its place from that of the left term, and its sign."""
        low = min(distance, 0)
        a, b = (left, -low), (right, distance - low)
        flip = 1
        if sign < 0 and a[1] > 0:  # nothing is shifted that another is taken from
            a, b, flip = b, a, -1
        return self._sum(a, b, sign), low, flip

    def _sum(self, a: tuple[int, int], b: tuple[int, int], sign: int) -> Node:
        one, two = self.nodes[a[0]], self.nodes[b[0]]
        if self.forms[a[0]].keys().isdisjoint(self.forms[b[0]]):
            sides = (one.values, 1 << a[1]), (two.values, sign << b[1])
            values = linear(0, sides)
        else:
            values = linear(0, ((self.inputs[k], c) for k, c in self._form(a, b, sign).items()))
        cost = bits_of(values) - (max(a[1], b[1]) if sign > 0 else b[1])
        return Node(values, 1 + max(one.depth, two.depth), a, b, sign, max(cost, 1))

    def _form(self, a: tuple[int, int], b: tuple[int, int], sign: int) -> dict[int, int]:
        form = {k: c << a[1] for k, c in self.forms[a[0]].items()}
        for k, c in self.forms[b[0]].items():
            form[k] = form.get(k, 0) + sign * (c << b[1])
        return form

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        self.forms.append(self._form(node.left, node.right, node.sign))
        return len(self.nodes) - 1

    def _occurrences(
        self, pair: tuple[int, int, int, int]
    ) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
        """Rows and terms that a pair can be taken from, none twice."""
        left, right, distance, sign = pair
        here, there = self.of_node[left], self.of_node[right]
        for number in sorted(here & there):
            terms, used = self.rows[number], set[tuple[int, int]]()
            room = self._room(number, pair)
            for a in sorted(t for t in terms if t[0] == left):
                b = (right, a[1] + distance)
                if b not in terms or terms[a] * terms[b] != sign or a in used or b in used:
                    continue
                room -= self._spent(pair)
                if room < 0:
                    break
                used |= {a, b}
                yield number, a, b

    def _room(self, number: int, pair: tuple[int, int, int, int]) -> int:
        """What the limit of depth leaves a row: its terms, each two to the power of its depth."""
        if self.budget is None:
            return 1 << 30
        taken = sum(1 << self.nodes[node].depth for node, _ in self.rows[number])
        return self.budget - taken - (self.constants[number] is not None)

    def _spent(self, pair: tuple[int, int, int, int]) -> int:
        if self.budget is None:
            return 0
        a, b = self.nodes[pair[0]].depth, self.nodes[pair[1]].depth
        return (2 << max(a, b)) - (1 << a) - (1 << b)

    def _take(
        self,
        pair: tuple[int, int, int, int],
        found: Sequence[tuple[int, tuple[int, int], tuple[int, int]]],
    ) -> None:
        node, low, flip = self._made(*pair)
        made = self._add(node)
        changed: set[tuple[int, int, int, int]] = set()
        for number, a, b in found:
            terms = self.rows[number]
            sign = terms[a] * flip
            self._forget(terms, a)
            self._forget(terms, b)
            place = (made, a[1] + low)
            for other, of_other in terms.items():
                key = self._pair(place, other, sign * of_other)
                self.counts[key] += 1
                changed.add(key)
            terms[place] = sign
            self.of_node[made].add(number)
            for gone in (a[0], b[0]):
                if not any(t[0] == gone for t in terms):
                    self.of_node[gone].discard(number)
        for key in changed:
            self.capped.pop(key, None)
            if self.counts[key] > 1:
                self._push(key, self.counts[key])

    def _forget(self, terms: dict[tuple[int, int], int], gone: tuple[int, int]) -> None:
        sign = terms.pop(gone)
        for other, of_other in terms.items():
            self.counts[self._pair(gone, other, sign * of_other)] -= 1

    def finish(self) -> Plan:
        """Add up what is left of each row."""
        pairs = zip(self.rows, self.constants, strict=True)
        outputs = [self._added(terms, constant) for terms, constant in pairs]
        return Plan(self.nodes, outputs)

    def _added(
        self, terms: Mapping[tuple[int, int], int], constant: Term | None
    ) -> tuple[int, int] | None:
        left = [(node, shift, sign) for (node, shift), sign in terms.items()]
        if constant is not None:
            left.append(constant)
        if left and all(sign < 0 for *_, sign in left):
            self._turn(left)
        known: dict[tuple[Term, Term], tuple[Node, int, int]] = {}
        while len(left) > 1:
            a, b, node, low, flip = self._next(left, known)
            made = self._add(node)
            left = [t for t in left if t not in (a, b)]
            left.append((made, a[1] + low, a[2] * flip))
        return left[0][:2] if left else None

    def _turn(self, left: list[Term]) -> None:
        """Let one of several negative terms be positive: a difference, taken the other way round."""
        able = [t for t in left if self._can_negate(t[0])]
        node, shift, sign = min(
            able, key=lambda t: (t[0] not in self.negated, self.nodes[t[0]].cost)
        )
        left[left.index((node, shift, sign))] = (self._negative(node), shift, -sign)

    def _can_negate(self, number: int) -> bool:
        node = self.nodes[number]
        if node.is_input:
            return False
        return node.sign < 0 or any(self._can_negate(side) for side, _ in (node.left, node.right))

    def _negative(self, number: int) -> int:
        """The negative of a node that has a difference in it, no deeper than the node."""
        if number not in self.negated:
            node = self.nodes[number]
            left, right = node.left, node.right
            if node.sign > 0:
                if not self._can_negate(left[0]):
                    left, right = right, left
                left, right = right, (self._negative(left[0]), left[1])
            made = self._add(self._sum(right, left, -1))
            self.negated[number], self.negated[made] = made, number
        return self.negated[number]

    def _next(
        self, left: list[Term], known: dict[tuple[Term, Term], tuple[Node, int, int]]
    ) -> tuple[Term, Term, Node, int, int]:
        """The two terms to add next: the fewest bits of adder of those that the limit of depth allows."""
        return min(self._choices(left, known), key=lambda c: (c[2].cost, c[2].depth))

    def _choices(
        self, left: list[Term], known: dict[tuple[Term, Term], tuple[Node, int, int]]
    ) -> Iterator[tuple[Term, Term, Node, int, int]]:
        """Pairs of terms with the node of their sum, the shift of its place and its sign."""
        spare = 1 << 30
        if self.budget is not None:
            spare = self.budget - sum(1 << self.nodes[node].depth for node, *_ in left)
        positive = sum(sign > 0 for *_, sign in left)
        pool = sorted(left, key=lambda t: self.nodes[t[0]].depth)[:_MOST_TAKEN]
        for k, a in enumerate(pool):
            for b in pool[:k]:
                depths = self.nodes[a[0]].depth, self.nodes[b[0]].depth
                if (2 << max(depths)) - (1 << depths[0]) - (1 << depths[1]) > spare:
                    continue
                one, two = (a, b) if (a[0], a[1]) < (b[0], b[1]) else (b, a)
                sign = one[2] * two[2]
                if (one, two) not in known:
                    known[one, two] = self._made(one[0], two[0], two[1] - one[1], sign)
                node, low, flip = known[one, two]
                if sign < 0 and positive == 1 and one[2] * flip < 0:  # a positive term stays
                    node, flip = self._sum(node.right, node.left, -1), -flip
                yield one, two, node, low, flip
