"""Lower regions: tables of their FIFOs and processes, which the runtime reads.

A region may have thousands of both, and LLVM's time grows with the code, so there is none for
each: the FIFOs are a constant table, the processes another. An entry says which kernel runs and
for each of its arguments whether it is a FIFO, a constant, or a value of the region.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from math import prod

from allo.dialects._mlir import func, ir, llvm
from allo.dialects.boundary.storage import cell_bytes
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, function_around, symbol
from allo.dialects.diagnostics import UnsupportedOpError

from .pieces import byte_offset, call_runtime, local_memory, pointer, word
from .program import Program, ProgramOps
from .stream_helpers import Helpers, frame_layout, stored_bytes, stored_type

# How simulator.cpp reads an argument of a process.
_FIFO, _CONSTANT, _VALUE = range(3)


def lower_regions(program: Program, ops: ProgramOps, helpers: Helpers) -> None:
    """Replace the streams and calls of every region in place.

    Raises:
        UnsupportedOpError: a call of a kernel in a loop or branch of a region.
    """
    calls: dict[ir.Operation, list[tuple[int, ir.Operation]]] = {}
    for number, call in enumerate(ops.calls):
        calls.setdefault(function_around(call), []).append((number, call))
    streams: dict[ir.Operation, list[tuple[int, ir.Operation]]] = {}
    for number, stream in enumerate(ops.streams):
        streams.setdefault(function_around(stream), []).append((number, stream))
    for function in ops.regions:
        _lower_region(
            function, program, streams.get(function, []), calls.get(function, []), helpers
        )


def _lower_region(
    function: ir.Operation,
    program: Program,
    streams: list[tuple[int, ir.Operation]],
    calls: list[tuple[int, ir.Operation]],
    helpers: Helpers,
) -> None:
    name = symbol(function)
    block = function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block), function.location:
        call_runtime("allo_region_begin", [])
        if streams:
            table = _fifo_table(program, [number for number, _ in streams])
            address = _constant_table(f"__allo_fifos_{name}", table, helpers)
            call_runtime("allo_fifos_new", [address, word(len(streams))])
    end = block.operations[len(block.operations) - 1]
    with ir.InsertionPoint(end), end.location:
        if calls:
            _spawn(name, block, program, streams, calls, helpers)
        call_runtime("allo_region_join", [])
    for _, call in calls:
        call.erase()
    for position, (_, op) in enumerate(streams):
        _replace_handle(op, position, helpers)


def _fifo_table(program: Program, numbers: list[int]) -> list[int]:
    """(stream, depth, bytes of an element) of each FIFO."""
    entries = []
    for number in numbers:
        dtype = program.streams[number].dtype
        entries += [number, dtype.depth, prod(dtype.shape) * cell_bytes(dtype.dtype)]
    return entries


def _replace_handle(op: ir.Operation, position: int, helpers: Helpers) -> None:
    """Look a stream's handle up at each use that is left."""
    for use in list(op.results[0].uses):
        with ir.InsertionPoint(use.owner), use.owner.location:
            index = func.CallOp([ir.IndexType.get()], helpers.handle(), [word(position)])
        use.owner.operands[use.operand_number] = index.operation.results[0]
    op.erase()


def _spawn(
    region: str,
    block: ir.Block,
    program: Program,
    streams: list[tuple[int, ir.Operation]],
    calls: list[tuple[int, ir.Operation]],
    helpers: Helpers,
) -> None:
    """Start all processes; code is inserted at the current point."""
    positions = {op.results[0]: position for position, (_, op) in enumerate(streams)}
    table = _ProcessTable(positions)
    for number, call in calls:
        if call.block != block:
            raise UnsupportedOpError(
                "A kernel of a region is called in a loop or a branch.",
                place_of(call),
                help="a region declares streams and kernels only.",
            )
        table.add(number, call, endless=number in program.endless)
    kernels = _kernel_addresses(table, helpers)
    values = _store_values(table)
    entries = _constant_table(f"__allo_processes_{region}", table.words, helpers)
    call_runtime("allo_spawn_all", [kernels, entries, word(len(calls)), values])


