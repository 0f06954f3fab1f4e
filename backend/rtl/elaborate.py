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

from allo.dialects.diagnostics import AlloError, SourcePlace, UnsupportedOpError

from .accesses import Memory
from .arithmetic import Arithmetic, Library, is_pure
from .builder import INDEX_HIGH, INDEX_LOW, Bound, Builder, Deferred
from .bulk import Bulk
from .graph import (
    Array,
    Block,
    Body,
    Call,
    Function,
    If,
    Leaf,
    Level,
    Loop,
    Node,
    Region,
    Seq,
    Stream,
    While,
)
from .initialise import first_run_arrays, first_run_regions
from .linear import Lin, add, bits_unsigned, constant, scale, subtract
from .loops import LoopShape, chain_of, contains_control, shape_of
from .read import FunctionRecord, MemType, Op, Program, element_width
from .storage import array_for_global, array_for_local, array_for_parameter
from .stream_ops import Streams

MAX_UNROLLED = 65536
SKIPPED = frozenset({"affine.yield", "scf.yield", "func.return", "memref.dealloc", "scf.condition"})


class Elaborator:
    """Turns one function's records into regions and bodies."""

    def __init__(
        self,
        program: Program,
        record: FunctionRecord,
        module: str,
        library: Library,
        constants: dict[int, int] | None = None,
    ) -> None:
        self.program = program
        self.record = record
        self.function = Function(record.name, module, place=record.place)
        self.builder = Builder(self.function)
        self.memory = Memory(self.builder)
        self.arithmetic = Arithmetic(self.builder, library)
        self.bulk = Bulk(self.builder, self.memory)
        self.streams = Streams(self.builder, self.memory)
        self.constants = constants or {}
        self.env: dict[int, Bound] = {}
        self.globals: dict[str, Array] = {}
        self._seq = self.function.root
        self._block: Block | None = None
        self._leaf = False
        self._inlining: list[str] = []

    def run(self) -> Function:
        """Elaborate the whole function."""
        self._parameters()
        self.ops(self.record.ops)
        self._close()
        self._returns()
        return self.function

    # --- interface -----------------------------------------------------------

    def _parameters(self) -> None:
        function, attrs = self.function, self.record.attrs
        names = attrs.get("arg_names") or [f"arg{i}" for i in range(len(self.record.args))]
        types = attrs.get("arg_types") or [""] * len(names)
        function.argument_names = list(names)
        kinds = self.record.arg_types
        for number, name, declared, kind in zip(self.record.args, names, types, kinds, strict=True):
            if isinstance(kind, MemType):
                array = array_for_parameter(name, kind, declared, len(function.parameters))
                array.place = self.record.place
                self._own(array)
                function.parameters.append(array)
                self.env[number] = array
                continue
            if declared.startswith("stream<"):
                self.env[number] = self.streams.parameter(name, declared, self.record.place)
                continue
            width = element_width(kind)
            constant_value = self.constants.get(len(function.scalar_args))
            node = self.builder.free_node("arg", width, name)
            function.scalar_args.append(node)
            function.scalar_types.append(declared or kind)
            if constant_value is not None:
                known = kind == "index"
                self.env[number] = (
                    Lin(constant_value) if known else self.builder.const(constant_value, width)
                )
                continue
            self.env[number] = (
                self.builder.as_symbol(node, *_index_range(declared)) if kind == "index" else node
            )

    def _own(self, array: Array) -> Array:
        array.number = len(self.function.arrays)
        self.function.arrays.append(array)
        return array

    def _returns(self) -> None:
        final = next((op for op in self.record.ops if op.name == "func.return"), None)
        declared = self.record.attrs.get("res_types") or []
        for position, value in enumerate(final.operands if final else []):
            kind = self.record.result_types[position]
            if isinstance(kind, MemType):
                array = self.env[value]
                assert isinstance(array, Array)
                if array.storage != "port":
                    array.storage = "port"
                    array.parameter = len(self.function.parameters)
                    array.read_latency = 1
                    self.function.parameters.append(array)
                self.function.returned.append(array)
            else:
                with self._static():
                    width = element_width(kind)
                    self.function.returned.append(self.arithmetic.node(self.env[value], width))
            text = declared[position] if position < len(declared) else str(kind)
            self.function.result_types.append(text)

    def returned_arrays(self) -> set[int]:
        """Value numbers of local arrays that are returned, whose storage is outside."""
        final = next((op for op in self.record.ops if op.name == "func.return"), None)
        return set(final.operands) if final else set()

    # --- straight-line code ------------------------------------------------------

    def ops(self, ops: list[Op]) -> None:
        """Elaborate operations in order, into the open body or region."""
        for op in ops:
            self.builder.place = op.place
            self._op(op)

    def _op(self, op: Op) -> None:
        if op.name in SKIPPED:
            return
        if is_pure(op):
            self._pure(op)
            return
        handler = _HANDLERS.get(op.name)
        if handler is None:
            raise UnsupportedOpError(
                f"The RTL compiler does not support {op.name} here.",
                op.place,
                help="rewrite this part of the kernel with loops, arrays and arithmetic.",
            )
        handler(self, op)

    def _pure(self, op: Op) -> None:
        operands = [self.env[o] for o in op.operands]
        if not self._leaf and self.arithmetic.can_defer(op):
            self.env[op.results[0]] = Deferred(op, operands)
            return
        with self._straight():
            self.env[op.results[0]] = self.arithmetic.evaluate(op, operands)

    @contextmanager
    def _straight(self) -> Iterator[None]:
        """Fill the open leaf body, or the block of straight-line code at this point."""
        if self._leaf:
            yield
            return
        if self._block is None:
            self._block = Block(self.function.new_body())
            self._seq.children.append(self._block)
        place = self.builder.place
        with self.builder.filling(self._block.body):
            self.builder.place = place
            yield

    @contextmanager
    def _static(self) -> Iterator[None]:
        """Compute from values that are stable: bounds, conditions, arguments of calls."""
        with self.builder.filling(self.builder.static):
            yield

    def _close(self) -> None:
        """End the open block of straight-line code."""
        if self._block is None:
            return
        with self.builder.filling(self._block.body):
            self.memory.finish(self._block.body)
        self._block = None

    def _add(self, region: Region) -> None:
        self._close()
        self._seq.children.append(region)

    @contextmanager
    def _inside(self, seq: Seq) -> Iterator[None]:
        """Put what follows into another sequence of regions."""
        self._close()
        saved = self._seq
        self._seq = seq
        yield
        self._close()
        self._seq = saved

    # --- memory --------------------------------------------------------------

    def _alloc(self, op: Op) -> None:
        value = op.results[0]
        found = self.env.get(value)
        if isinstance(found, Array) and found.private is None:
            return
        kind = op.result_types[0]
        assert isinstance(kind, MemType)
        array = self._own(array_for_local(op.attrs, kind, op.place))
        if not self._inlining and value in self.returned_arrays():
            array.storage, array.read_latency = "port", 1
            array.parameter = len(self.function.parameters)
            self.function.parameters.append(array)
        elif self._leaf:
            array.private = self.builder.body
        self.env[value] = array

    def _get_global(self, op: Op) -> None:
        name = op.attrs["name"] if isinstance(op.attrs["name"], str) else op.attrs["sym"]
        symbol = str(op.attrs.get("sym_name") or op.attrs["name"]).lstrip("@")
        record = self.program.globals.get(symbol) or self.program.globals[str(name).lstrip("@")]
        array = self.globals.get(record.name)
        if array is None:
            array = self.globals[record.name] = self._own(array_for_global(record, op.place))
            if array.storage == "ram":
                self._initialise(array)
        self.env[op.results[0]] = array

    def _initialise(self, array: Array) -> None:
        """Before anything else, in the first run: give a stateful array its initial words."""
        table, flag = first_run_arrays(array)
        self._own(table)
        self._own(flag)
        place = self.builder.place
        regions = first_run_regions(self.builder, self.memory, self.bulk, array, table, flag)
        self.builder.place = place
        self.function.root.children[:0] = regions

    def _index(self, op: Op, values: list[int]) -> tuple[Lin, ...]:
        operands = [self.arithmetic.lin(self.env[v]) for v in values]
        if "map" in op.attrs:
            return tuple(self.arithmetic.expressions(op.attrs["map"], operands))
        return tuple(operands)

    def _load(self, op: Op) -> None:
        array = self.env[op.operands[0]]
        assert isinstance(array, Array)
        with self._straight():
            node = self.memory.load(array, self._index(op, op.operands[1:]))
            if op.result_types[0] == "index":
                self.env[op.results[0]] = self.builder.as_symbol(node, INDEX_LOW, INDEX_HIGH)
            else:
                self.env[op.results[0]] = node

    def _store(self, op: Op) -> None:
        array = self.env[op.operands[1]]
        assert isinstance(array, Array)
        with self._straight():
            index = self._index(op, op.operands[2:])
            self.memory.store(array, index, self._value(op.operands[0], array.width))

    def _value(self, value: int, width: int) -> Node:
        return self.arithmetic.node(self.env[value], width)

    def _fill(self, op: Op) -> None:
        array = self.env[op.operands[1]]
        assert isinstance(array, Array)
        if self._leaf:
            self.bulk.fill_in_place(array, self._value(op.operands[0], array.width))
            return
        value = self.env[op.operands[0]]
        self._add(self.bulk.fill(array, lambda: self.arithmetic.node(value, array.width), op.place))

    def _copy(self, op: Op) -> None:
        source, target = (self.env[o] for o in op.operands[:2])
        assert isinstance(source, Array) and isinstance(target, Array)
        if self._leaf:
            self.bulk.copy_in_place(source, target)
            return
        self._add(self.bulk.copy(source, target, op.place))

    # --- streams ---------------------------------------------------------------------

    def _stream(self, op: Op) -> Stream:
        stream = self.env[op.operands[0]]
        assert isinstance(stream, Stream)
        return stream

    def _put(self, op: Op) -> None:
        stream, value = self._stream(op), self.env[op.operands[1]]
        with self._straight():
            if isinstance(value, Array):
                self.streams.put_block(stream, value)
            else:
                self.streams.put(stream, self.arithmetic.node(value, stream.width))

    def _get(self, op: Op) -> None:
        with self._straight():
            node = self.streams.get(self._stream(op))
            if op.result_types[0] == "index":
                self.env[op.results[0]] = self.builder.as_symbol(node, INDEX_LOW, INDEX_HIGH)
            else:
                self.env[op.results[0]] = node

    def _get_block(self, op: Op) -> None:
        array = self.env[op.operands[1]]
        assert isinstance(array, Array)
        with self._straight():
            self.streams.get_block(self._stream(op), array)

    def _drop(self, op: Op) -> None:
        self.function.notes.append(f"{op.name} ({op.place}) is left out of the hardware.")

    # --- conditions ----------------------------------------------------------------

    def _if(self, op: Op) -> None:
        if self._leaf or not any(contains_control(r, self._unrolls) for r in op.regions):
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

    def _unrolls(self, op: Op) -> bool:
        """Whether a loop disappears by complete unrolling wherever it stands."""
        return op.attrs.get("unroll") == 0

    def _for(self, op: Op) -> None:
        if self._leaf or self._unrolls(op):
            self._unrolled(op)
            return
        chain = chain_of(op, self._unrolls)
        inner = chain[-1]
        body_ops = inner.regions[0]
        pipelined = "pipeline_ii" in inner.attrs
        if pipelined or not contains_control(body_ops, self._unrolls):
            self._pipeline(chain)
            return
        self._nested(op)

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
                raise self._not_unrollable(op)

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
        low = max(shape.lower.bounds()[0], INDEX_LOW)
        high = min(shape.upper.bounds()[1], INDEX_HIGH)
        iv = self.builder.free_node("iv", 32, name, low=low, high=max(low + 1, high - 1))
        with self._static():
            lower = self.builder.lin_node(shape.lower, 32)
            upper = self.builder.lin_node(shape.upper, 32)
        return Level(name, iv, None, step, lower, upper, place=op.place)

    def _while(self, op: Op) -> None:
        if self._leaf:
            raise UnsupportedOpError(
                "A while loop stands inside a pipelined or unrolled loop.",
                op.place,
                help="pipeline no loop around it, or give it a fixed number of iterations.",
            )
        test, work = op.regions
        condition_op = test[-1]
        if not contains_control(test, self._unrolls) and not contains_control(work, self._unrolls):
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
        if self._leaf:
            self._inline(op, callee)
            return
        self._close()
        scalars: list[Node] = []
        arrays: list[Array] = []
        streams: list[Stream] = []
        with self._static():
            for value, kind in zip(op.operands, op.operand_types, strict=True):
                bound = self.env[value]
                if isinstance(bound, Array):
                    arrays.append(bound)
                elif isinstance(bound, Stream):
                    streams.append(bound)
                else:
                    scalars.append(self.arithmetic.node(bound, element_width(str(kind))))
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
        """Elaborate a called function in place: inside pipelined and unrolled loops."""
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


