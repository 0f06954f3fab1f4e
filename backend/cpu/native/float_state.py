"""Run kernels with IEEE-754 arithmetic whatever the process has set.

A library built with ``-ffast-math`` makes the processor flush subnormals to zero for the whole
process as soon as it is loaded. On x86 the entry function therefore saves the control register
MXCSR, sets its default (round to nearest even, subnormals kept), and restores it. The
top function stays a call of its own, so that no arithmetic moves out of that bracket.
"""

from __future__ import annotations

import platform

from allo.dialects._mlir import ir, llvm
from allo.dialects.core.signature import symbol

_DEFAULT_MXCSR = 0x1F80


def guard_float_state(module: ir.Module, entry: str, top: str) -> None:
    """Bracket the body of function ``entry`` of a module in the LLVM dialect, in place."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return
    functions = {
        symbol(op): op.operation
        for op in module.body.operations
        if op.operation.name == "llvm.func"
    }
    with module.context, ir.Location.unknown():
        never = ir.ArrayAttr.get([ir.StringAttr.get("noinline")])
        functions[top].attributes["passthrough"] = never
        block = functions[entry].regions[0].blocks[0]
        i32 = ir.IntegerType.get_signless(32)
        with ir.InsertionPoint.at_block_begin(block):
            one, wanted = (
                llvm.ConstantOp(i32, ir.IntegerAttr.get(i32, n)).result for n in (1, _DEFAULT_MXCSR)
            )
            pointer = ir.Type.parse("!llvm.ptr")
            saved, ours = (
                llvm.AllocaOp(pointer, one, ir.TypeAttr.get(i32)).result for _ in range(2)
            )
            llvm.StoreOp(wanted, ours)
            _intrinsic("llvm.x86.sse.stmxcsr", saved)
            _intrinsic("llvm.x86.sse.ldmxcsr", ours)
        end = block.operations[len(block.operations) - 1]
        with ir.InsertionPoint(end):
            _intrinsic("llvm.x86.sse.ldmxcsr", saved)


def _intrinsic(name: str, operand: ir.Value) -> None:
    attributes = {
        "intrin": ir.StringAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    ir.Operation.create("llvm.call_intrinsic", operands=[operand], attributes=attributes)