@dataclass(slots=True)
class _ProcessTable:
    """The words of the table: (kernel, call, frame bytes, whether it never ends, arguments, then of each
    argument its kind, what, offset in the frame, bytes), and what they refer to.
    """

    positions: dict[ir.Value, int]
    words: list[int] = field(default_factory=list)
    kernels: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, list[ir.Type]] = field(default_factory=dict)
    values: dict[ir.Value, int] = field(default_factory=dict)
    value_bytes: int = 0

    def add(self, number: int, call: ir.Operation, *, endless: bool) -> None:
        """Append the words of one process: its kernel, its number, and its arguments."""
        callee = callee_of(call)
        operands = list(call.operands)
        if callee not in self.kernels:
            self.kernels[callee] = len(self.kernels)
            self.kinds[callee] = [value.type for value in operands]
        offsets, size = frame_layout(self.kinds[callee])
        self.words += [self.kernels[callee], number, size, int(endless), len(operands)]
        for value, offset in zip(operands, offsets, strict=True):
            kind, what = self._source(value)
            self.words += [kind, what, offset, stored_bytes(value.type)]

    def _source(self, value: ir.Value) -> tuple[int, int]:
        position = self.positions.get(value)
        if position is not None:
            return _FIFO, position
        constant = _constant_bits(value)
        if constant is not None:
            return _CONSTANT, constant
        if value not in self.values:
            self.values[value] = self.value_bytes
            self.value_bytes += -(-stored_bytes(value.type) // 16) * 16
        return _VALUE, self.values[value]


def _constant_bits(value: ir.Value) -> int | None:
    """The memory of a constant of up to 64 bits, as a signed word."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    attribute = owner.operation.attributes["value"]
    if isinstance(attribute, ir.FloatAttr):
        code = {"f64": "<d", "f32": "<f"}.get(str(attribute.type))
        if code is None:
            return None
        return int.from_bytes(struct.pack(code, attribute.value), "little", signed=True)
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    bits = 64 if isinstance(attribute.type, ir.IndexType) else attribute.type.width
    if bits > 64:
        return None
    unsigned = int(attribute.value) & ((1 << bits) - 1)
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned


def _kernel_addresses(table: _ProcessTable, helpers: Helpers) -> ir.Value:
    """The address of an array of the kernels' entry functions."""
    array = local_memory(8 * len(table.kernels))
    kind = ir.FunctionType.get([pointer()], [])
    for callee, position in table.kernels.items():
        thunk = func.ConstantOp(kind, helpers.thunk(callee, table.kinds[callee])).result
        llvm.StoreOp(_cast(thunk, pointer()), byte_offset(array, 8 * position))
    return array


def _store_values(table: _ProcessTable) -> ir.Value:
    """The address of memory with the values of the region that its kernels take."""
    memory = local_memory(table.value_bytes)
    for value, offset in table.values.items():
        llvm.StoreOp(_cast(value, stored_type(value.type)), byte_offset(memory, offset))
    return memory


def _constant_table(name: str, words: list[int], helpers: Helpers) -> ir.Value:
    """The address of a constant array of words."""
    data = "".join(struct.pack("<q", word).hex() for word in words)
    helpers.add_global(
        name,
        f'llvm.mlir.global internal constant @{name}(dense<"0x{data}"> : tensor<{len(words)}xi64>) '
        f": !llvm.array<{len(words)} x i64>",
    )
    return llvm.AddressOfOp(pointer(), ir.FlatSymbolRefAttr.get(name)).result


def _cast(value: ir.Value, kind: ir.Type) -> ir.Value:
    if value.type == kind:
        return value
    cast = ir.Operation.create(
        "builtin.unrealized_conversion_cast", results=[kind], operands=[value]
    )
    return cast.results[0]
