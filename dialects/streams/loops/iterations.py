"""The tasks of a loop's body: which iteration of one must be over before another may start its own.

Everything is counted out as in :mod:`..network`: the elements each task touches in each iteration. An
array that every iteration writes before it reads it gets two copies, or as many as are asked for, that
iterations take in turn, so that one task fills one while another still reads another one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from ..._mlir import ir
from ...affine.loops import induction_variable, is_affine_loop, spec_of, walk
from ...core.effects import EffectAnalysis, Key
from ...core.signature import functions_of
from ..network import MOST_STEPS, Element
from ..processes import Process
from ..trace import Trace
from ..values import free_values

COPIES = "copies"
"""Attribute of a loop of tasks: how many copies its iterations take in turn, where it is not two."""
MOST_TRIED = 1 << 17
"""Accesses counted out for a loop that nobody marked, and of an array that is declared in its loop: a third
of a second. Where there are more, tasks may touch any element of the latter; each iteration has its own."""


@dataclass(slots=True)
class Needs:
    """What the tasks of a loop wait for.

    Attributes:
        distances: by (first, second) task: iteration n of the second starts when iteration
            n - distance of the first is over.
        doubled: arrays that get copies; ``copies`` of them.
        causes: for each pair an array that is the reason.
    """

    distances: dict[tuple[int, int], int] = field(default_factory=dict)
    doubled: list[ir.Value] = field(default_factory=list)
    copies: int = 2
    causes: dict[tuple[int, int], ir.Value] = field(default_factory=dict)

    def add(self, first: int, second: int, distance: int, array: ir.Value) -> None:
        """The second task waits for the first, because of an array."""
        pair = first, second
        if distance < self.distances.get(pair, distance + 1):
            self.distances[pair] = distance
            self.causes[pair] = array


@dataclass(slots=True)
class _Uses:
    """The iterations in which a task touches each element of one array, in order.

    ``unknown``: it also touches elements that are not known. ``stores``: it writes some.
    """

    touches: dict[Element, list[int]] = field(default_factory=lambda: defaultdict(list))
    writes: dict[Element, list[int]] = field(default_factory=lambda: defaultdict(list))
    unknown: bool = False
    stores: bool = False

    def note(self, element: Element, iteration: int, *, writes: bool) -> None:
        """An access in an iteration."""
        for kind in (self.touches, self.writes) if writes else (self.touches,):
            known = kind[element]
            if not known or known[-1] != iteration:
                known.append(iteration)


def copies_of(loop: ir.Operation) -> int:
    """How many copies of an array the iterations of a loop of tasks take in turn."""
    return ir.IntegerAttr(loop.attributes[COPIES]).value if COPIES in loop.attributes else 2


def finish_time(
    durations: Sequence[Sequence[int]], distances: Mapping[tuple[int, int], int]
) -> int:
    """When the last iteration of every task is over, if each starts as soon as it may.

    Args:
        durations: for each iteration what each task takes.
    """
    ends: list[list[int]] = []
    for turn, tasks in enumerate(durations):
        row: list[int] = []
        ends.append(row)
        for number, duration in enumerate(tasks):
            waits = [ends[turn - 1][number]] if turn else []
            for (first, second), distance in distances.items():
                if second == number and distance <= turn:
                    waits.append(ends[turn - distance][first])
            row.append(max(waits, default=0) + duration)
    return max(ends[-1], default=0) if ends else 0


def find_needs(
    module: ir.Operation, loop: ir.Operation, tasks: Sequence[Process], *, few: bool = False
) -> Needs | None:
    """What the tasks of a loop with constant bounds wait for.

    ``few``: None where more than :data:`MOST_TRIED` accesses would have to be counted out.
    """
    found = Needs(copies=copies_of(loop))
    left = MOST_TRIED
    for values, exact in _shared(module, tasks):
        own = len(values) == 1 and _is_declared_in(values[0], set(walk(loop)))
        most = MOST_TRIED if own else MOST_STEPS
        counted = _Count(module, loop, tasks, values, exact, left if few else most)
        left = counted.left
        if few and left < 0:
            return None
        pairs = _distances(counted.rounds, found.copies, doubled=False)
        waits = any(first > second and d < found.copies for (first, second), d in pairs.items())
        if waits and len(values) == 1 and _is_private(values[0], loop, counted):
            found.doubled.append(values[0])
            pairs = _distances(counted.rounds, found.copies, doubled=True)
        for (first, second), distance in pairs.items():
            found.add(first, second, distance, values[0])
    return found


def _shared(
    module: ir.Operation, tasks: Sequence[Process]
) -> Iterator[tuple[list[ir.Value], bool]]:
    """Arrays that two tasks touch, those that may be one array together, and whether subscripts tell."""
    effects = EffectAnalysis(module)
    users: dict[Key, set[int]] = defaultdict(set)
    groups: dict[Key, tuple[list[ir.Value], bool]] = {}
    for number, task in enumerate(tasks):
        for value in free_values(task.ops):
            if not isinstance(value.type, ir.MemRefType):
                continue
            memory = effects.memory_of(value)
            users[memory.key].add(number)
            values, exact = groups.get(memory.key, ([], True))
            if value not in values:
                values = [*values, value]
            groups[memory.key] = values, exact and memory.exact
    yield from (group for key, group in groups.items() if len(users[key]) > 1)


def _is_declared_in(value: ir.Value, inside: set[ir.Operation]) -> bool:
    return not isinstance(value, ir.BlockArgument) and value.owner.operation in inside


def _is_private(value: ir.Value, loop: ir.Operation, counted: _Count) -> bool:
    """Whether no iteration reads what another one wrote, and nothing else uses the array."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "memref.alloc":
        return False
    inside = set(walk(loop))
    if _is_declared_in(value, inside):
        return True
    return counted.covered and all(use.owner.operation in inside for use in value.uses)


