"""Lower regions: their FIFOs are made from a table, their calls become processes.

A region may have thousands of both. So the FIFOs are one constant table and one call, and the
processes are started by functions of a few dozen each: LLVM's time grows faster than the size of a function.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from allo.dialects._mlir import arith, func, ir, llvm
from allo.dialects.storage import cell_bytes

from .program import Program, ProgramOps
from .stream_helpers import APART_PREFIX, Helpers

_CALLS_IN_A_CHUNK = 32


def lower_regions(program: Program, ops: ProgramOps, helpers: Helpers) -> None:
    """Replace the streams and calls of every region in place."""
    calls: dict[ir.Operation, list[tuple[int, ir.Operation]]] = {}
    for number, call in enumerate(ops.calls):
        calls.setdefault(_function_of(call), []).append((number, call))
    streams: dict[ir.Operation, list[tuple[int, ir.Operation]]] = {}
    for number, stream in enumerate(ops.streams):
        streams.setdefault(_function_of(stream), []).append((number, stream))
    for function in ops.regions:
        _lower_region(
            function, program, streams.get(function, []), calls.get(function, []), helpers
        )


def _function_of(op: ir.Operation) -> ir.Operation:
    while op.name != "func.func":
        op = op.parent.operation
    return op


def _lower_region(
    function: ir.Operation,
    program: Program,
    streams: list[tuple[int, ir.Operation]],
    calls: list[tuple[int, ir.Operation]],
    helpers: Helpers,
) -> None:
    name = function.attributes["sym_name"].value
    block = function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block), function.location:
        _call("allo_region_begin", [])
        if streams:
            table = _fifo_table(name, program, [number for number, _ in streams], helpers)
            _call("allo_fifos_new", [_address_of(table), _word(len(streams))])
    positions = {op.results[0]: position for position, (_, op) in enumerate(streams)}
    chunk = _Chunk(positions)
    for number, call in calls:
        if call.block != block:
            _spawn_in_place(number, call, helpers)
            continue
        chunk.add(number, call)
        if len(chunk.calls) == _CALLS_IN_A_CHUNK:
            chunk.lower(name, helpers)
            chunk = _Chunk(positions)
    chunk.lower(name, helpers)
    for position, (_, op) in enumerate(streams):
        _replace_handle(op, position, helpers)
    end = block.operations[len(block.operations) - 1]
    with ir.InsertionPoint(end), end.location:
        _call("allo_region_join", [])


def _fifo_table(name: str, program: Program, numbers: list[int], helpers: Helpers) -> str:
    """A constant array of (stream, depth, bytes of an element)."""
    entries = []
    for number in numbers:
        dtype = program.streams[number].dtype
        entries += [number, dtype.depth, prod(dtype.shape) * cell_bytes(dtype.dtype)]
    values = ", ".join(map(str, entries))
    table = f"__allo_fifos_{name}"
    return helpers.add_global(
        table,
        f"llvm.mlir.global internal constant @{table}(dense<[{values}]> : tensor<{len(entries)}xi64>) "
        f": !llvm.array<{len(entries)} x i64>",
    )


def _replace_handle(op: ir.Operation, position: int, helpers: Helpers) -> None:
    """Look a stream's handle up at each use that is left."""
    for use in list(op.results[0].uses):
        with ir.InsertionPoint(use.owner), use.owner.location:
            index = func.CallOp([ir.IndexType.get()], helpers.handle(), [_word(position)])
        use.owner.operands[use.operand_number] = index.operation.results[0]
    op.erase()


def _spawn_in_place(number: int, call: ir.Operation, helpers: Helpers) -> None:
    callee = call.attributes["callee"].value
    kinds = [value.type for value in call.operands]
    with ir.InsertionPoint(call), call.location:
        func.CallOp([], helpers.spawn(callee, kinds), [_word(number), *call.operands])
    call.erase()


@dataclass(slots=True)
class _Chunk:
    """Calls that one function starts: it is passed the values they use, but looks up streams and
    repeats constants.
    """

    positions: dict[ir.Value, int]
    calls: list[tuple[int, ir.Operation]] = field(default_factory=list)
    captured: dict[ir.Value, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, number: int, call: ir.Operation) -> None:
        self.calls.append((number, call))

    def lower(self, region: str, helpers: Helpers) -> None:
        """Replace the calls by one of a new function."""
        if not self.calls:
            return
        for number, call in self.calls:
            self._spawn(number, call, helpers)
        arguments = ", ".join(f"{name}: {value.type}" for value, name in self.captured.items())
        name = f"{APART_PREFIX}start_{region}_{self.calls[0][0]}"
        helpers.make(name, f"({arguments})", "\n".join([*self.lines, "return"]))
        last = self.calls[-1][1]
        with ir.InsertionPoint(last), last.location:
            func.CallOp([], name, list(self.captured))
        for _, call in self.calls:
            call.erase()

    def _spawn(self, number: int, call: ir.Operation, helpers: Helpers) -> None:
        operands = list(call.operands)
        streams = frozenset(i for i, value in enumerate(operands) if value in self.positions)
        kinds = [value.type for value in operands]
        spawn = helpers.spawn(call.attributes["callee"].value, kinds, streams)
        names = [self._word(number), *map(self._name, operands)]
        types = ["i64", *("i64" if i in streams else str(k) for i, k in enumerate(kinds))]
        self.lines.append(f"func.call @{spawn}({', '.join(names)}) : ({', '.join(types)}) -> ()")

    def _name(self, value: ir.Value) -> str:
        if value in self.positions:
            return self._word(self.positions[value])
        owner = value.owner
        if not isinstance(owner, ir.Block) and owner.operation.name == "arith.constant":
            return self._constant(str(owner.operation.attributes["value"]))
        return self.captured.setdefault(value, f"%v{len(self.captured)}")

    def _word(self, number: int) -> str:
        return self._constant(f"{number} : i64")

    def _constant(self, text: str) -> str:
        if text not in self.constants:
            self.constants[text] = f"%c{len(self.constants)}"
            self.lines.append(f"{self.constants[text]} = arith.constant {text}")
        return self.constants[text]


def _word(number: int) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    return arith.ConstantOp(i64, ir.IntegerAttr.get(i64, number)).result


def _address_of(name: str) -> ir.Value:
    return llvm.AddressOfOp(ir.Type.parse("!llvm.ptr"), ir.FlatSymbolRefAttr.get(name)).result


def _call(name: str, operands: list[ir.Value]) -> None:
    """A call of a runtime function without a result."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    ir.Operation.create("llvm.call", results=[], operands=operands, attributes=attributes)
