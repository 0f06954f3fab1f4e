"""Whether processes joined by FIFOs do what the function does with arrays in their place.

Everything is counted out: each process's accesses in order (:mod:`trace`), each FIFO's elements as
they are written and read, and whether the depths let all processes come to an end. Where the processes
repeat what they do, two iterations stand for all (:mod:`allo.dialects.affine.repeated`).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from .._mlir import ir
from ..affine.loops import string_attribute
from ..affine.repeated import all_repeated
from ..core.locations import place_of
from ..core.signature import callee_of, functions_of
from ..diagnostics import IllegalTransformError, SourcePlace
from .processes import Process, Section, section_of
from .space import StreamSpace, stream_space
from .trace import Access, Event, Trace

MOST_STEPS = 1 << 22
"""Accesses of FIFOs and shared arrays that are counted out; of more it is not known what happens."""

Fifo = tuple[int, tuple[int, ...]]
Element = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StreamArray:
    """An array that is FIFOs."""

    value: ir.Value
    name: str
    space: StreamSpace

    @property
    def place(self) -> SourcePlace | None:
        """Where the array is declared in the user's Python."""
        return place_of(self.value.owner.operation)


class Step(NamedTuple):
    """One write or read of a FIFO; ``iteration`` numbers those of pipelined loops, 0 elsewhere."""

    fifo: Fifo
    element: Element
    writes: bool
    access: Access
    iteration: int


@dataclass(frozen=True, slots=True)
class Ends:
    """The processes at the two ends of a FIFO, by number."""

    writer: int
    reader: int


class _Turn(NamedTuple):
    """What a process does at once: one step, or those of an iteration of a pipelined loop.

    Attributes:
        change: by how much the FIFOs are fuller behind it; a process only writes or only reads one.
    """

    steps: tuple[Step, ...]
    change: dict[Fifo, int]

    def blocked(self, fill: Mapping[Fifo, int], room: Mapping[Fifo, int]) -> Step | None:
        """A step for which there is no element, or no room."""
        for fifo, many in self.change.items():
            if not 0 <= fill.get(fifo, 0) + many <= room[fifo]:
                return next(s for s in self.steps if s.fifo == fifo)
        return None


def _turns(steps: Sequence[Step]) -> list[_Turn]:
    found = []
    for iteration, group in groupby(steps, key=lambda s: s.iteration):
        if not iteration:
            found += [_Turn((s,), {s.fifo: 1 if s.writes else -1}) for s in group]
            continue
        members = tuple(group)
        change: dict[Fifo, int] = {}
        for step in members:
            change[step.fifo] = change.get(step.fifo, 0) + (1 if step.writes else -1)
        found.append(_Turn(members, change))
    return found


