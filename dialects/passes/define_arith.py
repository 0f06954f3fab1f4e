"""Give every integer operation a meaning on every operand.

MLIR leaves division by zero, shifts by the width or more and conversions of floats out of
range undefined; hardware always gives some value. This pass rewrites these operations so
that they have the results ``docs/internals/core_ir.md`` ("Arithmetic") lists, which the RTL operators
give too. Operations whose operands are provably safe, such as division by a constant, stay as
they are. ``arith.floordivsi`` is expanded, as upstream's expansion has no meaning for zero.

Before: upstream dialects. After: the same without ``floordivsi``, ``ceildivsi``, ``ceildivui``;
nothing undefined.
"""

from __future__ import annotations

from collections.abc import Callable

from .._mlir import arith, ir
from ..affine.loops import walk
from ..checked import module_pass
from ..core.integers import as_signed
from ..ranges.interval import of_bits

_Rewrite = Callable[[ir.Operation], ir.Value | None]
_INDEX_BITS = 64


@module_pass
def define_arith(module: ir.Module) -> None:
    """Rewrite the partial operations of ``module`` in place."""
    with module.context:
        for op in [op for op in walk(module.operation) if op.name in _REWRITES]:
            with ir.InsertionPoint(op), op.location:
                replacement = _REWRITES[op.name](op)
            if replacement is not None:
                op.results[0].replace_all_uses_with(replacement)
                op.erase()


def _bits(value: ir.Value) -> int:
    if isinstance(value.type, ir.IndexType):
        return _INDEX_BITS
    if not isinstance(value.type, ir.IntegerType):
        return 0
    return int(value.type.width)


def _constant_of(value: ir.Value) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    attribute = owner.operation.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def _constant(like: ir.Value, number: int) -> ir.Value:
    """``number``, modulo the width, as a constant of the type of ``like``."""
    bits = _bits(like)
    number = as_signed(number, bits)
    if bits <= 64:
        return arith.ConstantOp(like.type, ir.IntegerAttr.get(like.type, number)).result
    attribute = ir.Attribute.parse(f"{number} : i{bits}")
    return arith.ConstantOp(like.type, attribute).result


