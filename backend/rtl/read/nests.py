"""For loops: which become counters of one pipeline, which are unrolled, which stand around others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from allo.dialects.affine.asserted import LOOP_MARK, assertions_of
from allo.dialects.diagnostics import AlloError, UnsupportedOpError

from ..graph.linear import add, bits_unsigned, constant, index_width, scale, subtract
from ..graph.nodes import Body, Lin, Node
from ..graph.regions import Choice, If, Leaf, Level, Loop, Seq
from .exits import exit_of_guard, guard_of
from .loops import (
    LoopShape,
    Nested,
    chain_of,
    contains_control,
    imperfect_nest,
    is_small,
    shape_of,
)
from .records import Op
from .straight_line import StraightLine
from .values.arithmetic import is_pure
from .values.builder import INDEX_HIGH, INDEX_LOW

MAX_UNROLLED = 65536
FEW = 16
"""Iterations of a loop that take about as long as to start and to drain a pipeline of its own."""


class Nests(StraightLine):
    """Reads loops; what stands in them, the class above says."""

    def _in_place(self, op: Op) -> bool:
        """Whether a loop disappears by complete unrolling, or a call because its function is small."""
        if op.name == "func.call":
            return is_small(self.program.functions[op.attrs["callee"]])
        return op.attrs.get("unroll") == 0

    def loop(self, op: Op) -> None:
        """A for loop, as one of these."""
        if self._leaf or self._in_place(op):
            self._unrolled(op)
            return
        chain = chain_of(op, self._in_place, self._never_empty)
        self._note_parallel(chain)
        inner = chain[-1]
        body_ops = inner.regions[0]
        pipelined = "pipeline_ii" in inner.attrs
        if pipelined or not contains_control(body_ops, self._in_place):
            self._pipeline(chain)
            return
        nest = imperfect_nest(op, self._in_place)
        if nest is None or self._better_stopped(nest[-1].loop):
            self._nested(op)
            return
        choice = Choice([Seq(), Seq()])
        with self._inside(choice.options[0]):
            self._nested(op)
        with self._inside(choice.options[1]):
            self._joined(nest)
        self._add(choice)

    def _note_parallel(self, chain: list[Op]) -> None:
        """Say that a loop which is only marked ``parallel`` has no more hardware than without the mark."""
        for loop in chain:
            if "parallel" not in loop.attrs or {"pipeline_ii", "unroll"} & loop.attrs.keys():
                continue
            note = (
                f"Loop {loop.attrs.get('loop_name', '?')} ({loop.place}) is marked parallel, and its "
                "iterations run one after another all the same: `unroll` it for copies that run at once, "
                "or `pipeline` it."
            )
            if note not in self.function.notes:
                self.function.notes.append(note)

    def _better_stopped(self, loop: Op) -> bool:
        """Whether a loop inside others may be left early, and is long: in one pipeline it runs to its end."""
        trips = self._shape(loop).trips
        return trips is not None and trips > FEW and guard_of([loop]) is not None

    def _joined(self, nest: list[Nested]) -> None:
        """An imperfect nest as one pipeline: code around inner loops runs in their first and last
        iterations."""
        loops = [part.loop for part in nest]
        shapes = [self._shape(loop) for loop in loops]
        if any(shape.trips == 0 for shape in shapes):
            self._nested(loops[0])
            return
        inner = loops[-1]
        factor = int(inner.attrs.get("unroll", 1) or 1)
        factors = [1] * (len(loops) - 1) + [factor]
        for part in nest:
            self.ops([o for o in part.before if o.name == "memref.alloc"])
        rows = list(zip(loops, shapes, factors, strict=True))
        levels = [self._level(loop, shape, unroll) for loop, shape, unroll in rows]
        body = self.function.new_body()
        asked = inner.attrs["pipeline_ii"]
        leaf = Leaf(levels, body, asked, band=band_of(loops[0]), place=inner.place)
        leaf.rewind = "rewind" in inner.attrs
        self._add(leaf)
        self._leaf = True
        with self.builder.filling(body):
            for position, part in enumerate(nest[:-1]):
                self.env[part.loop.args[0][0]] = _iterator(shapes[position], levels[position])
                self._at_end(part.before, levels[position + 1 :], first=True)
            self._copies(inner, shapes[-1], levels[-1], factor)
            for position, part in reversed(list(enumerate(nest[:-1]))):
                self._at_end(part.after, levels[position + 1 :], first=False)
            self.memory.finish(body)
        self._leaf = False

    def _at_end(self, ops: list[Op], inner: list[Level], *, first: bool) -> None:
        """Elaborate code that runs where all inner loops are in their first or last iteration."""
        ops = [op for op in ops if op.name != "memref.alloc"]
        self.ops([op for op in ops if is_pure(op)])
        effects = [op for op in ops if not is_pure(op)]
        if not effects:
            return
        condition: Node | None = None
        tests = []
        for level in inner:
            limit = 0 if first else (level.trips or 1) - 1
            counter = Lin(0, ((level.iv, 1),)) if level.trips != 1 else constant(0)
            place = subtract(counter, constant(limit))
            condition = self.builder.both(
                condition, self.builder.compare(0, counter, constant(limit))
            )
            tests.append(("eq", place))
        guard = ("and", tuple(tests))
        with self.builder.under(condition, guard):
            self.ops(ops)

    def _never_empty(self, outer: Op, inner: Op) -> bool:
        """Whether a loop, its upper bound given by the loop around it alone, always has an iteration."""
        around = self._shape(outer)
        if not around.trips:
            return False
        last = add(around.lower, constant(around.step * (around.trips - 1)))
        lower = self.arithmetic.expressions(inner.attrs["lowerBoundMap"], [])
        for end in (around.lower, last):
            upper = self.arithmetic.expressions(inner.attrs["upperBoundMap"], [end])
            if not all(x.is_const and x.const > y.const for x in upper for y in lower):
                return False
        return True

    def _pipeline(self, chain: list[Op]) -> None:
        """A nest whose innermost body holds no loop: a leaf, outer loops joined if constant."""
        shapes: list[LoopShape] = []
        levels: list[Level] = []
        for loop in chain[:-1]:
            shapes.append(self._shape(loop))
            levels.append(self._level(loop, shapes[-1]))
            self.env[loop.args[0][0]] = _iterator(shapes[-1], levels[-1])
        shapes.append(self._shape(chain[-1]))
        if any(shape.trips == 0 for shape in shapes):
            return
        inner = chain[-1]
        factor = int(inner.attrs.get("unroll", 1) or 1)
        asked = inner.attrs.get("pipeline_ii")
        for loop in chain[:-1]:
            self.ops([o for o in loop.regions[0] if o.name == "memref.alloc"])
        body = self.function.new_body()
        levels.append(self._level(inner, shapes[-1], factor))
        leaf = Leaf(levels, body, asked, band=band_of(chain[0]), place=inner.place)
        leaf.rewind = "rewind" in inner.attrs
        self._add(leaf)
        guard = guard_of(chain)
        with self._filling(body, guard, early=guard is not None):
            for loop, shape, level in zip(chain[:-1], shapes[:-1], levels[:-1], strict=True):
                self.env[loop.args[0][0]] = _iterator(shape, level)
                self.ops([o for o in loop.regions[0] if is_pure(o)])
            self._copies(inner, shapes[-1], levels[-1], factor)
            self.memory.finish(body)
            leaf.exit = exit_of_guard(self.builder, self._guards)

    @contextmanager
    def _filling(self, body: Body, guard: Op | None, *, early: bool) -> Iterator[None]:
        """Fill the body of a loop, and note the values of ``guard``, a condition in it.

        ``early`` says that the loop may be left before its end.
        """
        saved = self._guard, self._guards, self.memory.forwards
        self._guard, self._guards, self._leaf = guard, [], True
        self.memory.forwards = early
        with self.builder.filling(body):
            yield
        self._guard, self._guards, self.memory.forwards = saved
        self._leaf = False

    def _copies(self, loop: Op, shape: LoopShape, level: Level, factor: int) -> None:
        base = _iterator(shape, level, factor)
        for copy in range(factor):
            value = add(base, scale(shape.by, copy))
            self.env[loop.args[0][0]] = value
            exact = copy == 0 or (shape.trips is not None and shape.trips % factor == 0)
            if exact:
                self.ops(loop.regions[0])
                continue
            self._guarded(value, shape.uppers, loop.regions[0])

    def _guarded(
        self, value: Lin, uppers: list[Lin], ops: list[Op], lowers: Sequence[Lin] = ()
    ) -> None:
        """Elaborate a copy of a loop body that counts only where ``value`` lies between the bounds."""
        condition: Node | None = None
        tests = []
        for lower in lowers:
            condition = self.builder.both(
                condition, self.builder.compare(2, lower, add(value, constant(1)))
            )
            tests.append(("ge", subtract(value, lower)))
        for upper in uppers:
            condition = self.builder.both(condition, self.builder.compare(2, value, upper))
            tests.append(("ge", subtract(add(upper, constant(-1)), value)))
        if condition is None or (condition.kind == "const" and condition.data):
            self.ops(ops)
        elif condition.kind != "const":
            with self.builder.under(condition, ("and", tuple(tests))):
                self.ops(ops)

    def _unrolled(self, op: Op) -> None:
        """Every iteration of a loop as straight-line code."""
        shape = self._shape(op)
        low, below = shape.lower, []
        if not low.is_const and len(shape.lowers) > 1:
            if shape.step != 1:
                raise self._not_unrollable(op)
            low, below = constant(max(each.bounds()[0] for each in shape.lowers)), shape.lowers
        span = min(subtract(u, low).bounds()[1] for u in shape.uppers)
        trips = max(0, -(-span // shape.step))
        if trips > MAX_UNROLLED or not shape.by.is_const:
            raise self._not_unrollable(op)
        for number in range(trips):
            value = add(low, constant(number * shape.step))
            self.env[op.args[0][0]] = value
            if self._leaf:
                self._guarded(value, shape.uppers, op.regions[0], below)
            elif shape.trips is not None:
                self.ops(op.regions[0])
            else:
                self._conditional(value, shape.uppers, op.regions[0], below)

    def _conditional(
        self, value: Lin, uppers: list[Lin], ops: list[Op], lowers: Sequence[Lin] = ()
    ) -> None:
        """:meth:`_guarded` for a copy that holds regions of its own, as in the last tile of a split."""
        self._close()
        condition: Node | None = None
        with self._static():
            for lower in lowers:
                condition = self.builder.both(
                    condition, self.builder.compare(2, lower, add(value, constant(1)))
                )
            for upper in uppers:
                condition = self.builder.both(condition, self.builder.compare(2, value, upper))
        if condition is None or condition.kind == "const":
            if condition is None or condition.data:
                self.ops(ops)
            return
        region = If(condition, Seq(), Seq())
        with self._inside(region.then):
            self.ops(ops)
        self._add(region)

    def _not_unrollable(self, op: Op) -> AlloError:
        return UnsupportedOpError(
            f"Loop {op.attrs.get('loop_name', '?')} must be unrolled, but its number of "
            "iterations is not known at compile time.",
            op.place,
            help="give the loop constant bounds, or do not unroll it and do not pipeline a loop "
            "around it.",
        )

    def _nested(self, op: Op) -> None:
        """A loop around other regions."""
        shape = self._shape(op)
        if shape.trips == 0:
            return
        factor = int(op.attrs.get("unroll", 1) or 1)
        if factor > 1 and (shape.trips is None or shape.trips % factor):
            factor = 1
            self.function.notes.append(
                f"Loop {op.attrs.get('loop_name', '?')} ({op.place}) is not unrolled: it holds "
                "loops, and the factor does not divide its iterations."
            )
        level = self._level(op, shape, factor)
        region = Loop(level, Seq(), band=band_of(op))
        saved = self._guard, self._guards
        self._guard, self._guards = guard_of([op]), []
        with self._inside(region.child):
            base = _iterator(shape, level, factor)
            for copy in range(factor):
                self.env[op.args[0][0]] = add(base, scale(shape.by, copy))
                self.ops(op.regions[0])
        known = [node for node in self._guards if node.kind != "const"]
        region.guard = known[-1] if known else None
        self._guard, self._guards = saved
        self._add(region)

    def _shape(self, op: Op) -> LoopShape:
        with self._bounds_body():
            return shape_of(op, self.env, self.arithmetic)

    @contextmanager
    def _bounds_body(self) -> Iterator[None]:
        if self._leaf:
            yield
            return
        with self._static():
            yield

    def _level(self, op: Op, shape: LoopShape, factor: int = 1) -> Level:
        name = op.attrs.get("loop_name") or "loop"
        step = shape.step * factor
        asserted = assertions_of(op.attrs.get(LOOP_MARK, ()))
        if shape.trips is not None:
            trips = -(-shape.trips // factor)
            iv = self.builder.free_node("iv", bits_unsigned(trips - 1), name)
            iv.high = trips - 1
            return Level(name, iv, trips, step, place=op.place, asserted=asserted, copies=factor)
        # From a constant start the counter tells the bank: start + step * n.
        counts = step > 1 and shape.lower.is_const and shape.by.is_const
        iv = self._counted(name, shape, step) if counts else self._ranging(name, shape, factor)
        with self._static():
            ends = shape.lower, shape.upper, scale(shape.by, factor)
            width = _bound_width(shape, factor)
            lower, upper, by = (self.builder.lin_node(end, width) for end in ends)
        level = Level(name, iv, None, step, lower, upper, place=op.place, counts=counts)
        level.asserted, level.copies = asserted, factor
        level.stride = None if shape.by.is_const else by
        return level

    def _ranging(self, name: str, shape: LoopShape, factor: int) -> Node:
        """A counter that takes the iterator's own values."""
        low = max(shape.lower.bounds()[0], INDEX_LOW)
        high = min(shape.upper.bounds()[1], INDEX_HIGH)
        width = _bound_width(shape, factor)
        iv = self.builder.free_node("iv", width, name, low=low, high=max(low + 1, high - 1))
        iv.floors = tuple(shape.lowers)
        iv.ceilings = tuple(add(upper, constant(-1)) for upper in shape.uppers)
        return iv

    def _counted(self, name: str, shape: LoopShape, step: int) -> Node:
        """A counter of iterations, of a loop from a constant to a bound known at run time."""
        reach = [subtract(add(upper, constant(-1)), shape.lower) for upper in shape.uppers]
        most = min(min(r.bounds()[1] for r in reach) // step, INDEX_HIGH)
        high = max(1, most)
        iv = self.builder.free_node("iv", bits_unsigned(high), name, high=high)
        iv.floors, iv.ceilings, iv.stride = (constant(0),), tuple(reach), step
        return iv


def _bound_width(shape: LoopShape, factor: int) -> int:
    """Bits for the bounds, the step and the iterator of a loop which are known only when it runs."""
    bounds = [*shape.lower.bounds(), *shape.upper.bounds(), *scale(shape.by, factor).bounds()]
    return index_width(min(bounds), max(bounds))


def band_of(op: Op) -> str:
    """The name of the source nest that a loop begins."""
    return op.attrs.get("op_name") or op.attrs.get("loop_name") or "loop"


def _iterator(shape: LoopShape, level: Level, factor: int = 1) -> Lin:
    """The Python iterator of a loop in terms of its counter."""
    if not level.counts:
        return Lin(0, ((level.iv, 1),))
    if level.trips == 1:
        return shape.lower
    return add(shape.lower, scale(Lin(0, ((level.iv, 1),)), shape.step * factor))
