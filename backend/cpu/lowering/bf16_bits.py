"""bf16 values held as their 16 bits in machine code.

LLVM keeps a bf16 that lives across basic blocks in a float32 register: it widens it, and rounds it
where it is used. AVX512-BF16 rounds with VCVTNEPS2BF16, which flushes subnormals. So no value of
the LLVM dialect has the type bf16 when LLVM sees it; arithmetic on it is gone by then
(:mod:`.narrow_floats`), and in memory its type means nothing.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.dense import constant_bits

BF16 = "bf16"
"""The type's name. No pass of the lowering brings it into a module whose text does not hold it."""
_BITS = "i16"


def hold_bf16_as_bits(module: ir.Module) -> None:
    """Make every bf16 argument, result and value of a module in the LLVM dialect an i16, in place."""
    with module.context, ir.Location.unknown():
        for op in walk(module.operation):
            if op.name == "llvm.func":
                _retype_function(op)
            elif op.name == "llvm.mlir.constant" and isinstance(op.results[0].type, ir.BF16Type):
                op.attributes["value"] = _bits(op.attributes["value"])
            for result in op.results:
                _retype(result)


def _retype_function(function: ir.Operation) -> None:
    kind = function.attributes["function_type"].value
    function.attributes["function_type"] = ir.TypeAttr.get(_as_bits(kind))
    for block in function.regions[0].blocks:
        for argument in block.arguments:
            _retype(argument)


def _retype(value: ir.Value) -> None:
    kind = value.type
    if isinstance(kind, ir.BF16Type) or BF16 in str(kind):
        value.set_type(_as_bits(kind))


def _as_bits(kind: ir.Type) -> ir.Type:
    return ir.Type.parse(str(kind).replace(BF16, _BITS))


def _bits(number: ir.FloatAttr) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(16), constant_bits(number))
