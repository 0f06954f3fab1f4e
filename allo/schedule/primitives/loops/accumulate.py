"""``accumulate``: a float sum that a loop carries is added up exactly, and rounded once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.associative import DIFFERENCES
from allo.dialects.affine.loops import LoopSpec, is_affine_loop, parent_of, spec_of
from allo.dialects.affine.maps import BoundMap
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import IllegalTransformError, ScheduleError, SourcePlace
from allo.dialects.passes.math.bits import Bits, Emitter
from allo.dialects.ranges.indices import map_range
from allo.dialects.sums.exact import FORMATS, MARKS, Accumulator
from allo.dialects.sums.reductions import Reduction, Update
from allo.schedule.analysis.buffers import alloc, fresh_name, load, point_within, store
from allo.schedule.analysis.partial import reductions_of
from allo.schedule.handles import Axis
from allo.schedule.primitive import primitive
from allo.schedule.resolve import find_loop
from allo.schedule.state import ScheduleState

SUM, LOOP = "arith.addf", "affine.for"
MOST_TERMS = 1 << 32
"""The most terms for which there is room; this many where only the run tells how many there are."""


@primitive
def accumulate(s: ScheduleState, axis: Axis, exact: bool = False) -> None:
    """Add up the float sums that a loop carries in fixed point, without rounding; round each once, behind it.

    ::

                                       x_words = fixed(x)
        for k in range(64):            for k in range(64):
            x = x + a[k]      ──▶          x_words += fixed(a[k])
                                       x = round(x_words)

    The fixed-point number spans all exponents of the format, in words that keep their own carries. An
    addition is then a short addition of integers in each word, so a pipeline starts an iteration in every
    cycle, in the order the iterations had or any other: the result does not depend on it. It is the sum of
    the terms as they are written (a product in a term is rounded as before), and of the value that stood
    there, rounded once to nearest even.

    A term that is not a number, or infinities of both signs, make the sum not a number; an infinity, that
    infinity. Infinite is also what rounds beyond the largest number; sums on the way there may be as large as
    they like. A sum of zero is ``+0``, and ``-0`` where every term is.

    Args:
        exact: has to be True. There is no way to add up faster with the bits of the sum that rounds in every
            iteration.

    Raises:
        ScheduleError: ``exact`` is not True, or there may be too many iterations.
        IllegalTransformError: the loop carries no sum of floats.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "accumulate")
    place = place_of(loop.op)
    what = f"accumulate {loop.name}"
    if exact is not True:
        raise ScheduleError(
            f"{what}: only exact=True is there, got exact={exact!r}. The bits of a sum that is rounded in "
            "every iteration depend on each rounding, so each addition has to wait for the one before.",
            place,
            help=f'write s.accumulate("{loop.name}", exact=True) for the sum that is rounded once, or '
            "s.interleave for partial sums.",
        )
    reductions = reductions_of(s.module, loop.op, what, place)
    sums = [r for r in reductions if r.family == SUM]
    if not sums:
        raise _no_float_sum(reductions, what, place)
    for reduction in sums:
        _ExactSum(loop.function, loop.op, reduction, what).rewrite()


def _no_float_sum(
    reductions: Sequence[Reduction], what: str, place: SourcePlace | None
) -> IllegalTransformError:
    first = reductions[0]
    kind = ir.MemRefType(first.array.type).element_type
    family = first.family.removeprefix("arith.")
    return IllegalTransformError(
        f"Cannot {what}: of {first.name} it carries {family} of {kind}, and no sum of floats.",
        place_of(first.updates[0].store) or place,
        help="sums of integers are exact as they are; products, minima and maxima of floats have no "
        "fixed point: s.interleave makes partial results of them.",
    )


