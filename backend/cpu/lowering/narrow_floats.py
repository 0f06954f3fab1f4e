"""Correctly rounded bf16 and f16 on a machine that has neither.

LLVM computes on them in float32 and converts with library routines that are not everywhere,
and a conversion through float32 would round twice. This pass leaves only these to LLVM: loads,
stores, selects and bit casts of bf16 and f16; f16 arithmetic; conversions from bf16 to
float32 and between f16 and float32. The rest becomes float32 arithmetic and integer code:

* an operation on bf16 is done in float32 and rounded (exact: float32 has 2·8+2 bits and more);
* float64 or a wide integer goes to float32 *rounded to odd* first, so that the second
  rounding sees what the first one dropped;
* integers that f16, or float32, does not reach are infinite by a select.
"""

from __future__ import annotations

from allo.dialects._mlir import arith, ir
from allo.dialects.affine.loops import walk

from .float_overflow import infinite_where_too_large, keep_in_wider_format, may_overflow

_ARITH = frozenset(
    f"arith.{name}"
    for name in (
        "addf",
        "subf",
        "mulf",
        "divf",
        "remf",
        "negf",
        "cmpf",
        "minimumf",
        "maximumf",
        "minnumf",
        "maxnumf",
    )
)
_EXACT_INTEGER_BITS = 24


def lower_narrow_floats(module: ir.Module) -> None:
    """Rewrite bf16 operations, and conversions to bf16 and f16, in place."""
    with module.context, ir.Location.unknown():
        for op in [op for op in walk(module.operation) if _is_ours(op)]:
            with ir.InsertionPoint(op), op.location:
                replacement = _rewrite(op)
            op.results[0].replace_all_uses_with(replacement)
            op.erase()
        keep_in_wider_format(module)


def _is_bf16(value: ir.Value) -> bool:
    return isinstance(value.type, ir.BF16Type)


def _is_narrow(value: ir.Value) -> bool:
    return isinstance(value.type, (ir.BF16Type, ir.F16Type))


def _is_ours(op: ir.Operation) -> bool:
    values = [*op.operands, *op.results]
    if op.name in _ARITH:
        return any(map(_is_bf16, values))
    if op.name.startswith("math."):
        return any(map(_is_narrow, values))
    if op.name in ("arith.fptosi", "arith.fptoui"):
        return _is_narrow(op.operands[0])
    if op.name in ("arith.extf", "arith.select"):
        return _is_bf16(op.operands[-1])
    if op.name == "arith.truncf":
        return _is_bf16(op.results[0]) or (
            _is_narrow(op.results[0]) and not isinstance(op.operands[0].type, ir.F32Type)
        )
    from_integer = op.name in ("arith.sitofp", "arith.uitofp")
    return from_integer and (_is_narrow(op.results[0]) or may_overflow(op))


def _rewrite(op: ir.Operation) -> ir.Value:
    if op.name == "arith.extf":
        wide = _widen(op.operands[0])
        narrow = isinstance(op.results[0].type, ir.F32Type)
        return wide if narrow else arith.ExtFOp(op.results[0].type, wide).result
    if op.name == "arith.select":
        return _select(op)
    if op.name == "arith.truncf":
        return _round(_to_f32_odd(op.operands[0]), op.results[0].type)
    if op.name in ("arith.sitofp", "arith.uitofp"):
        return _from_integer(op)
    if op.name in ("arith.fptosi", "arith.fptoui") and isinstance(op.operands[0].type, ir.F16Type):
        return _f16_to_integer(op)
    return _in_f32(op)


def _from_integer(op: ir.Operation) -> ir.Value:
    if _is_narrow(op.results[0]):
        value = _round(_integer_to_f32_odd(op), op.results[0].type)
    else:
        value = op.clone().results[0]
    return infinite_where_too_large(op, value) if may_overflow(op) else value


def _f16_to_integer(op: ir.Operation) -> ir.Value:
    """Through i32, which holds every finite f16: LLVM would call a routine for wide results."""
    i32, result = ir.IntegerType.get_signless(32), op.results[0].type
    value = arith.FPToSIOp(i32, op.operands[0]).result
    if result.width > 32:
        return arith.ExtSIOp(result, value).result
    return arith.TruncIOp(result, value).result if result.width < 32 else value


def _widen(value: ir.Value) -> ir.Value:
    """A bf16 or f16 as float32. AVX512-BF16 would flush subnormals, so bf16 goes by its bits."""
    f32 = ir.F32Type.get()
    if not _is_bf16(value):
        return arith.ExtFOp(f32, value).result
    i16, i32 = (ir.IntegerType.get_signless(n) for n in (16, 32))
    bits = arith.ExtUIOp(i32, arith.BitcastOp(i16, value).result).result
    return arith.BitcastOp(f32, arith.ShLIOp(bits, _int(i32, 16)).result).result


def _select(op: ir.Operation) -> ir.Value:
    i16 = ir.IntegerType.get_signless(16)
    sides = [arith.BitcastOp(i16, value).result for value in list(op.operands)[1:]]
    chosen = arith.SelectOp(op.operands[0], *sides).result
    return arith.BitcastOp(op.results[0].type, chosen).result


