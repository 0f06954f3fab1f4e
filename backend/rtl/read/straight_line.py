"""Straight-line code of one function: arguments, arithmetic, memory, streams, into open bodies.

:class:`~allo.backend.rtl.read.elaborate.Elaborator` adds control to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from allo.dialects.affine.asserted import ACCESS_MARK
from allo.dialects.core.bounds import CHECKS, site_from
from allo.dialects.core.fifos import TRIES
from allo.dialects.diagnostics import UnsupportedOpError
from allo.dialects.ranges.interval import INDEX_RANGE
from allo.dialects.streams.shared.handover import HANDS_OVER

from ..graph.nodes import Array, Lin, Node, Stream
from ..graph.regions import Block, Function, Region, Seq
from ..operators.library import OperatorLibrary
from .accesses import Memory
from .bulk import Bulk
from .initialise import first_run_arrays, first_run_regions
from .records import FunctionRecord, MemType, Op, Program, argument_width, element_width
from .storage import array_for_global, array_for_local, array_for_parameter
from .stream_ops import Streams
from .values.arithmetic import Arithmetic, is_pure
from .values.builder import INDEX_HIGH, INDEX_LOW, Bound, Builder, Deferred

_OPEN = nullcontext()
SKIPPED = frozenset({"affine.yield", "scf.yield", "func.return", "memref.dealloc", "scf.condition"})


class StraightLine:
    """Elaborates operations without control into blocks and leaf bodies."""

    handlers: Mapping[str, Callable[[Any, Op], None]] = {}

    def __init__(
        self,
        program: Program,
        record: FunctionRecord,
        module: str,
        library: OperatorLibrary,
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
        self._guard: Op | None = None
        self._guards: list[Node] = []

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
        rows = zip(self.record.args, names, types, kinds, strict=True)
        for position, (number, name, declared, kind) in enumerate(rows):
            if isinstance(kind, MemType):
                array = array_for_parameter(name, kind, declared, len(function.parameters))
                array.place = self.record.place
                self._own(array)
                function.parameters.append(array)
                self.env[number] = array
                continue
            if declared.startswith("stream<"):
                self.env[number] = self.streams.parameter(
                    name, declared, self.record.place, self.record.stream_groups
                )
                continue
            width = argument_width(self.record, position)
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
            limits = self.record.index_ranges.get(position, INDEX_RANGE)
            self.env[number] = self.builder.as_symbol(node, *limits) if kind == "index" else node

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
            self.builder.asserted = frozenset(op.attrs.get(ACCESS_MARK, ()))
            self._op(op)

    def _op(self, op: Op) -> None:
        if op.name in SKIPPED:
            return
        if is_pure(op):
            self._pure(op)
            return
        handler = self.handlers.get(op.name)
        if handler is None:
            raise UnsupportedOpError(
                f"The RTL compiler does not support {op.name} here.",
                op.place,
                help="rewrite this part of the kernel with loops, arrays and arithmetic.",
            )
        handler(self, op)

    def _pure(self, op: Op) -> None:
        operands = [self.env[o] for o in op.operands]
        if not self._leaf and self.arithmetic.can_defer(op, operands):
            self.env[op.results[0]] = Deferred(op, operands)
            return
        with self._straight():
            self.env[op.results[0]] = self.arithmetic.evaluate(op, operands)

    def _straight(self) -> AbstractContextManager[None]:
        """Fill the open leaf body, or the block of straight-line code at this point."""
        return _OPEN if self._leaf else self._in_block()

    @contextmanager
    def _in_block(self) -> Iterator[None]:
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

    @contextmanager
    def _handing_over(self) -> Iterator[None]:
        """Around what orders accesses to memory of several processes: neither side of it starts early."""
        apart = HANDS_OVER in self.record.attrs and not self._leaf
        if apart:
            self._close()
        with self._straight():
            yield
        if apart:
            self._close()

    def _put(self, op: Op) -> None:
        stream, value = self._stream(op), self.env[op.operands[1]]
        with self._handing_over():
            if isinstance(value, Array):
                self.streams.put_block(stream, value)
            else:
                self.streams.put(stream, self.arithmetic.node(value, stream.width))

    def _get(self, op: Op) -> None:
        with self._handing_over():
            node = self.streams.get(self._stream(op))
            if op.result_types[0] == "index":
                self.env[op.results[0]] = self.builder.as_symbol(node, INDEX_LOW, INDEX_HIGH)
            else:
                self.env[op.results[0]] = node

    def _get_block(self, op: Op) -> None:
        array = self.env[op.operands[1]]
        assert isinstance(array, Array)
        with self._handing_over():
            self.streams.get_block(self._stream(op), array)

    def _try(self, op: Op) -> None:
        stream, value = self._stream(op), None
        with self._handing_over():
            if len(op.operands) > 1:
                value = self.arithmetic.node(self.env[op.operands[1]], stream.width)
            nodes = self.streams.attempt(stream, op.name.removeprefix("allo."), value)
            for result, kind, node in zip(op.results, op.result_types, nodes, strict=True):
                is_index = kind == "index"
                symbol = self.builder.as_symbol
                self.env[result] = symbol(node, INDEX_LOW, INDEX_HIGH) if is_index else node

    def _check(self, op: Op) -> None:
        number = self.program.checks[site_from(op.name, op.attrs, op.place)]
        builder = self.builder
        with self._straight():
            inside = self._value(op.operands[0], 1)
            words = [
                builder.lin_node(self.arithmetic.lin(self.env[v]), 64) for v in op.operands[1:]
            ]
            predicate = builder.predicate or builder.const(1, 1)
            if _is(inside, 1) or _is(predicate, 0):
                return
            node = builder.add_node("check", 1, (inside, predicate, *words), data=number)
            builder.body.alive = builder.both(builder.body.alive, node)

    def _drop(self, op: Op) -> None:
        note = f"{op.name} ({op.place}) is left out of the hardware."
        if note not in self.function.notes:
            self.function.notes.append(note)


def _is(node: Node, value: int) -> bool:
    return node.kind == "const" and node.data == value


STRAIGHT_HANDLERS: dict[str, Callable[[Any, Op], None]] = {
    "memref.alloc": StraightLine._alloc,
    "memref.alloca": StraightLine._alloc,
    "memref.get_global": StraightLine._get_global,
    "affine.load": StraightLine._load,
    "memref.load": StraightLine._load,
    "affine.store": StraightLine._store,
    "memref.store": StraightLine._store,
    "linalg.fill": StraightLine._fill,
    "memref.copy": StraightLine._copy,
    "allo.put": StraightLine._put,
    "allo.get": StraightLine._get,
    "allo.get_block": StraightLine._get_block,
    **dict.fromkeys(TRIES, StraightLine._try),
    "allo.print": StraightLine._drop,
    "allo.assert": StraightLine._drop,
    **dict.fromkeys(CHECKS, StraightLine._check),
}
