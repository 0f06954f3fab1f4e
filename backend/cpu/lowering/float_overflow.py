"""Integers past the last float become infinite, whatever LLVM concludes from their low bits.

LLVM (in this wheel, InstCombine's ``isKnownExactCastIntToFP``) takes ``fpext (uitofp x to half) to
float`` for ``uitofp x to float`` where ``x`` has few significant bits, such as ``y << 22``. It does not
see that ``half`` may have no exponent for them. A select between the value and infinity keeps the two apart.
For the same reason it does in ``half`` what is done in ``float`` with such an integer and then rounded to
``half``. There a minimum with the largest ``float``, which changes nothing, keeps the two apart.
"""

from __future__ import annotations

from allo.dialects._mlir import arith, ir
from allo.dialects.affine.loops import walk

_LIMIT_BITS = {"f16": 16, "f32": 128}
"""Magnitudes of two to this power and more have no finite value in the format."""
_WIDER = {"f32": "f16", "f64": "f32"}
_LARGEST = {"f32": "0x7F7FFFFF", "f64": "0x7FEFFFFFFFFFFFFF"}
_FROM_INTEGER = ("arith.sitofp", "arith.uitofp")


def may_overflow(op: ir.Operation) -> bool:
    """Whether an ``arith.sitofp`` or ``arith.uitofp`` has integers that its format does not reach."""
    limit = _LIMIT_BITS.get(str(op.results[0].type))
    return limit is not None and _bits(op.operands[0]) > limit


def infinite_where_too_large(op: ir.Operation, converted: ir.Value) -> ir.Value:
    """``converted``, the value of such a conversion, or infinity where its integer is too large."""
    kind, integer = converted.type, op.operands[0]
    limit = _LIMIT_BITS[str(kind)]
    if isinstance(integer.type, ir.IndexType):
        integer = arith.IndexCastOp(ir.IntegerType.get_signless(64), integer).result
    is_signed = op.name == "arith.sitofp"
    if _bits(integer) - is_signed > limit:
        above = arith.CmpIPredicate.sge if is_signed else arith.CmpIPredicate.uge
        converted = _chosen(above, integer, 1 << limit, float("inf"), converted)
    if is_signed:
        converted = _chosen(
            arith.CmpIPredicate.sle, integer, -(1 << limit), float("-inf"), converted
        )
    return converted


def keep_in_wider_format(module: ir.Module) -> None:
    """Keep LLVM from taking integers that only a wider format reaches for values of a narrower one."""
    ops = list(walk(module.operation))
    rounded = {
        (str(op.operands[0].type), str(op.results[0].type))
        for op in ops
        if op.name == "arith.truncf"
    }
    for op in (op for op in ops if op.name in _FROM_INTEGER):
        wide = str(op.results[0].type)
        narrow = _WIDER.get(wide, "")
        if (wide, narrow) not in rounded or _bits(op.operands[0]) <= _LIMIT_BITS[narrow]:
            continue
        with ir.InsertionPoint.after(op), op.location:
            value, kind = op.results[0], op.results[0].type
            largest = ir.Attribute.parse(f"{_LARGEST[wide]} : {wide}")
            kept = arith.MinNumFOp(value, arith.ConstantOp(kind, largest).result)
        value.replace_all_uses_except(kept.result, kept.operation)


def _chosen(
    predicate: arith.CmpIPredicate, integer: ir.Value, bound: int, value: float, other: ir.Value
) -> ir.Value:
    limit = arith.ConstantOp(integer.type, ir.Attribute.parse(f"{bound} : {integer.type}")).result
    infinite = arith.ConstantOp(other.type, ir.FloatAttr.get(other.type, value)).result
    return arith.SelectOp(arith.CmpIOp(predicate, integer, limit).result, infinite, other).result


def _bits(integer: ir.Value) -> int:
    return 64 if isinstance(integer.type, ir.IndexType) else ir.IntegerType(integer.type).width
