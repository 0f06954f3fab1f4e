"""Whether what a function loads or stores of an array is a regular walk: runs of neighbours.

A transfer engine can then fetch the elements before the function asks for them, and needs to be told
nothing while it runs. An array that is loaded *and* stored is one where the stores go the way of the
loads: the n-th word stored stands where the n-th word was loaded, and is stored later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd, prod
from typing import Any, NoReturn

from .._mlir import ir
from ..streams.trace import Access, Branch, Loop, Node, Trace


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of ``length`` neighbours, from ``base`` on and further at every turn of the loops around.

    Attributes:
        dims: extent and stride of the loops, outermost first, in elements.
        word: how many neighbours the function takes at once; they divide ``length``.
    """

    base: int
    dims: tuple[tuple[int, int], ...]
    length: int
    word: int

    @property
    def count(self) -> int:
        """How many runs there are."""
        return prod(extent for extent, _ in self.dims)

    @property
    def elements(self) -> int:
        """How many elements pass."""
        return self.count * self.length

    @property
    def unit(self) -> int:
        """Elements of which every start and every length is a multiple."""
        return gcd(self.base, self.word, *(stride for _, stride in self.dims))

    def words_of(self, line: int) -> int:
        """At most so many lines of ``line`` elements are touched, counted anew in each run."""
        aligned = self.base % line == 0 and all(stride % line == 0 for _, stride in self.dims)
        each = -(-self.length // line) if aligned else (self.length + line - 2) // line + 1
        return self.count * each

    def lies_in(self, count: int) -> bool:
        """Whether every run is within an array of so many elements."""
        reach = [stride * (extent - 1) for extent, stride in self.dims]
        low = self.base + sum(min(0, each) for each in reach)
        high = self.base + sum(max(0, each) for each in reach) + self.length
        return low >= 0 and high <= count

    @property
    def is_once(self) -> bool:
        """Whether it is plain that no element comes twice."""
        span = self.length
        for stride, extent in sorted((abs(stride), extent) for extent, stride in self.dims):
            if stride < span:
                return False
            span += stride * (extent - 1)
        return True


MOST_TURNS = 1 << 62
"""More than a loop has."""


DATA_DECIDE = "data decide which element is used"
"""Why an array that could be used by requests has no runs."""


class IrregularError(Exception):
    """An array's accesses are no such walk; the text is a clause that says why."""


@dataclass(frozen=True, slots=True, eq=False)
class _Linear:
    """A sum of loop counters with factors, by slot, and a constant.

    Attributes:
        turns: of the loops around, by slot: a counter goes from 0 to one less.
    """

    terms: dict[int, int]
    constant: int = 0
    turns: Mapping[int, int] = field(default_factory=dict)

    def __add__(self, other: Any) -> _Linear:
        more = _linear(other)
        slots = self.terms.keys() | more.terms.keys()
        terms = {s: self.terms.get(s, 0) + more.terms.get(s, 0) for s in slots}
        terms = {s: c for s, c in terms.items() if c}
        return _Linear(terms, self.constant + more.constant, self.turns or more.turns)

    def __mul__(self, other: Any) -> _Linear:
        mine, factor = (self, other) if isinstance(other, int) else (other, self.number())
        terms = {s: c * factor for s, c in mine.terms.items() if factor}
        return _Linear(terms, mine.constant * factor, mine.turns)

    def __neg__(self) -> _Linear:
        return self * -1

    def __floordiv__(self, other: Any) -> _Linear:
        """Exact where the part that the divisor does not divide stays between two of its multiples."""
        by = _linear(other).number()
        whole = {s: c // by for s, c in self.terms.items() if c % by == 0}
        rest = [c * (self.turns[s] - 1) for s, c in self.terms.items() if c % by]
        low = self.constant + sum(min(0, reach) for reach in rest)
        high = self.constant + sum(max(0, reach) for reach in rest)
        if low // by != high // by:
            raise IrregularError("a bound or a division depends on a loop around it")
        return _Linear(whole, low // by, self.turns)

    def __mod__(self, other: Any) -> _Linear:
        by = _linear(other).number()
        return self + (self // by) * -by

    __radd__ = __add__
    __rmul__ = __mul__

    def __rfloordiv__(self, other: int) -> _Linear:
        return _Linear({}, other // self.number())

    def __rmod__(self, other: int) -> _Linear:
        return _Linear({}, other % self.number())

    def number(self) -> int:
        """The number it is."""
        if self.terms:
            raise IrregularError("a bound or a division depends on a loop around it")
        return self.constant


def _linear(value: Any) -> _Linear:
    return value if isinstance(value, _Linear) else _Linear({}, value)


@dataclass(slots=True)
class _Part:
    """The accesses of one direction below some loops: their words follow each other.

    Attributes:
        at: the element with the lowest number of a word.
        limits: first and last turn of loops by slot, where conditions leave some out.
        loops: slot and extent of the loops, outermost first.
    """

    writes: bool
    at: _Linear
    word: int
    limits: dict[int, tuple[int, int]]
    loops: list[tuple[int, int]] = field(default_factory=list)

    def turn(self, slot: int, extent: int) -> bool:
        """Put a loop around; whether any of its turns is left."""
        first, last = self.limits.get(slot, (0, extent - 1))
        first, last = max(first, 0), min(last, extent - 1)
        self.at += self.at.terms.get(slot, 0) * first
        self.loops.insert(0, (slot, last - first + 1))
        return first <= last


@dataclass(frozen=True, slots=True)
class Walks:
    """What a function loads and stores of an array; None where it does not.

    Attributes:
        places: of each access its place in the word that it is a part of.
    """

    loads: Runs | None
    stores: Runs | None
    places: dict[ir.Operation, int]


def walks_of(trace: Trace, shape: Sequence[int]) -> Walks:
    """What is loaded and stored of the one array that a trace watches.

    Raises:
        IrregularError: these are no such walks.
    """
    if not trace.accesses:
        raise IrregularError("nothing reads or writes it")
    for access in trace.accesses:
        if access.whole:
            raise IrregularError("it is used as a whole")
        if not access.is_known:
            raise IrregularError(DATA_DECIDE)
    reader = _Reader(shape, trace.slots)
    parts = reader.chain(list(trace.tree))
    found = {part.writes: _runs(part) for part in parts}
    if not all(runs.lies_in(prod(shape)) for runs in found.values()):
        _fail("a subscript leaves it")
    if len(parts) == 2:
        load, store = parts
        if (
            load.writes
            or not _is_behind(load, store)
            or found[False] != found[True]
            or not found[True].is_once
        ):
            _fail("it is stored in another order than loaded, or before")
    return Walks(found.get(False), found.get(True), reader.places)


def _is_behind(load: _Part, store: _Part) -> bool:
    """Whether conditions leave the n-th word's store behind its load.

    They leave out the same turns of loops around both, or as many of the outermost one, later ones of loads.
    """
    loads, stores = dict(load.loops), dict(store.loops)
    common = [slot for slot, _ in load.loops if slot in stores]
    differ = [slot for slot in common if load.limits.get(slot) != store.limits.get(slot)]
    if not differ:
        return True
    first = differ[0]
    begins = [part.limits.get(first, (0, 0))[0] for part in (load, store)]
    moved = differ == common[:1] and loads[first] == stores[first]
    return moved and begins[0] <= begins[1]


class _Reader:
    def __init__(self, shape: Sequence[int], slots: int) -> None:
        self._shape = shape
        self._env: list[Any] = [0] * slots
        self._limits: dict[int, tuple[int, int]] = {}
        self._turns: dict[int, int] = {}
        self.places: dict[ir.Operation, int] = {}

    def chain(self, nodes: list[Node]) -> list[_Part]:
        """The parts below a list of nodes: one, or one that loads and one that stores behind it."""
        items = _items(nodes)
        if len(items) > 2:
            _fail("more than one nest of loops uses it")
        if len(items) == 2:
            self._check_block(nodes, items)
            first, second = ([p] if (p := self._single(i)) else [] for i in items)
            both = [*first, *second]
            if [p.writes for p in both] == [True, False]:
                _fail("it is loaded after it is stored")
            if [p.writes for p in both] not in ([False, True], [True], [False]):
                _fail("more than one nest of loops uses it")
            return both
        return self._item(items[0]) if items else []

    def _check_block(self, nodes: list[Node], items: list[list[Access] | Node]) -> None:
        """Loads and stores that stand in one block: each element is loaded before it is stored."""
        if not all(isinstance(item, list) for item in items):
            return
        stored: set[int] = set()
        for access in nodes:
            if isinstance(access, Access):
                place = self._element(access).constant
                if access.reads and place in stored:
                    _fail("an element is loaded after it is stored")
                if access.writes:
                    stored.add(place)

    def _single(self, item: list[Access] | Node) -> _Part | None:
        parts = self._item(item)
        if len(parts) > 1:
            _fail("more than one nest of loops uses it")
        return parts[0] if parts else None

    def _item(self, item: list[Access] | Node) -> list[_Part]:
        if isinstance(item, list):
            return [self._word(item)]
        if isinstance(item, Branch):
            return self._branch(item)
        if not isinstance(item, Loop):
            return []
        low = max(_linear(f(self._env)).number() for f in item.lower)
        high = min(_linear(f(self._env)).number() for f in item.upper)
        extent = max(0, -(-(high - low) // item.step))
        if extent == 0:
            return []
        if extent == 1:
            self._env[item.slot] = low
            return self.chain(item.body)
        self._turns[item.slot] = extent
        self._env[item.slot] = _Linear({item.slot: item.step}, low, self._turns)
        return [part for part in self.chain(item.body) if part.turn(item.slot, extent)]

    def _branch(self, branch: Branch) -> list[_Part]:
        """What is below a condition that is known, or that leaves out the first or last turns of loops."""
        before = dict(self._limits)
        rows = [(_linear(row(self._env)), equal) for row, equal in branch.rows]
        known = [(r.constant, equal) for r, equal in rows if not r.terms]
        if not all(v == 0 if equal else v >= 0 for v, equal in known):
            return self.chain(branch.otherwise)
        moving = [(r, equal) for r, equal in rows if r.terms]
        if moving and branch.otherwise:
            _fail("a condition chooses between two of its accesses")
        for row, equal in moving:
            self._limit(row, equal=equal)
        parts = self.chain(branch.then)
        self._limits = before
        return parts

    def _limit(self, row: _Linear, *, equal: bool) -> None:
        """Leave out the turns of a loop in which a row is negative, or is not 0."""
        if len(row.terms) > 1:
            _fail("a condition depends on several loops")
        [(slot, factor)] = row.terms.items()
        first, last = self._limits.get(slot, (0, MOST_TURNS))
        least = -(row.constant // factor) if factor > 0 else 0
        most = row.constant // -factor if factor < 0 else MOST_TURNS
        if equal:
            turn, rest = divmod(-row.constant, factor)
            least, most = (turn, turn) if rest == 0 else (1, 0)
        self._limits[slot] = max(first, least), min(last, most)

    def _word(self, accesses: list[Access]) -> _Part:
        """Accesses of one direction in one block: neighbours, each once."""
        found = [self._element(access) for access in accesses]
        lowest = min(found, key=lambda each: each.constant)
        places = sorted(each.constant - lowest.constant for each in found)
        if any(each.terms != lowest.terms for each in found) or places != list(range(len(found))):
            _fail("elements that are no neighbours are used in one iteration")
        for access, each in zip(accesses, found, strict=True):
            self.places[access.op] = each.constant - lowest.constant
        return _Part(accesses[0].writes, lowest, len(found), dict(self._limits))

    def _element(self, access: Access) -> _Linear:
        number = _Linear({})
        for formula, extent in zip(access.subscripts or (), self._shape, strict=True):
            number = number * extent + formula(self._env)
        return number


def _items(nodes: list[Node]) -> list[list[Access] | Node]:
    """The nodes, accesses that stand in one block as one item for each direction."""
    groups: dict[tuple[ir.Block, bool], list[Access]] = {}
    found: list[list[Access] | Node] = []
    for node in nodes:
        if not isinstance(node, Access):
            found.append(node)
            continue
        key = node.op.block, node.writes
        if key not in groups:
            groups[key] = []
            found.append(groups[key])
        groups[key].append(node)
    return found


def _runs(part: _Part) -> Runs:
    """Runs as long as the words that follow each other are neighbours."""
    length = part.word
    dims: list[tuple[int, int]] = []
    for slot, extent in reversed(part.loops):
        stride = part.at.terms.get(slot, 0)
        if extent == 1:
            continue
        if not dims and stride == length:
            length *= extent
        elif dims and stride == dims[-1][0] * dims[-1][1]:
            dims[-1] = dims[-1][0] * extent, dims[-1][1]
        else:
            dims.append((extent, stride))
    return Runs(part.at.constant, tuple(dims[::-1]), length, part.word)


def _fail(why: str) -> NoReturn:
    raise IrregularError(why)
