"""Records of one function to its tree of regions: unrolling, flattening, if-conversion.

What becomes what:

* straight-line code between loops: a block;
* a loop without loops, calls or whiles inside (after unrolling): a leaf, ready for the pipeline
  generator; perfectly nested loops with constant bounds above it join the leaf as counters;
* other loops, conditions around loops, whiles around loops, calls: regions of their own;
* conditions without loops inside: predicates on stores, selections of values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allo.dialects.diagnostics import AlloError, UnsupportedOpError

from ..graph.linear import Lin, add, bits_unsigned, constant, index_width, scale, subtract
from ..graph.nodes import Array, Call, Choice, If, Leaf, Level, Loop, Node, Seq, Stream, While
from .arithmetic import is_pure
from .builder import INDEX_HIGH, INDEX_LOW
from .loops import (
    LoopShape,
    Nested,
    chain_of,
    contains_control,
    imperfect_nest,
    is_small,
    shape_of,
)
from .records import FunctionRecord, MemType, Op, argument_width, element_width
from .straight_line import STRAIGHT_HANDLERS, StraightLine

MAX_UNROLLED = 65536


class Elaborator(StraightLine):
    """Turns one function's records into regions and bodies."""

    # --- conditions ----------------------------------------------------------------

    def _if(self, op: Op) -> None:
        if self._leaf or not any(contains_control(r, self._in_place) for r in op.regions):
            with self._straight():
                self._predicated(op)
            return
        self._close()
        with self._static():
            condition = self._condition(op)[0]
        region = If(condition, Seq(), Seq())
        for sequence, ops in zip((region.then, region.other), op.regions, strict=False):
            with self._inside(sequence):
                self.ops(ops)
        self._add(region)

    def _predicated(self, op: Op) -> None:
        condition, guard = self._condition(op)
        saved = self._leaf
        self._leaf = True
        if not (condition.kind == "const" and not condition.data):
            with self.builder.under(condition, guard):
                self.ops(op.regions[0])
        if len(op.regions) > 1 and op.regions[1]:
            opposite = self.builder.negate(condition)
            if not (opposite.kind == "const" and not opposite.data):
                inverse = None if guard is None else ("not", guard)
                with self.builder.under(opposite, inverse):
                    self.ops(op.regions[1])
        self._leaf = saved

    def _condition(self, op: Op) -> tuple[Node, Any]:
        """The condition as a node, and as a guard that can be counted (None: always true)."""
        if op.name == "scf.if":
            given = self._value(op.operands[0], 1)
            return given, None if given.kind == "const" else ("data", given)
        dims, rows = op.attrs["condition"]
        operands = [self.arithmetic.lin(self.env[o]) for o in op.operands]
        node: Node | None = None
        tests = []
        for expr, equal in rows:
            lin = self.arithmetic.expression(expr, operands, dims)
            test = self.builder.compare(0 if equal else 5, lin, constant(0))
            tests.append(("eq" if equal else "ge", lin))
            node = self.builder.both(node, test)
        joined = node or self.builder.const(1, 1)
        return joined, None if joined.kind == "const" else ("and", tuple(tests))

    # --- loops ---------------------------------------------------------------------

    def _in_place(self, op: Op) -> bool:
        """Whether a loop disappears by complete unrolling, or a call because its function is small."""
        if op.name == "func.call":
            return is_small(self.program.functions[op.attrs["callee"]])
        return op.attrs.get("unroll") == 0

    def _for(self, op: Op) -> None:
        if self._leaf or self._in_place(op):
            self._unrolled(op)
            return
        chain = chain_of(op, self._in_place)
        inner = chain[-1]
        body_ops = inner.regions[0]
        pipelined = "pipeline_ii" in inner.attrs
        if pipelined or not contains_control(body_ops, self._in_place):
            self._pipeline(chain)
            return
        nest = imperfect_nest(op, self._in_place)
        if nest is None:
            self._nested(op)
            return
        choice = Choice([Seq(), Seq()])
        with self._inside(choice.options[0]):
            self._nested(op)
        with self._inside(choice.options[1]):
            self._joined(nest)
        self._add(choice)

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
        self._add(Leaf(levels, body, asked, band=_band(loops[0]), place=inner.place))
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

    def _pipeline(self, chain: list[Op]) -> None:
        """A nest whose innermost body holds no loop: a leaf, outer loops joined if constant."""
        shapes = [self._shape(loop) for loop in chain]
        if any(shape.trips == 0 for shape in shapes):
            return
        inner = chain[-1]
        factor = int(inner.attrs.get("unroll", 1) or 1)
        asked = inner.attrs.get("pipeline_ii")
        for loop in chain[:-1]:
            self.ops([o for o in loop.regions[0] if o.name == "memref.alloc"])
        body = self.function.new_body()
        levels = [self._level(loop, s) for loop, s in zip(chain[:-1], shapes[:-1], strict=True)]
        levels.append(self._level(inner, shapes[-1], factor))
        leaf = Leaf(levels, body, asked, band=_band(chain[0]), place=inner.place)
        self._add(leaf)
        self._leaf = True
        with self.builder.filling(body):
            for loop, shape, level in zip(chain[:-1], shapes[:-1], levels[:-1], strict=True):
                self.env[loop.args[0][0]] = _iterator(shape, level)
                self.ops([o for o in loop.regions[0] if is_pure(o)])
            self._copies(inner, shapes[-1], levels[-1], factor)
            self.memory.finish(body)
        self._leaf = False

    def _copies(self, loop: Op, shape: LoopShape, level: Level, factor: int) -> None:
        base = _iterator(shape, level, factor)
        for copy in range(factor):
            value = add(base, constant(copy * shape.step))
            self.env[loop.args[0][0]] = value
            exact = copy == 0 or (shape.trips is not None and shape.trips % factor == 0)
            if exact:
                self.ops(loop.regions[0])
                continue
            self._guarded(value, shape.uppers, loop.regions[0])

    def _guarded(self, value: Lin, uppers: list[Lin], ops: list[Op]) -> None:
        """Elaborate a copy of a loop body that counts only where ``value`` is below the bounds."""
        condition: Node | None = None
        tests = []
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
        low = shape.lower
        if not low.is_const and len(shape.lowers) > 1:
            raise self._not_unrollable(op)
        span = min(subtract(u, low).bounds()[1] for u in shape.uppers)
        trips = max(0, -(-span // shape.step))
        if trips > MAX_UNROLLED:
            raise self._not_unrollable(op)
        for number in range(trips):
            value = add(low, constant(number * shape.step))
            self.env[op.args[0][0]] = value
            if self._leaf:
                self._guarded(value, shape.uppers, op.regions[0])
            elif shape.trips is not None:
                self.ops(op.regions[0])
            else:
                self._conditional(value, shape.uppers, op.regions[0])

    def _conditional(self, value: Lin, uppers: list[Lin], ops: list[Op]) -> None:
        """:meth:`_guarded` for a copy that holds regions of its own, as in the last tile of a split."""
        self._close()
        condition: Node | None = None
        with self._static():
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
        region = Loop(level, Seq(), band=_band(op))
        with self._inside(region.child):
            base = _iterator(shape, level, factor)
            for copy in range(factor):
                self.env[op.args[0][0]] = add(base, constant(copy * shape.step))
                self.ops(op.regions[0])
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
        if shape.trips is not None:
            trips = -(-shape.trips // factor)
            iv = self.builder.free_node("iv", bits_unsigned(trips - 1), name)
            iv.high = trips - 1
            return Level(name, iv, trips, step, place=op.place)
        # From a constant start the counter tells the bank: start + step * n.
        counts = step > 1 and shape.lower.is_const
        iv = self._counted(name, shape, step) if counts else self._ranging(name, shape, step)
        with self._static():
            width = _bound_width(shape, step)
            lower = self.builder.lin_node(shape.lower, width)
            upper = self.builder.lin_node(shape.upper, width)
        return Level(name, iv, None, step, lower, upper, place=op.place, counts=counts)

    def _ranging(self, name: str, shape: LoopShape, step: int) -> Node:
        """A counter that takes the iterator's own values."""
        low = max(shape.lower.bounds()[0], INDEX_LOW)
        high = min(shape.upper.bounds()[1], INDEX_HIGH)
        width = _bound_width(shape, step)
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

    def _while(self, op: Op) -> None:
        if self._leaf:
            raise UnsupportedOpError(
                "A while loop stands inside a pipelined or unrolled loop.",
                op.place,
                help="pipeline no loop around it, or give it a fixed number of iterations.",
            )
        test, work = op.regions
        condition_op = test[-1]
        if not contains_control(test, self._in_place) and not contains_control(
            work, self._in_place
        ):
            self._while_leaf(op, condition_op)
            return
        region = While(Seq(), self.builder.const(0, 1), Seq(), place=op.place)
        with self._inside(region.test):
            self.ops(test)
        with self._static():
            region.condition = self._value(condition_op.operands[0], 1)
        with self._inside(region.child):
            self.ops(work)
        self._add(region)

    def _while_leaf(self, op: Op, condition_op: Op) -> None:
        body = self.function.new_body()
        leaf = Leaf([], body, None, band=_band(op), place=op.place)
        self._add(leaf)
        self._leaf = True
        with self.builder.filling(body):
            self.ops(op.regions[0])
            condition = self._value(condition_op.operands[0], 1)
            leaf.condition = condition
            with self.builder.under(condition, ("data", condition)):
                self.ops(op.regions[1])
            self.memory.finish(body)
        self._leaf = False

    # --- calls ---------------------------------------------------------------------

    def _call(self, op: Op) -> None:
        callee = self.program.functions[op.attrs["callee"]]
        if self._leaf or self._in_place(op):
            self._inline(op, callee)
            return
        self._close()
        scalars: list[Node] = []
        arrays: list[Array] = []
        streams: list[Stream] = []
        with self._static():
            for position, value in enumerate(op.operands):
                bound = self.env[value]
                if isinstance(bound, Array):
                    arrays.append(bound)
                elif isinstance(bound, Stream):
                    streams.append(bound)
                else:
                    scalars.append(self.arithmetic.node(bound, argument_width(callee, position)))
        results = self._call_results(op, callee, arrays)
        self._add(Call(callee.name, scalars, arrays, results, streams, place=op.place))

    def _call_results(self, op: Op, callee: FunctionRecord, arrays: list[Array]) -> list[Node]:
        results: list[Node] = []
        returned = _return_operands(callee)
        for position, (value, kind) in enumerate(zip(op.results, op.result_types, strict=True)):
            if not isinstance(kind, MemType):
                node = self.builder.free_node("result", element_width(kind), f"result{position}")
                results.append(node)
                self.env[value] = (
                    self.builder.as_symbol(node, INDEX_LOW, INDEX_HIGH) if kind == "index" else node
                )
                continue
            if returned[position] in callee.args:
                same = callee.args.index(returned[position])
                self.env[value] = self.env[op.operands[same]]
                continue
            found = self.env.get(value)
            if not isinstance(found, Array):
                attrs = {**op.attrs, "name": op.attrs.get("name") or f"res{position}"}
                self._alloc(_alloc_record(op, value, kind, attrs))
                found = self.env[value]
            assert isinstance(found, Array)
            if found.storage == "reg" and found.depth > 1:
                found.storage = "ram"
            arrays.append(found)
        return results

    def _inline(self, op: Op, callee: FunctionRecord) -> None:
        """Elaborate a called function in place: a small one, and any in pipelined and unrolled loops."""
        if callee.name in self._inlining:
            raise UnsupportedOpError(f"Function {callee.name} calls itself.", op.place)
        for number, value in zip(callee.args, op.operands, strict=True):
            self.env[number] = self.env[value]
        self._inlining.append(callee.name)
        for inner in callee.ops:
            for result in inner.results:
                self.env.pop(result, None)
        self.ops(callee.ops)
        self._inlining.pop()
        for value, returned in zip(op.results, _return_operands(callee), strict=True):
            self.env[value] = self.env[returned]


def _alloc_record(op: Op, value: int, kind: MemType, attrs: dict[str, Any]) -> Op:
    return Op("memref.alloc", [], [value], [], [kind], attrs, [], [], op.place)


def _return_operands(record: FunctionRecord) -> list[int]:
    final = next((op for op in record.ops if op.name == "func.return"), None)
    return final.operands if final else []


def _bound_width(shape: LoopShape, step: int) -> int:
    """Bits for the bounds and the iterator of a loop whose bounds are known only when it runs."""
    bounds = [*shape.lower.bounds(), *shape.upper.bounds(), step]
    return index_width(min(bounds), max(bounds))


def _band(op: Op) -> str:
    return op.attrs.get("op_name") or op.attrs.get("loop_name") or "loop"


def _iterator(shape: LoopShape, level: Level, factor: int = 1) -> Lin:
    """The Python iterator of a loop in terms of its counter."""
    if not level.counts:
        return Lin(0, ((level.iv, 1),))
    if level.trips == 1:
        return shape.lower
    return add(shape.lower, scale(Lin(0, ((level.iv, 1),)), shape.step * factor))


Elaborator.handlers = {
    **STRAIGHT_HANDLERS,
    "affine.for": Elaborator._for,
    "scf.for": Elaborator._for,
    "affine.if": Elaborator._if,
    "scf.if": Elaborator._if,
    "scf.while": Elaborator._while,
    "func.call": Elaborator._call,
}