def _in_f32(op: ir.Operation) -> ir.Value:
    """The operation with its narrow operands and result in float32."""
    f32 = ir.F32Type.get()
    operands = [_widen(v) if _is_narrow(v) else v for v in op.operands]
    result = op.results[0].type
    narrow = _is_narrow(op.results[0])
    attributes = {attribute.name: attribute.attr for attribute in _attributes(op)}
    new = ir.Operation.create(
        op.name, results=[f32 if narrow else result], operands=operands, attributes=attributes
    )
    return _round(new.results[0], result) if narrow else new.results[0]


def _attributes(op: ir.Operation) -> list[ir.NamedAttribute]:
    attributes = op.attributes
    return [attributes[i] for i in range(len(attributes))]


def _round(value: ir.Value, target: ir.Type) -> ir.Value:
    """A float32 rounded to nearest even in ``target``."""
    if isinstance(target, ir.F16Type):
        return arith.TruncFOp(target, value).result
    i16, i32 = (ir.IntegerType.get_signless(n) for n in (16, 32))
    bits = arith.BitcastOp(i32, value).result
    upper = arith.ShRUIOp(bits, _int(i32, 16)).result
    odd = arith.AndIOp(upper, _int(i32, 1)).result
    bias = arith.AddIOp(odd, _int(i32, 0x7FFF)).result
    nearest = arith.ShRUIOp(arith.AddIOp(bits, bias).result, _int(i32, 16)).result
    is_nan = arith.CmpFOp(arith.CmpFPredicate.UNO, value, value).result
    quiet = arith.OrIOp(upper, _int(i32, 0x40)).result
    chosen = arith.SelectOp(is_nan, quiet, nearest).result
    return arith.BitcastOp(target, arith.TruncIOp(i16, chosen).result).result


def _int(kind: ir.Type, number: int) -> ir.Value:
    return arith.ConstantOp(kind, ir.IntegerAttr.get(kind, number)).result


def _to_f32_odd(value: ir.Value) -> ir.Value:
    """A float as float32, rounded to odd: inexact results have their last bit set."""
    f32 = ir.F32Type.get()
    if isinstance(value.type, ir.F32Type):
        return value
    if _is_narrow(value):
        return _widen(value)
    near = arith.TruncFOp(f32, value).result
    back = arith.ExtFOp(value.type, near).result
    inexact = arith.CmpFOp(arith.CmpFPredicate.ONE, back, value).result
    outward = _is_outward(back, value)
    return _make_odd(near, inexact, outward)


def _is_outward(rounded: ir.Value, exact: ir.Value) -> ir.Value:
    """Whether rounding went away from zero."""
    zero = arith.ConstantOp(exact.type, ir.FloatAttr.get(exact.type, 0.0)).result
    positive = arith.CmpFOp(arith.CmpFPredicate.OGT, exact, zero).result
    above = arith.CmpFOp(arith.CmpFPredicate.OGT, rounded, exact).result
    below = arith.CmpFOp(arith.CmpFPredicate.OLT, rounded, exact).result
    return arith.SelectOp(positive, above, below).result


def _make_odd(near: ir.Value, inexact: ir.Value, outward: ir.Value) -> ir.Value:
    """``near``, or when it is inexact and even its neighbour on the other side of the exact value."""
    width = ir.FloatType(near.type).width
    kind = ir.IntegerType.get_signless(width)
    bits = arith.BitcastOp(kind, near).result
    bit = ir.IntegerType.get_signless(1)
    even = arith.XOrIOp(arith.TruncIOp(bit, bits).result, _int(bit, 1)).result
    step = arith.SelectOp(outward, _int(kind, -1), _int(kind, 1)).result
    moved = arith.AddIOp(bits, step).result
    chosen = arith.SelectOp(arith.AndIOp(inexact, even).result, moved, bits).result
    return arith.BitcastOp(near.type, chosen).result


def _integer_to_f32_odd(op: ir.Operation) -> ir.Value:
    signed = op.name == "arith.sitofp"
    convert = arith.SIToFPOp if signed else arith.UIToFPOp
    value = op.operands[0]
    bits = 64 if isinstance(value.type, ir.IndexType) else value.type.width
    if isinstance(value.type, ir.IndexType):
        value = arith.IndexCastOp(ir.IntegerType.get_signless(64), value).result
    if bits <= _EXACT_INTEGER_BITS:
        return convert(ir.F32Type.get(), value).result
    near = convert(ir.F64Type.get(), value).result
    if bits > 53:
        near = _integer_to_f64_odd(value, near, signed=signed)
    return _to_f32_odd(near)


def _integer_to_f64_odd(value: ir.Value, near: ir.Value, *, signed: bool) -> ir.Value:
    wide = ir.IntegerType.get_signless(value.type.width + 2)
    exact = (arith.ExtSIOp if signed else arith.ExtUIOp)(wide, value).result
    back = arith.FPToSIOp(wide, near).result
    zero = arith.ConstantOp(wide, ir.Attribute.parse(f"0 : {wide}")).result
    less, greater = arith.CmpIPredicate.slt, arith.CmpIPredicate.sgt
    inexact = arith.CmpIOp(arith.CmpIPredicate.ne, back, exact).result
    positive = arith.CmpIOp(greater, exact, zero).result
    outward = arith.SelectOp(
        positive,
        arith.CmpIOp(greater, back, exact).result,
        arith.CmpIOp(less, back, exact).result,
    ).result
    return _make_odd(near, inexact, outward)