def _compare(predicate: arith.CmpIPredicate, a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.CmpIOp(predicate, a, b).result


def _is(a: ir.Value, number: int) -> ir.Value:
    return _compare(arith.CmpIPredicate.eq, a, _constant(a, number))


def _select(condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.SelectOp(condition, a, b).result


def _safe_divisor(a: ir.Value, b: ir.Value, *, signed: bool) -> ir.Value:
    """``b``, or 1 where the quotient of a by b is not defined."""
    bad = _is(b, 0)
    if signed:
        lowest = _is(a, 1 << (_bits(a) - 1))
        bad = arith.OrIOp(bad, arith.AndIOp(lowest, _is(b, -1)).result).result
    return _select(bad, _constant(b, 1), b)


def _divisor_is_safe(op: ir.Operation, *, signed: bool) -> bool:
    divisor = _constant_of(op.operands[1])
    return divisor is not None and divisor != 0 and not (signed and divisor == -1)


def _divide(op: ir.Operation, *, signed: bool) -> ir.Value | None:
    """Quotient toward zero; by zero all ones; the lowest value by -1 is itself."""
    if _divisor_is_safe(op, signed=signed):
        return None
    a, b = op.operands
    if _bits(a) == 1:
        return arith.OrIOp(a, _is(b, 0)).result
    build = arith.DivSIOp if signed else arith.DivUIOp
    quotient = build(a, _safe_divisor(a, b, signed=signed)).result
    return _select(_is(b, 0), _constant(a, -1), quotient)


def _remainder(op: ir.Operation, *, signed: bool) -> ir.Value | None:
    """Remainder with the dividend's sign; by zero the dividend."""
    if _divisor_is_safe(op, signed=signed):
        return None
    a, b = op.operands
    if _bits(a) == 1:
        return arith.AndIOp(a, _is(b, 0)).result
    build = arith.RemSIOp if signed else arith.RemUIOp
    remainder = build(a, _safe_divisor(a, b, signed=signed)).result
    return _select(_is(b, 0), a, remainder)


def _round_quotient(op: ir.Operation, *, up: bool, signed: bool) -> ir.Value:
    """Quotient toward minus or plus infinity; by zero all ones."""
    a, b = op.operands
    if _bits(a) == 1:
        return arith.OrIOp(a, _is(b, 0)).result
    divide, remain = (arith.DivSIOp, arith.RemSIOp) if signed else (arith.DivUIOp, arith.RemUIOp)
    known = _divisor_is_safe(op, signed=signed)
    divisor = b if known else _safe_divisor(a, b, signed=signed)
    quotient = divide(a, divisor).result
    inexact = _compare(arith.CmpIPredicate.ne, remain(a, divisor).result, _constant(a, 0))
    if signed:
        zero = _constant(a, 0)
        negative = [_compare(arith.CmpIPredicate.slt, v, zero) for v in (a, b)]
        differ = arith.XOrIOp(*negative).result
        moves = arith.XOrIOp(differ, _is_true()).result if up else differ
        inexact = arith.AndIOp(inexact, moves).result
    moved = arith.AddIOp(quotient, _constant(a, 1 if up else -1)).result
    rounded = _select(inexact, moved, quotient)
    return rounded if known else _select(_is(b, 0), _constant(a, -1), rounded)


def _is_true() -> ir.Value:
    bit = ir.IntegerType.get_signless(1)
    return arith.ConstantOp(bit, ir.IntegerAttr.get(bit, 1)).result


def _amount_is_safe(op: ir.Operation) -> bool:
    amount = _constant_of(op.operands[1])
    return amount is not None and 0 <= amount < _bits(op.operands[0])


def _shift_zero(op: ir.Operation) -> ir.Value | None:
    """A left or logical right shift: zero when the amount, unsigned, reaches the width."""
    if _amount_is_safe(op):
        return None
    a, amount = op.operands
    build = arith.ShLIOp if op.name == "arith.shli" else arith.ShRUIOp
    inside = _compare(arith.CmpIPredicate.ult, amount, _constant(amount, _bits(a)))
    return _select(inside, build(a, amount).result, _constant(a, 0))


def _shift_sign(op: ir.Operation) -> ir.Value | None:
    """An arithmetic right shift: all sign bits when the amount, unsigned, reaches the width."""
    if _amount_is_safe(op):
        return None
    a, amount = op.operands
    most = _constant(amount, _bits(a) - 1)
    return arith.ShRSIOp(a, arith.MinUIOp(amount, most).result).result


def _float_to_int(op: ir.Operation, *, signed: bool) -> ir.Value | None:
    """Toward zero, saturating; NaN gives zero."""
    value, result = op.operands[0], op.results[0]
    bits = _bits(result)
    if not isinstance(value.type, ir.FloatType) or not bits:
        return None
    lowest, highest = of_bits(bits, signed=signed)
    raw = (arith.FPToSIOp if signed else arith.FPToUIOp)(result.type, value).result
    above = _compare_float(arith.CmpFPredicate.OGE, value, highest + 1)
    below = _compare_float(arith.CmpFPredicate.OLE, value, lowest)
    nan = arith.CmpFOp(arith.CmpFPredicate.UNO, value, value).result
    clamped = _select(above, _constant(result, highest), raw)
    clamped = _select(below, _constant(result, lowest), clamped)
    return _select(nan, _constant(result, 0), clamped)


def _compare_float(predicate: arith.CmpFPredicate, value: ir.Value, bound: int) -> ir.Value:
    try:
        number = float(bound)
    except OverflowError:
        number = float("inf")
    limit = arith.ConstantOp(value.type, ir.FloatAttr.get(value.type, number)).result
    return arith.CmpFOp(predicate, value, limit).result


_REWRITES: dict[str, _Rewrite] = {
    "arith.divsi": lambda op: _divide(op, signed=True),
    "arith.divui": lambda op: _divide(op, signed=False),
    "arith.remsi": lambda op: _remainder(op, signed=True),
    "arith.remui": lambda op: _remainder(op, signed=False),
    "arith.floordivsi": lambda op: _round_quotient(op, up=False, signed=True),
    "arith.ceildivsi": lambda op: _round_quotient(op, up=True, signed=True),
    "arith.ceildivui": lambda op: _round_quotient(op, up=True, signed=False),
    "arith.shli": _shift_zero,
    "arith.shrui": _shift_zero,
    "arith.shrsi": _shift_sign,
    "arith.fptosi": lambda op: _float_to_int(op, signed=True),
    "arith.fptoui": lambda op: _float_to_int(op, signed=False),
}
