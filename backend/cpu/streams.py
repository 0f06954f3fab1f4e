"""Lower the ``allo`` dialect to calls of the native runtime.

* A function that makes streams begins a runtime region and joins it before it returns; a stream
  handle becomes the address of a ``Fifo`` (``backend/runtime/simulator.hpp``).
* A call in a region becomes a process: its arguments are written to a frame on the new
  fiber's stack, from which a *thunk* calls the kernel.
* A put or get is inline code over the fields of the ``Fifo``; only when it must wait, or wake the
  other end, does it call the runtime.
* ``allo.print`` and ``allo.assert`` return to Python with the values in memory.
"""

from __future__ import annotations

from math import prod
from typing import Any

from allo.dialects._mlir import arith, func, ir, llvm, memref, scf
from allo.dialects.storage import cell_bytes
from allo.dialects.types import parse_type

from .program import Program, ProgramOps, StreamInfo

EVENT_SLOT_BYTES = 64
"""Bytes of each printed value: the widest integer."""

_DECLARATIONS = """
llvm.func @allo_region_begin()
llvm.func @allo_region_join()
llvm.func @allo_fifo_new(i64, i64, i64) -> !llvm.ptr
llvm.func @allo_spawn(!llvm.ptr, i64, i64) -> !llvm.ptr
llvm.func @allo_put_wait(!llvm.ptr, i64) attributes {passthrough = ["cold"]}
llvm.func @allo_get_wait(!llvm.ptr, i64) attributes {passthrough = ["cold"]}
llvm.func @allo_event(i64, !llvm.ptr)
"""

# Fields of a Fifo, by number of 64-bit words.
_DATA, _COUNT, _PUT_LIMIT, _GET_FLOOR, _READ, _WRITE, _BYTES = range(7)


def lower_streams(module: ir.Module, program: Program, ops: ProgramOps) -> None:
    """Replace the operations of ``ops`` in place; the numbers are their positions in it."""
    with module.context, ir.Location.unknown():
        helpers = _Helpers()
        for number, (op, info) in enumerate(zip(ops.streams, program.streams, strict=True)):
            _lower_stream(op, number, info)
        for number, op in enumerate(ops.sites):
            _lower_site(op, number, helpers)
        for number, op in enumerate(ops.events):
            _lower_event(op, number)
        for number, op in enumerate(ops.calls):
            _lower_call(op, number, helpers)
        for region in ops.regions:
            _frame_region(region)
        helpers.add_to(module)


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)


def _pointer() -> ir.Type:
    return ir.Type.parse("!llvm.ptr")


def _word(number: int) -> ir.Value:
    return arith.ConstantOp(_i64(), ir.IntegerAttr.get(_i64(), number)).result