def _band(op: Op) -> str:
    return op.attrs.get("op_name") or op.attrs.get("loop_name") or "loop"


def _iterator(shape: LoopShape, level: Level, factor: int = 1) -> Lin:
    """The Python iterator of a loop in terms of its counter."""
    if level.trips is None:
        return Lin(0, ((level.iv, 1),))
    if level.trips == 1:
        return shape.lower
    return add(shape.lower, scale(Lin(0, ((level.iv, 1),)), shape.step * factor))


def _index_range(declared: str) -> tuple[int, int]:
    return (0, INDEX_HIGH) if declared.startswith("ui") else (INDEX_LOW, INDEX_HIGH)


def place_of_region(region: Region) -> SourcePlace | None:
    """Where a region came from."""
    if isinstance(region, Loop):
        return region.level.place
    return getattr(region, "place", None)


_HANDLERS: dict[str, Any] = {
    "memref.alloc": Elaborator._alloc,
    "memref.alloca": Elaborator._alloc,
    "memref.get_global": Elaborator._get_global,
    "affine.load": Elaborator._load,
    "memref.load": Elaborator._load,
    "affine.store": Elaborator._store,
    "memref.store": Elaborator._store,
    "linalg.fill": Elaborator._fill,
    "memref.copy": Elaborator._copy,
    "affine.for": Elaborator._for,
    "scf.for": Elaborator._for,
    "affine.if": Elaborator._if,
    "scf.if": Elaborator._if,
    "scf.while": Elaborator._while,
    "func.call": Elaborator._call,
    "allo.put": Elaborator._put,
    "allo.get": Elaborator._get,
    "allo.get_block": Elaborator._get_block,
    "allo.print": Elaborator._drop,
    "allo.assert": Elaborator._drop,
}


__all__ = ["Body", "Elaborator", "place_of_region"]
