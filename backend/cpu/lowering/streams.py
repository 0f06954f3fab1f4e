"""Lower the ``allo`` dialect to calls of the native runtime.

* A function that makes streams begins a runtime region and joins it before it returns; a stream
  handle becomes the address of a ``Fifo`` (``backend/runtime/simulator.hpp``).
* A call in a region becomes a process: its arguments are written to a frame on the new
  fiber's stack, from which a *thunk* calls the kernel.
* A put or get is inline code over the fields of the ``Fifo``; only when it must wait, or wake the
  other end, does it call the runtime. What does not wait asks the runtime first.
* ``allo.print``, ``allo.assert`` and the checks return to Python with the values in memory.
"""

from __future__ import annotations

from math import prod

from allo.dialects._mlir import arith, func, ir, llvm, memref, scf
from allo.dialects.boundary.storage import cell_bytes
from allo.dialects.core.bounds import CHECKS
from allo.dialects.core.fifos import TRIES
from allo.dialects.streams.endless import loops_that_never_wait
from allo.dialects.types import parse_type

from .pieces import address_of, byte_offset, call_runtime, i64, local_memory, pointer, word
from .program import Program, ProgramOps
from .regions import lower_regions
from .stream_helpers import Helpers

EVENT_SLOT_BYTES = 64
"""Bytes of each printed value: the widest integer."""


def lower_streams(module: ir.Module, program: Program, ops: ProgramOps) -> None:
    """Replace the operations of ``ops`` in place; the numbers are their positions in it."""
    with module.context, ir.Location.unknown():
        turning = list(loops_that_never_wait(module))
        helpers = Helpers(counted=bool(turning) or any(op.name in TRIES for op in ops.sites))
        for loop in turning:
            with ir.InsertionPoint.at_block_begin(loop.regions[1].blocks[0]), loop.location:
                call_runtime("allo_turn", [])
        for number, op in enumerate(ops.sites):
            _lower_site(op, number, helpers)
        for number, op in enumerate(ops.events):
            _lower_event(op, number)
        lower_regions(program, ops, helpers)
        helpers.add_to(module)


def _lower_site(op: ir.Operation, number: int, helpers: Helpers) -> None:
    with ir.InsertionPoint(op), op.location:
        handle = arith.IndexCastOp(i64(), op.operands[0]).result
        fifo = llvm.IntToPtrOp(pointer(), handle).result
        site = word(number)
        if op.name in TRIES:
            _lower_try(op, fifo, site, helpers)
        elif op.name == "allo.get":
            result = op.results[0]
            call = func.CallOp([result.type], helpers.get(result.type), [fifo, site])
            result.replace_all_uses_with(call.operation.results[0])
        elif isinstance(op.operands[1].type, ir.MemRefType):
            _transfer_block(op, fifo, site, helpers)
        else:
            value = op.operands[1]
            func.CallOp([], helpers.put(value.type), [fifo, value, site])
    op.erase()


def _lower_try(op: ir.Operation, fifo: ir.Value, site: ir.Value, helpers: Helpers) -> None:
    """A call of a helper that gives the results of an operation that does not wait."""
    operands = [fifo, *list(op.operands)[1:], site]
    match op.name:
        case "allo.try_put":
            name = helpers.try_put(op.operands[1].type)
        case "allo.try_get":
            name = helpers.try_get(op.results[0].type)
        case "allo.empty":
            name = helpers.lacks("allo_has_element")
        case _:
            name = helpers.lacks("allo_has_room")
    call = func.CallOp([result.type for result in op.results], name, operands)
    for old, new in zip(op.results, call.operation.results, strict=True):
        old.replace_all_uses_with(new)


def _transfer_block(op: ir.Operation, fifo: ir.Value, site: ir.Value, helpers: Helpers) -> None:
    """A put or get of an array; one that is a strided view goes through a packed copy."""
    array, putting = op.operands[1], op.name == "allo.put"
    packed = array
    if isinstance(array.type.layout, ir.StridedLayoutAttr):
        plain = ir.MemRefType.get(array.type.shape, array.type.element_type)
        packed = memref.AllocOp(plain, [], []).result
        if putting:
            memref.CopyOp(array, packed)
    size = prod(packed.type.shape) * cell_bytes(parse_type(str(packed.type.element_type)))
    operands = [fifo, address_of(packed), word(size), site]
    func.CallOp([], helpers.put_block() if putting else helpers.get_block(), operands)
    if packed != array and not putting:
        memref.CopyOp(packed, array)


def _lower_event(op: ir.Operation, number: int) -> None:
    with ir.InsertionPoint(op), op.location:
        if op.name in ("allo.assert", *CHECKS):
            holds, *told = op.operands
            true = arith.ConstantOp(holds.type, ir.IntegerAttr.get(holds.type, 1)).result
            failed = arith.XOrIOp(holds, true).result
            with ir.InsertionPoint(scf.IfOp(failed).then_block):
                data = _event_data(told) if told else llvm.IntToPtrOp(pointer(), word(0)).result
                call_runtime("allo_event", [word(number), data])
                scf.YieldOp([])
        else:
            call_runtime("allo_event", [word(number), _event_data(list(op.operands))])
    op.erase()


def _event_data(values: list[ir.Value]) -> ir.Value:
    """The address of the values, each in a slot of its own; of an array, its address."""
    slots = local_memory(max(1, len(values)) * EVENT_SLOT_BYTES)
    for position, value in enumerate(values):
        if isinstance(value.type, ir.MemRefType):
            value = address_of(value)
        elif isinstance(value.type, ir.IndexType):
            value = arith.IndexCastOp(i64(), value).result
        llvm.StoreOp(value, byte_offset(slots, position * EVENT_SLOT_BYTES))
    return slots