class Network:
    """The processes of one function and the FIFOs between them.

    Args:
        section: the processes; by default those between the first and the last use of a FIFO.

    Attributes:
        after: for a process those that are over before it starts, by number; absent: none.
        steps: what each process does with FIFOs, in order; of processes that repeat an iteration
            (:mod:`allo.dialects.affine.repeated`) those of two.
    """

    def __init__(
        self,
        module: ir.Operation,
        function: ir.Operation,
        arrays: Sequence[StreamArray],
        section: Section | None = None,
    ) -> None:
        self.function = function
        self.arrays = list(arrays)
        self.module = module
        for array in self.arrays:
            if (
                array.space.labels
                and len(array.space.labels) != ir.MemRefType(array.value.type).rank
            ):
                raise IllegalTransformError(
                    f"{array.name} got another shape after it was made FIFOs.",
                    array.place,
                    help="reshape it before s.to.",
                )
        self.functions = functions_of(module)
        self.section = section or section_of(function, {a.value for a in arrays})
        self.processes: list[Process] = self.section.processes
        numbers = {a.value: n for n, a in enumerate(self.arrays)}
        self._traces = [Trace(self.functions, p.ops, numbers) for p in self.processes]
        active = [trace.repeated() for trace in self._traces if not trace.is_empty]
        self._repeated = all_repeated(active, [a.space.spatial for a in self.arrays])
        self.steps: list[list[Step]] = self._all_steps(few=self._repeated)
        self.ends: dict[Fifo, Ends] = {}
        self.after: dict[int, frozenset[int]] = {}
        self._turned: tuple[bool, list[list[_Turn]]] | None = None

    def name(self, fifo: Fifo) -> str:
        """``A_fifo[0, 1]``."""
        array, which = fifo
        index = f"[{', '.join(map(str, which))}]" if which else ""
        return f"{self.arrays[array].name}{index}"

    def depth(self, fifo: Fifo) -> int:
        """How many elements a FIFO holds."""
        return self.arrays[fifo[0]].space.depth

    def _all_steps(self, *, few: bool) -> list[list[Step]]:
        pairs = zip(self.processes, self._traces, strict=True)
        return [
            self._steps(p, trace.first_events() if few else trace.events()) for p, trace in pairs
        ]

    def _steps(self, process: Process, events: Iterable[Event]) -> list[Step]:
        steps: list[Step] = []
        direct: set[Access] = set()
        for access, index, turn in events:
            array = self.arrays[access.array]
            if not access.is_known or index is None:
                raise _unknown(array, access)
            if access not in direct:
                self._check_direct(process, array, access)
                direct.add(access)
            if len(steps) == MOST_STEPS:
                raise too_many(process)
            which, element = array.space.split(index)
            steps.append(Step((access.array, which), element, access.writes, access, turn))
        return steps

    def _check_direct(self, process: Process, array: StreamArray, access: Access) -> None:
        """A process that is a call touches FIFOs in the function called, any other in itself."""
        call = process.call
        owner = access.op
        while owner.name != "func.func" and owner.parent is not None:
            owner = owner.parent.operation
        callee = None
        if call is not None:
            callee = self.functions[callee_of(call)]
        if owner == (callee or self.function):
            return
        raise IllegalTransformError(
            f"{array.name} cannot be FIFOs: {process.name} hands it on to function "
            f"{ir.StringAttr(owner.attributes['sym_name']).value}.",
            place_of(access.op) or array.place,
            help="write and read it in the process itself: in a nest, or in the one function called.",
        )

    # --- order -----------------------------------------------------------------------

    def check_order(self) -> None:
        """Each FIFO has one writer and one reader, which pass the same elements in one order.

        Raises:
            IllegalTransformError: otherwise.
        """
        written: dict[Fifo, dict[int, list[Step]]] = defaultdict(lambda: defaultdict(list))
        read: dict[Fifo, dict[int, list[Step]]] = defaultdict(lambda: defaultdict(list))
        for number, steps in enumerate(self.steps):
            for step in steps:
                (written if step.writes else read)[step.fifo][number].append(step)
        for fifo in sorted({*written, *read}):
            self._check_fifo(fifo, written[fifo], read[fifo])
            self.ends[fifo] = Ends(next(iter(written[fifo])), next(iter(read[fifo])))

    def _check_fifo(
        self, fifo: Fifo, written: Mapping[int, list[Step]], read: Mapping[int, list[Step]]
    ) -> None:
        name = self.name(fifo)
        for sides, word in ((written, "written"), (read, "read")):
            if len(sides) > 1:
                names = ", ".join(self.processes[n].name for n in sides)
                raise self._error(
                    fifo,
                    f"{name} is {word} by {len(sides)} processes: {names}",
                    next(iter(sides.values()))[0],
                    "a FIFO joins one producer and one consumer; give each pair an index of its own.",
                )
        if not written or not read:
            step = next(iter((written or read).values()))[0]
            word, other = ("written", "read") if written else ("read", "written")
            raise self._error(
                fifo,
                f"{name} is {word} by {self._by(written or read)} and never {other}",
                step,
                "what enters a FIFO must leave it: add the nest that feeds the first ones, and one "
                "that drains the last.",
            )
        (writer, puts), (reader, gets) = next(iter(written.items())), next(iter(read.items()))
        if writer == reader:
            raise self._error(
                fifo,
                f"{self.processes[writer].name} both writes and reads {name}",
                gets[0],
                "a FIFO leads from one process to another; keep a local array for the process's own.",
            )
        if reader < writer:
            raise self._error(
                fifo,
                f"{self.processes[reader].name} reads {name} before {self.processes[writer].name}, "
                "which writes it, runs",
                gets[0],
                "a FIFO leads from a process to a later one.",
            )
        for steps, word in ((puts, "written"), (gets, "read")):
            seen = Counter(step.element for step in steps)
            twice = next((s for s in steps if seen[s.element] > 1), None)
            if twice is not None:
                raise self._error(
                    fifo,
                    f"element {_index(twice.element)} of {name} is {word} {seen[twice.element]} times",
                    twice,
                    f"a FIFO passes each element once; {_ONCE[word]}.",
                )
        self._check_sequence(fifo, puts, gets)

    def _check_sequence(self, fifo: Fifo, puts: list[Step], gets: list[Step]) -> None:
        missing = {s.element for s in puts} ^ {s.element for s in gets}
        if missing:
            element = min(missing)
            step = next(s for s in (*gets, *puts) if s.element == element)
            word = "written and not read" if step.writes else "read and not written"
            raise self._error(
                fifo,
                f"element {_index(element)} of {self.name(fifo)} is {word}",
                step,
                "write and read the same elements of every FIFO.",
            )
        wrong = next(
            (p for p in zip(puts, gets, strict=True) if p[0].element != p[1].element), None
        )
        if wrong is not None:
            put, get = wrong
            raise self._error(
                fifo,
                f"the elements of {self.name(fifo)} are read in another order than they are "
                f"written: {_index(put.element)} is the next one in, {_index(get.element)} the next "
                "one out",
                get,
                "reorder the loops of one of the two processes.",
            )

    def _by(self, sides: Mapping[int, list[Step]]) -> str:
        return self.processes[next(iter(sides))].name

    def _error(self, fifo: Fifo, what: str, step: Step, help: str) -> IllegalTransformError:
        array = self.arrays[fifo[0]]
        return IllegalTransformError(
            f"{array.name} cannot be FIFOs: {what}.",
            place_of(step.access.op) or array.place,
            help=help,
        )

    # --- depth -----------------------------------------------------------------------

    def check_depths(self) -> None:
        """All processes come to an end with FIFOs of these depths.

        Raises:
            IllegalTransformError: some wait for each other for ever.
        """
        stuck = self.find_stuck()
        if stuck is None:
            return
        number, step = stuck
        what = "is full" if step.writes else "is empty"
        array = self.arrays[step.fifo[0]]
        need = self.needed_depth()
        help = f"a depth of {need} is enough." if need else "no depth helps: change the order."
        raise IllegalTransformError(
            f"{array.name} as FIFOs of depth {array.space.depth}: the processes wait for each other "
            f"for ever, {self.processes[number].name} first, at {self.name(step.fifo)}, which {what}.",
            place_of(step.access.op) or array.place,
            help=help,
        )

    def _counted(self) -> list[list[_Turn]]:
        """The turns whose end tells whether all processes end; the same for all depths.

        Iterations cannot stand for others where a process waits for the end of another one.
        """
        whole = self._repeated and bool(self.after)
        if self._turned is None or self._turned[0] != whole:
            counted = self._all_steps(few=False) if whole else self.steps
            self._turned = whole, [_turns(steps) for steps in counted]
        return self._turned[1]

    def find_stuck(self) -> tuple[int, Step] | None:
        """A process that waits for ever, by number, and the step it waits at; None where none does."""
        return self._stuck({fifo: self.depth(fifo) for fifo in self.ends})

    def needed_depth(self) -> int | None:
        """The least depth of all FIFOs with which it works."""
        turns = (turn for each in self._counted() for turn in each)
        most = max(Counter(step.fifo for turn in turns for step in turn.steps).values())
        if self._stuck(dict.fromkeys(self.ends, most)) is not None:
            return None
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            if self._stuck(dict.fromkeys(self.ends, middle)) is None:
                high = middle
            else:
                low = middle + 1
        return low

    def _stuck(self, depths: Mapping[Fifo, int]) -> tuple[int, Step] | None:
        """A process that waits for ever with these depths and its step, or None.

        An iteration of a pipelined loop begins when all it reads is there and all it writes has room.
        """
        turns = self._counted()
        room = dict(depths)
        for turn in (t for each in turns for t in each):
            for fifo, many in turn.change.items():
                if abs(many) > room[fifo]:  # a FIFO holds what one turn passes
                    room[fifo] = abs(many)
        fill: Counter[Fifo] = Counter()
        at = [0] * len(turns)
        waiting: set[int] = set()
        over: set[int] = set()
        ready = deque(range(len(turns)))
        while ready:
            number = ready.popleft()
            if number in over or not self.after.get(number, frozenset()) <= over:
                continue
            while at[number] < len(turns[number]):
                turn = turns[number][at[number]]
                if turn.blocked(fill, room) is not None:
                    waiting.add(number)
                    break
                at[number] += 1
                for fifo, many in turn.change.items():
                    fill[fifo] += many
                    ends = self.ends[fifo]
                    other = ends.reader if many > 0 else ends.writer
                    if other in waiting:
                        waiting.discard(other)
                        ready.append(other)
            else:
                over.add(number)
                ready += [n for n, earlier in self.after.items() if number in earlier]
        if not waiting:
            return None
        number = min(waiting)
        step = turns[number][at[number]].blocked(fill, room)
        return None if step is None else (number, step)