class _Count:
    """What each task touches of one array, in each run of the loop.

    Attributes:
        rounds: for each iteration of the loops around, the uses of each task.
        covered: whether each iteration writes every element before it reads it.
        left: accesses that could still be counted; below 0 where they were too many.
    """

    def __init__(
        self,
        module: ir.Operation,
        loop: ir.Operation,
        tasks: Sequence[Process],
        values: list[ir.Value],
        exact: bool,
        most: int,
    ) -> None:
        self._exact = exact
        self.left = most
        self.rounds: list[list[_Uses]] = []
        self.covered = exact
        around = _loops_around(loop)
        given = [induction_variable(op) for op in (*around, loop)]
        functions, known = functions_of(module), dict.fromkeys(values, 0)
        self._traces = [Trace(functions, task.ops, known, given) for task in tasks]
        runs = prod(len(_iterators(op)) for op in (*around, loop))
        if runs * sum(trace.fewest() for trace in self._traces) > most:
            self.left = -1  # known without counting
            self._give_up()
            return
        for point in product(*(_iterators(op) for op in around)):
            self.rounds.append([_Uses() for _ in tasks])
            for turn, value in enumerate(_iterators(loop)):
                self._iteration(turn, (*point, value))
                if self.left < 0:
                    self._give_up()
                    return

    def _iteration(self, turn: int, env: tuple[int, ...]) -> None:
        written: set[Element] = set()
        filled = False
        for trace, use in zip(self._traces, self.rounds[-1], strict=True):
            for access, index, _ in trace.events(env):
                self.left -= 1
                if self.left < 0:
                    return
                use.stores = use.stores or access.writes
                if access.whole or index is None or not self._exact:
                    use.unknown = True
                    self.covered = self.covered and (filled or not access.reads)
                    filled = filled or (access.whole and access.certain and not access.reads)
                    continue
                if access.reads and not filled and index not in written:
                    self.covered = False
                use.note(index, turn, writes=access.writes)
                if access.writes and access.certain:
                    written.add(index)

    def _give_up(self) -> None:
        """Take every task that touches the array to touch any element in every iteration."""
        self.covered = False
        self.rounds = [[_Uses() for _ in self._traces]]
        for trace, use in zip(self._traces, self.rounds[0], strict=True):
            use.unknown = bool(trace.accesses)
            use.stores = any(access.writes for access in trace.accesses)


def _loops_around(loop: ir.Operation) -> list[ir.Operation]:
    """The loops of constant bounds right around a loop, outermost first.

    Iterators of others stay unknown, and so do subscripts that they are in.
    """
    found: list[ir.Operation] = []
    around = loop.parent.operation
    while is_affine_loop(around) and spec_of(around).constant_bounds() is not None:
        found.insert(0, around)
        around = around.parent.operation
    return found


def _iterators(loop: ir.Operation) -> range:
    spec = spec_of(loop)
    low, high = spec.constant_bounds() or (0, 0)
    return range(low, high, spec.step)


def _distances(
    rounds: list[list[_Uses]], copies: int, *, doubled: bool
) -> dict[tuple[int, int], int]:
    """For each pair of tasks the least number of iterations between two accesses that must keep order."""
    found: dict[tuple[int, int], int] = {}
    for uses in rounds:
        for first, second in product(range(len(uses)), repeat=2):
            if first == second:
                continue
            least = 0 if first < second else copies if doubled else 1
            distance = _distance(uses[first], uses[second], least, doubled=doubled)
            if distance is not None:
                found[first, second] = min(distance, found.get((first, second), distance))
    return found


def _distance(first: _Uses, second: _Uses, least: int, *, doubled: bool) -> int | None:
    """Iterations from an access of the first task to one of the second that must come later."""
    if not (first.stores or second.stores):
        return None
    if first.unknown or second.unknown or doubled:
        touched = (first.unknown or first.touches) and (second.unknown or second.touches)
        return least if touched else None
    best: int | None = None
    for before, after in ((first.writes, second.touches), (first.touches, second.writes)):
        for element, turns in before.items():
            later = after.get(element)
            if not later:
                continue
            for turn in turns:
                place = bisect_left(later, turn + least)
                if place < len(later):
                    gap = later[place] - turn
                    best = gap if best is None else min(best, gap)
            if best == least:
                return best
    return best


__all__ = ["COPIES", "Needs", "copies_of", "find_needs", "finish_time"]