class _ExactSum:
    """One sum of a loop, with its words in front of it."""

    def __init__(
        self, function: ir.Operation, loop: ir.Operation, reduction: Reduction, what: str
    ) -> None:
        self._loop, self._reduction = loop, reduction
        self._location = reduction.updates[-1].store.location
        element = str(ir.MemRefType(reduction.array.type).element_type)
        if element not in FORMATS:
            raise IllegalTransformError(
                f"Cannot {what}: {reduction.name} is of {element}, and exact sums are there of "
                f"{', '.join(FORMATS)}.",
                place_of(reduction.updates[0].store),
                help="sum in one of these types, and cast the result.",
            )
        each = [(len(u.path), _most_runs(u, loop)) for u in reduction.updates]
        terms = 1 + sum(count * (runs or 0) for count, runs in each)
        if any(runs is None for _, runs in each):
            terms = max(terms, MOST_TERMS)
        if terms > MOST_TERMS:
            raise ScheduleError(
                f"{what}: {reduction.name} gets up to {terms - 1:,} terms, and an exact sum has room for "
                f"{MOST_TERMS:,}.",
                place_of(reduction.updates[0].store),
                help="accumulate in a loop further inside.",
            )
        self._sum = Accumulator(FORMATS[element], terms)
        self._words = [
            self._variable(function, f"{reduction.name}_word{number}", self._sum.width)
            for number in range(self._sum.format.words)
        ]
        self._marks = self._variable(function, f"{reduction.name}_marks", MARKS)

    def _variable(self, function: ir.Operation, wanted: str, width: int) -> tuple[ir.Value, str]:
        name = fresh_name(function, wanted)
        kind = ir.MemRefType.get([], ir.IntegerType.get_signless(width))
        return alloc(kind, name, {}, self._location, ir.InsertionPoint(self._loop)), name

    def rewrite(self) -> None:
        """Begin with the value that is there, add every term to the words, and round behind the loop."""
        reduction = self._reduction
        before = self._within(ir.InsertionPoint(self._loop))
        there = load(
            reduction.array, reduction.element, reduction.name, self._location, before.point
        )
        term = self._sum.term(before, there)
        for number, word in enumerate(self._words):
            self._store(before, word, self._sum.added(before, term, number))
        self._store(before, self._marks, term.marks)
        for update in reduction.updates:
            self._add(update)
        behind = self._within(ir.InsertionPoint.after(self._loop))
        words = [self._load(behind, word, self._sum.width) for word in self._words]
        total = self._sum.rounded(behind, words, self._load(behind, self._marks, MARKS))
        store(
            total, reduction.array, reduction.element, reduction.name, self._location, behind.point
        )

    def _within(self, ip: ir.InsertionPoint) -> Emitter:
        """What makes operations where the element is one of the array's."""
        reduction = self._reduction
        point = point_within(reduction.array, reduction.element, self._location, ip)
        return self._emitter(point.ref_operation)

    def _add(self, update: Update) -> None:
        """Add the terms of one update to the words, in its place."""
        emitter = self._emitter(update.store)
        terms = [
            self._sum.term(emitter, value, negative=negative) for value, negative in _terms(update)
        ]
        for number, word in enumerate(self._words):
            total = self._load(emitter, word, self._sum.width)
            for term in terms:
                total = total + self._sum.added(emitter, term, number)
            self._store(emitter, word, total)
        marks = self._load(emitter, self._marks, MARKS)
        for term in terms:
            marks = marks | term.marks
        self._store(emitter, self._marks, marks)
        update.store.erase()
        for op in reversed(update.path):
            op.erase()
        update.load.erase()

    def _emitter(self, anchor: ir.Operation) -> Emitter:
        emitter = Emitter(anchor)
        emitter.location = self._location
        return emitter

    def _load(self, emitter: Emitter, variable: tuple[ir.Value, str], width: int) -> Bits:
        memory, name = variable
        value = load(memory, _only(), name, self._location, emitter.point)
        return Bits(emitter, value, width)

    def _store(self, emitter: Emitter, variable: tuple[ir.Value, str], word: Bits) -> None:
        memory, name = variable
        store(word.value, memory, _only(), name, self._location, emitter.point)


def _only() -> BoundMap:
    """The subscripts of a variable."""
    return BoundMap(ir.AffineMap.get(0, 0, []), ())


def _terms(update: Update) -> Iterator[tuple[ir.Value, bool]]:
    """What an update adds, each with whether it subtracts it."""
    chain = update.load.result
    for op in update.path:
        first, second = op.operands
        yield (second if first == chain else first), op.name in DIFFERENCES
        chain = op.result


def _most_runs(update: Update, loop: ir.Operation) -> int | None:
    """How often an update runs in one run of a loop, at most; None where only the run tells."""
    runs = 1
    op: ir.Operation | None = update.store
    while op != loop and (op := parent_of(op)) is not None:
        if op.name in ("scf.for", "scf.while") or (op.name == LOOP and not is_affine_loop(op)):
            return None
        if op.name == LOOP:
            trips = _most_trips(spec_of(op))
            if trips is None:
                return None
            runs *= trips
    return runs


def _most_trips(spec: LoopSpec) -> int | None:
    """The most iterations of a loop, by the ranges of its bounds."""
    trips = spec.trip_count()
    if trips is not None:
        return trips
    lows = [map_range(spec.lower.alone(result)) for result in spec.lower.results]
    highs = [map_range(spec.upper.alone(result)) for result in spec.upper.results]
    known = [high[1] for high in highs if high is not None]
    if not known or any(low is None for low in lows):
        return None
    first = max(low[0] for low in lows if low is not None)
    return max(0, -(-(min(known) - first) // spec.step))