def _call(name: str, operands: list[ir.Value], result: ir.Type | None = None) -> Any:
    """A call of a runtime function."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    op = ir.Operation.create(
        "llvm.call",
        results=[result] if result else [],
        operands=operands,
        attributes=attributes,
    )
    return op.results[0] if result else None


def _lower_stream(op: ir.Operation, number: int, info: StreamInfo) -> None:
    dtype = info.dtype
    cell = prod(dtype.shape) * cell_bytes(dtype.dtype)
    with ir.InsertionPoint(op), op.location:
        words = [_word(number), _word(dtype.depth), _word(cell)]
        address = _call("allo_fifo_new", words, _pointer())
        handle = llvm.PtrToIntOp(_i64(), address).result
        index = arith.IndexCastOp(ir.IndexType.get(), handle).result
    op.results[0].replace_all_uses_with(index)
    op.erase()


def _lower_site(op: ir.Operation, number: int, helpers: _Helpers) -> None:
    with ir.InsertionPoint(op), op.location:
        handle = arith.IndexCastOp(_i64(), op.operands[0]).result
        fifo = llvm.IntToPtrOp(_pointer(), handle).result
        site = _word(number)
        if op.name == "allo.get":
            result = op.results[0]
            call = func.CallOp([result.type], helpers.get(result.type), [fifo, site])
            result.replace_all_uses_with(call.operation.results[0])
        elif isinstance(op.operands[1].type, ir.MemRefType):
            _transfer_block(op, fifo, site, helpers)
        else:
            value = op.operands[1]
            func.CallOp([], helpers.put(value.type), [fifo, value, site])
    op.erase()


def _transfer_block(op: ir.Operation, fifo: ir.Value, site: ir.Value, helpers: _Helpers) -> None:
    """A put or get of an array; one that is a strided view goes through a packed copy."""
    array, putting = op.operands[1], op.name == "allo.put"
    packed = array
    if isinstance(array.type.layout, ir.StridedLayoutAttr):
        plain = ir.MemRefType.get(array.type.shape, array.type.element_type)
        packed = memref.AllocOp(plain, [], []).result
        if putting:
            memref.CopyOp(array, packed)
    size = prod(packed.type.shape) * cell_bytes(parse_type(str(packed.type.element_type)))
    operands = [fifo, _address_of(packed), _word(size), site]
    func.CallOp([], helpers.put_block() if putting else helpers.get_block(), operands)
    if packed != array and not putting:
        memref.CopyOp(packed, array)


def _address_of(array: ir.Value) -> ir.Value:
    index = memref.ExtractAlignedPointerAsIndexOp(array).result
    return llvm.IntToPtrOp(_pointer(), arith.IndexCastOp(_i64(), index).result).result


def _lower_event(op: ir.Operation, number: int) -> None:
    with ir.InsertionPoint(op), op.location:
        if op.name == "allo.assert":
            bit = op.operands[0].type
            true = arith.ConstantOp(bit, ir.IntegerAttr.get(bit, 1)).result
            failed = arith.XOrIOp(op.operands[0], true).result
            with ir.InsertionPoint(scf.IfOp(failed).then_block):
                nowhere = llvm.IntToPtrOp(_pointer(), _word(0)).result
                _call("allo_event", [_word(number), nowhere])
                scf.YieldOp([])
        else:
            _call("allo_event", [_word(number), _event_data(list(op.operands))])
    op.erase()


def _event_data(values: list[ir.Value]) -> ir.Value:
    """The address of the values, each in a slot of its own; of an array, its address."""
    wide = ir.IntegerType.get_signless(128)
    count = max(1, len(values)) * EVENT_SLOT_BYTES // 16
    slots = _address_of(memref.AllocOp(ir.MemRefType.get([count], wide), [], []).result)
    for position, value in enumerate(values):
        if isinstance(value.type, ir.MemRefType):
            value = _address_of(value)
        elif isinstance(value.type, ir.IndexType):
            value = arith.IndexCastOp(_i64(), value).result
        llvm.StoreOp(value, _offset(slots, position * EVENT_SLOT_BYTES))
    return slots


def _offset(base: ir.Value, count: int) -> ir.Value:
    byte = ir.IntegerType.get_signless(8)
    return llvm.GEPOp(
        _pointer(),
        base,
        [],
        ir.DenseI32ArrayAttr.get([count]),
        byte,
        llvm.GEPNoWrapFlags.none,
    ).result


def _frame_region(function: ir.Operation) -> None:
    block = function.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1]
    with ir.InsertionPoint.at_block_begin(block), function.location:
        _call("allo_region_begin", [])
    with ir.InsertionPoint(end), end.location:
        _call("allo_region_join", [])


def _lower_call(op: ir.Operation, number: int, helpers: _Helpers) -> None:
    callee = op.attributes["callee"].value
    kinds = [value.type for value in op.operands]
    offsets, size = _frame_layout(kinds)
    with ir.InsertionPoint(op), op.location:
        kind = ir.FunctionType.get([_pointer()], [])
        thunk = func.ConstantOp(kind, helpers.thunk(callee, kinds)).result
        entry = _cast(thunk, _pointer())
        frame = _call("allo_spawn", [entry, _word(number), _word(size)], _pointer())
        for value, offset in zip(op.operands, offsets, strict=True):
            stored = _cast(value, _stored_type(value.type))
            llvm.StoreOp(stored, _offset(frame, offset))
    op.erase()


def _cast(value: ir.Value, kind: ir.Type) -> ir.Value:
    if value.type == kind:
        return value
    cast = ir.Operation.create(
        "builtin.unrealized_conversion_cast", results=[kind], operands=[value]
    )
    return cast.results[0]


def _stored_type(kind: ir.Type) -> ir.Type:
    """The LLVM type of a value in a frame."""
    if isinstance(kind, ir.IndexType):
        return _i64()
    if not isinstance(kind, ir.MemRefType):
        return kind
    arrays = f", array<{kind.rank} x i64>" * 2 if kind.rank else ""
    return ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>")


def _frame_layout(kinds: list[ir.Type]) -> tuple[list[int], int]:
    """Byte offsets of the arguments in a frame, and the frame's size."""
    offsets, size = [], 0
    for kind in kinds:
        offsets.append(size)
        if isinstance(kind, ir.MemRefType):
            needed = 8 * (3 + 2 * kind.rank)
        else:
            needed = cell_bytes(parse_type(str(kind)))
        size += -(-needed // 16) * 16
    return offsets, size


class _Helpers:
    """Functions made once per element type or kernel and used by many sites."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._kernels: dict[str, str] = {}

    def add_to(self, module: ir.Module) -> None:
        """Append the helpers, and the declarations of the runtime, to ``module``."""
        parts = [_DECLARATIONS, *self._kernels.values(), *self._texts.values()]
        made = ir.Module.parse("\n".join(parts))
        for op in list(made.body.operations):
            if op.attributes["sym_name"].value not in self._kernels:
                op.operation.detach_from_parent()
                module.body.append(op)

    def put(self, kind: ir.Type) -> str:
        """``void (fifo, value, site)``"""
        name = f"__allo_put_{kind}"
        if name in self._texts:
            return name
        cell = cell_bytes(parse_type(str(kind)))
        store = "llvm.store %s, %at : T, !llvm.ptr".replace("T", str(_stored_type(kind)))
        value = "%s = arith.index_cast %v : index to i64\n" if str(kind) == "index" else ""
        if not value:
            store = store.replace("%s", "%v")
        return self._make(
            name,
            f"(%fifo: !llvm.ptr, %v: {kind}, %site: i64)",
            _transfer(_WRITE, _word_text(cell) + value + store, putting=True) + "return",
        )

    def get(self, kind: ir.Type) -> str:
        """``value (fifo, site)``"""
        name = f"__allo_get_{kind}"
        if name in self._texts:
            return name
        cell = cell_bytes(parse_type(str(kind)))
        load = f"%s = llvm.load %at : !llvm.ptr -> {_stored_type(kind)}\n"
        is_index = str(kind) == "index"
        if is_index:
            load += "%v = arith.index_cast %s : i64 to index\n"
        return self._make(
            name,
            f"(%fifo: !llvm.ptr, %site: i64) -> {kind}",
            _transfer(_READ, _word_text(cell) + load, putting=False)
            + f"return {'%v' if is_index else '%s'} : {kind}",
        )

    def put_block(self) -> str:
        """``void (fifo, address, bytes, site)``"""
        copy = _copy_text("%at", "%array")
        return self._make(
            "__allo_put_block",
            "(%fifo: !llvm.ptr, %array: !llvm.ptr, %cell: i64, %site: i64)",
            _transfer(_WRITE, copy, putting=True) + "return",
        )

    def get_block(self) -> str:
        """``void (fifo, address, bytes, site)``"""
        copy = _copy_text("%array", "%at")
        return self._make(
            "__allo_get_block",
            "(%fifo: !llvm.ptr, %array: !llvm.ptr, %cell: i64, %site: i64)",
            _transfer(_READ, copy, putting=False) + "return",
        )

    def thunk(self, callee: str, kinds: list[ir.Type]) -> str:
        """``void (frame)``: calls a kernel with the arguments in its frame."""
        name = f"__allo_thunk_{callee}"
        if name in self._texts:
            return name
        lines = []
        for i, (kind, offset) in enumerate(zip(kinds, _frame_layout(kinds)[0], strict=True)):
            stored = _stored_type(kind)
            value = f"a{i}" if stored == kind else f"s{i}"
            lines.append(
                f"%p{i} = llvm.getelementptr %frame[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8"
            )
            lines.append(f"%{value} = llvm.load %p{i} : !llvm.ptr -> {stored}")
            if stored != kind:
                lines.append(
                    f"%a{i} = builtin.unrealized_conversion_cast %s{i} : {stored} to {kind}"
                )
        arguments = ", ".join(f"%a{i}" for i in range(len(kinds)))
        types = ", ".join(map(str, kinds))
        self._kernels[callee] = f"func.func private @{callee}({types})"
        lines.append(f"func.call @{callee}({arguments}) : ({types}) -> ()")
        return self._make(
            f"__allo_thunk_{callee}", "(%frame: !llvm.ptr)", "\n".join([*lines, "return"])
        )

    def _make(self, name: str, signature: str, body: str) -> str:
        linkage = "attributes {llvm.linkage = #llvm.linkage<internal>}"
        self._texts[name] = f"func.func @{name}{signature} {linkage} {{\n{body}\n}}"
        return name


def _copy_text(target: str, source: str) -> str:
    operands = f"({target}, {source}, %cell) <{{isVolatile = false}}>"
    return f'"llvm.intr.memcpy"{operands} : (!llvm.ptr, !llvm.ptr, i64) -> ()'


def _word_text(cell: int) -> str:
    return f"%cell = arith.constant {cell} : i64\n"


def _transfer(offset_field: int, access: str, *, putting: bool) -> str:
    """The body of a put or get: wait if need be, access the element at ``%at``, step on."""
    limit, compare, wait, step = (
        (_PUT_LIMIT, "sge", "allo_put_wait", 1)
        if putting
        else (_GET_FLOOR, "sle", "allo_get_wait", -1)
    )
    fields = {"count": _COUNT, "limit": limit, "offset": offset_field, "bytes": _BYTES}
    addresses = "\n".join(
        f"%{name}_at = llvm.getelementptr %fifo[{number}] : (!llvm.ptr) -> !llvm.ptr, i64"
        for name, number in fields.items()
    )
    return f"""{addresses}
%before = llvm.load %count_at : !llvm.ptr -> i64
%limit = llvm.load %limit_at : !llvm.ptr -> i64
%waits = arith.cmpi {compare}, %before, %limit : i64
scf.if %waits {{
  llvm.call @{wait}(%fifo, %site) : (!llvm.ptr, i64) -> ()
}}
%count = llvm.load %count_at : !llvm.ptr -> i64
%data = llvm.load %fifo : !llvm.ptr -> !llvm.ptr
%offset = llvm.load %offset_at : !llvm.ptr -> i64
%at = llvm.getelementptr %data[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
{access}
%next = arith.addi %offset, %cell : i64
%bytes = llvm.load %bytes_at : !llvm.ptr -> i64
%ends = arith.cmpi eq, %next, %bytes : i64
%zero = arith.constant 0 : i64
%wrapped = arith.select %ends, %zero, %next : i64
llvm.store %wrapped, %offset_at : i64, !llvm.ptr
%one = arith.constant {step} : i64
%after = arith.addi %count, %one : i64
llvm.store %after, %count_at : i64, !llvm.ptr
"""