_ONCE = {
    "written": "accumulate in a scalar, and leave out an initial value",
    "read": "read it once into a scalar and use that",
}


def _index(element: Element) -> str:
    return f"[{', '.join(map(str, element))}]"


def _unknown(array: StreamArray, access: Access) -> IllegalTransformError:
    if access.whole:
        what = f"{access.op.name} uses it as a whole"
    elif access.subscripts is None:
        what = "the subscripts of an access depend on data, or are not affine"
    else:
        what = "an access runs under a condition, or in a loop, that depends on data"
    return IllegalTransformError(
        f"{array.name} cannot be FIFOs: {what}, so the order of its elements is not known.",
        place_of(access.op) or array.place,
        help="write and read single elements, by affine subscripts in loops of known bounds, and "
        "declare the array without an initial value.",
    )


def too_many(process: Process) -> IllegalTransformError:
    """The error that a process has too many accesses to follow, for the caller to raise."""
    return IllegalTransformError(
        f"{process.name} touches FIFOs and shared arrays more than {MOST_STEPS:,} times, which is too "
        "much to follow.",
        process.place,
        help="stream a tile at a time, and call that from a loop around the tiles.",
    )


def stream_arrays(function: ir.Operation) -> list[StreamArray]:
    """The arrays of a function, declared at its top, that are FIFOs."""
    found = []
    for op in function.regions[0].blocks[0].operations:
        operation = op.operation
        if operation.name != "memref.alloc":
            continue
        space = stream_space(operation.results[0].type)
        if space is not None:
            name = string_attribute(operation, "name") or "array"
            found.append(StreamArray(operation.results[0], name, space))
    return found
