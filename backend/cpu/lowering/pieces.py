"""Pieces of code over bare memory, inserted at the current point: words, addresses, calls of the runtime."""

from __future__ import annotations

from allo.dialects._mlir import arith, ir, llvm, memref


def i64() -> ir.Type:
    """The type of a word."""
    return ir.IntegerType.get_signless(64)


def pointer() -> ir.Type:
    """The type of an address."""
    return ir.Type.parse("!llvm.ptr")


def word(number: int) -> ir.Value:
    """A constant of 64 bits."""
    return arith.ConstantOp(i64(), ir.IntegerAttr.get(i64(), number)).result


def address_of(array: ir.Value) -> ir.Value:
    """The address of an array's first element."""
    index = memref.ExtractAlignedPointerAsIndexOp(array).result
    return llvm.IntToPtrOp(pointer(), arith.IndexCastOp(i64(), index).result).result


def local_memory(size: int) -> ir.Value:
    """The address of local memory of ``size`` bytes, aligned to 16."""
    wide = ir.IntegerType.get_signless(128)
    kind = ir.MemRefType.get([max(1, -(-size // 16))], wide)
    return address_of(memref.AllocOp(kind, [], []).result)


def byte_offset(base: ir.Value, count: int) -> ir.Value:
    """The address ``count`` bytes behind another."""
    byte = ir.IntegerType.get_signless(8)
    position = ir.DenseI32ArrayAttr.get([count])
    return llvm.GEPOp(pointer(), base, [], position, byte, llvm.GEPNoWrapFlags.none).result


def call_runtime(name: str, operands: list[ir.Value]) -> None:
    """A call of a runtime function without a result."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    ir.Operation.create("llvm.call", results=[], operands=operands, attributes=attributes)
