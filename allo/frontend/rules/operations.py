"""Typed operations on scalar expressions: the typing rules applied, casts inserted, constants folded."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from allo.dialects.diagnostics import DTypeError, SourcePlace, TypeMismatchError
from allo.dialects.ranges.interval import INDEX_BITS, INDEX_RANGE, Interval, within
from allo.dialects.types import AlloType, Float, Index, Int, Struct, UInt, float32

from ..affine import Affine
from ..checks.spans import span_of
from ..tree import Binary, Cast, Compare, Const, Expr, IndexValue, Math, Select
from . import constants, fixed
from .integers import is_exact_index, is_integer, is_signed, range_of, smallest_int, wrap
from .typing import RuleSet

BOOL = UInt(1)
INDEX = Index()
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}
_WORDS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "divide",
    "%": "take the remainder of",
    "**": "raise",
    "<<": "shift",
    ">>": "shift",
    "select": "choose between",
}


def literal(value: int | float, place: SourcePlace) -> Const:
    """A number written in the program or captured: int32 or float32 where it fits."""
    if isinstance(value, float):
        return Const(float32, place, value, literal=True)
    return Const(smallest_int(int(value)), place, int(value), literal=True)


def refuse_unsupported(dtype: AlloType, place: SourcePlace) -> None:
    """Refuse the types that have no arithmetic."""
    if isinstance(dtype, Struct):
        raise TypeMismatchError(
            "A Struct has no arithmetic.", place, help='read one of its fields first: p["x"].'
        )


# --- casts -----------------------------------------------------------------------------


def cast(value: Expr, dtype: AlloType, place: SourcePlace | None = None) -> Expr:
    """``value`` as ``dtype``.

    Raises:
        TypeMismatchError: when no conversion exists.
    """
    if value.dtype == dtype:
        return value
    where = place or value.place
    if isinstance(value.dtype, Struct) or isinstance(dtype, Struct):
        raise TypeMismatchError(
            f"A value of type {value.dtype} cannot become {dtype}.",
            where,
            help="read its fields, or assign them, one by one.",
        )
    if fixed.is_fixed(value.dtype) or fixed.is_fixed(dtype):
        return fixed.cast(value, dtype, where)
    if isinstance(value, Const):
        return constants.cast(value, dtype)
    if isinstance(value, Cast) and _cast_keeps(value, dtype):
        return cast(value.value, dtype, place)
    return Cast(dtype, where, value)


def converted(value: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """``value`` as the program casts it, ``int(256)``: a literal becomes a value of the type.

    Raises:
        TypeMismatchError: when no conversion exists.
    """
    made = cast(value, dtype, place)
    return constants.cast(made, dtype) if isinstance(made, Const) and made.literal else made


def _cast_keeps(inner: Cast, dtype: AlloType) -> bool:
    """Whether casting past ``inner`` gives the same bits: it widened, and ``dtype`` narrows again."""
    source = inner.value.dtype
    if not (is_integer(source) and is_integer(inner.dtype) and is_integer(dtype)):
        return False
    if isinstance(dtype, Index) or isinstance(inner.dtype, Index):
        return False
    return isinstance(source, Index) and dtype.bits <= inner.dtype.bits and dtype.bits > 1


def truth(value: Expr) -> Expr:
    """``value`` as one bit: whether it is not zero."""
    if value.dtype == BOOL:
        return value
    if is_integer(value.dtype) and value.dtype.bits == 1:
        return cast(value, BOOL)
    refuse_unsupported(value.dtype, value.place)
    if isinstance(value, Const):
        return Const(BOOL, value.place, int(bool(value.value)))
    value = fixed.raw(value)
    zero = Const(value.dtype, value.place, 0.0 if isinstance(value.dtype, Float) else 0)
    return Compare(BOOL, value.place, "!=", value, zero)


# --- operations --------------------------------------------------------------------------


def result_type(rules: RuleSet, op: str, lhs: Expr, rhs: Expr, place: SourcePlace) -> AlloType:
    """The rule's type for ``lhs op rhs``; a refusal names both types."""
    for side in (lhs, rhs):
        refuse_unsupported(side.dtype, side.place)
    left, right = _literal_types(lhs, rhs)
    verb = _WORDS.get(op, f"apply {op!r} to")
    try:
        found = rules.result(op, left, right)
    except DTypeError as error:
        raise TypeMismatchError(
            f"Cannot {verb} {lhs.dtype} and {rhs.dtype}: there is no type for the result. "
            f"{error.message}",
            place,
            help="assign one side to a variable with fewer bits first.",
        ) from None
    if found is not None:
        return found
    raise TypeMismatchError(
        f"Cannot {verb} {lhs.dtype} and {rhs.dtype}: the {rules.name} typing rules "
        f"define no {op!r} for this pair.",
        place,
        help="cast one side first by assigning it to an annotated variable.",
    )


def _literal_types(lhs: Expr, rhs: Expr) -> tuple[AlloType, AlloType]:
    """Operand types, where a float literal beside a wider float takes that float's type."""
    left, right = lhs.dtype, rhs.dtype
    return _beside(lhs, left, right), _beside(rhs, right, left)


def _beside(side: Expr, own: AlloType, other: AlloType) -> AlloType:
    is_literal = isinstance(side, Const) and side.literal and isinstance(own, Float)
    return other if is_literal and isinstance(other, Float) and other.bits > own.bits else own


def binary(rules: RuleSet, op: str, lhs: Expr, rhs: Expr, place: SourcePlace) -> Expr:
    """``lhs op rhs`` for ``+ - * / // % ** & | ^``, in the rule's type."""
    dtype = result_type(rules, op, lhs, rhs, place)
    if fixed.is_fixed(dtype):
        if op not in ("/", "//", "%"):
            return fixed.binary(op, lhs, rhs, dtype, place)
        lhs, rhs = _whole(lhs), _whole(rhs)
        held = result_type(rules, op, lhs, rhs, place) if op == "%" else dtype
        return cast(fixed.binary(op, lhs, rhs, held, place), dtype, place)
    folded = _fold(op, lhs, rhs, dtype, place)
    if folded is not None:
        return folded
    affine = _affine(op, lhs, rhs, dtype, place)
    if affine is not None:
        return affine
    if op in ("/", "//", "%") and is_integer(dtype):
        return _divide(rules, op, lhs, rhs, dtype, place)
    if op == "//" and isinstance(dtype, Float):
        quotient = Binary(dtype, place, "/", cast(lhs, dtype), cast(rhs, dtype))
        return Math(dtype, place, "floor", (quotient,))
    # A square is the exact product rounded once, as the power would be.
    if op == "**" and isinstance(dtype, Float) and isinstance(rhs, Const) and rhs.value == 2:
        base = cast(lhs, dtype)
        return Binary(dtype, place, "*", base, base)
    return Binary(dtype, place, op, cast(lhs, dtype), cast(rhs, dtype))


def _divide(
    rules: RuleSet, op: str, lhs: Expr, rhs: Expr, dtype: AlloType, place: SourcePlace
) -> Expr:
    """Integer division in a type that holds both operands, so that neither loses bits first."""
    common = rules.result("%", lhs.dtype, rhs.dtype) or dtype
    lhs, rhs = _as_index(lhs), _as_index(rhs)
    if Index in (type(lhs.dtype), type(rhs.dtype)):
        common = _holding_index(lhs.dtype, rhs.dtype)
        return cast(Binary(common, place, op, cast(lhs, common), cast(rhs, common)), dtype, place)
    fits = isinstance(rhs, Const) and wrap(int(rhs.value), dtype) == rhs.value
    if fits and is_signed(lhs.dtype) == is_signed(dtype) and lhs.dtype.bits <= dtype.bits:
        common = dtype
    return cast(Binary(common, place, op, cast(lhs, common), cast(rhs, common)), dtype, place)


def _as_index(value: Expr) -> Expr:
    """The index behind an affine value, whose range is known better than its type says."""
    affine = None if isinstance(value, Const) else affine_value(value)
    return value if affine is None else IndexValue(INDEX, value.place, affine)


def _whole(value: Expr) -> Expr:
    """A number beside fixed point with its true value: the tables count an index as 32 unsigned bits, and
    give Int(1), which is 0 or 1, no sign bit."""
    if value.dtype == Int(1):
        return cast(value, BOOL)
    if not isinstance(value.dtype, Index) or within(value_range(value), range_of(UInt(32))):
        return value
    return cast(value, Int(INDEX_BITS))


def _holding_index(left: AlloType, right: AlloType) -> AlloType:
    """The type in which an index meets an integer, so that both keep their values: index, or wider."""
    if is_exact_index(left) and is_exact_index(right):
        return INDEX
    wide = right if isinstance(left, Index) else left
    return Int(wide.bits + isinstance(wide, UInt))


def value_range(value: Expr) -> Interval:
    """A range that holds every value of an integer expression."""
    found = span_of(value)
    return range_of(value.dtype) if found is None else found


def _affine(op: str, lhs: Expr, rhs: Expr, dtype: AlloType, place: SourcePlace) -> Expr | None:
    """Sums and constant multiples of iterators stay one affine value."""
    if op not in ("+", "-", "*") or not is_integer(dtype):
        return None
    left, right = affine_value(lhs), affine_value(rhs)
    if left is None or right is None:
        return None
    if op == "*" and not (left.is_constant or right.is_constant):
        return None
    if op == "*":
        total = left.scaled(right.const) if right.is_constant else right.scaled(left.const)
    else:
        total = left + right if op == "+" else left - right
    if not within(total.bounds(), INDEX_RANGE):
        return None
    return cast(IndexValue(INDEX, place, total), dtype, place)


def affine_value(value: Expr) -> Affine | None:
    """The affine expression a value is, if it is one whose type cannot have wrapped it."""
    if isinstance(value, Const) and isinstance(value.value, int) and is_integer(value.dtype):
        return Affine(value.value)
    if isinstance(value, IndexValue):
        return value.affine if within(value.affine.bounds(), INDEX_RANGE) else None
    if isinstance(value, Cast) and isinstance(value.value, IndexValue):
        fits = is_integer(value.dtype) and within(
            value.value.affine.bounds(), range_of(value.dtype)
        )
        return affine_value(value.value) if fits else None
    return None


def _fold(op: str, lhs: Expr, rhs: Expr, dtype: AlloType, place: SourcePlace) -> Const | None:
    if isinstance(lhs, Const) and isinstance(rhs, Const):
        return constants.fold(op, lhs, rhs, dtype, place)
    return None


def shift(rules: RuleSet, op: str, lhs: Expr, rhs: Expr, place: SourcePlace) -> Expr:
    """``lhs << rhs`` and ``lhs >> rhs`` in the left operand's type.

    An amount of the width or more shifts everything out. The core IR says so of amounts that fit
    in the left type; a wider amount is compared first, as narrowing it would lose high bits.
    """
    dtype = result_type(rules, op, lhs, rhs, place)
    if fixed.is_fixed(dtype):
        return fixed.of_raw(shift(rules, op, fixed.raw(lhs), rhs, place), dtype, place)
    if isinstance(lhs, Const) and isinstance(rhs, Const) and rhs.value >= 0:
        return constants.fold_shift(op, lhs, rhs, dtype, place)
    width = _width(dtype)
    if isinstance(rhs, Const) and not 0 <= rhs.value < width:
        return _shifted_out(op, lhs, dtype, place)
    shifted = Binary(dtype, place, op, cast(lhs, dtype), _shift_amount(rhs, dtype))
    least, most = value_range(rhs)
    if _width(rhs.dtype) <= width or (least >= 0 and most < 1 << width):
        return shifted
    raw = UInt(_width(rhs.dtype))
    inside = Compare(BOOL, place, "<", cast(rhs, raw), Const(raw, place, width))
    return Select(dtype, place, inside, shifted, _shifted_out(op, lhs, dtype, place))


def _width(dtype: AlloType) -> int:
    """The bits that values of a type have."""
    return INDEX_BITS if isinstance(dtype, Index) else dtype.bits


def _shift_amount(rhs: Expr, dtype: AlloType) -> Expr:
    target = dtype if isinstance(dtype, Index) else UInt(dtype.bits)
    return cast(rhs, target)


def _shifted_out(op: str, lhs: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    if op == "<<" or not is_signed(dtype):
        return Const(dtype, place, 0)
    return Binary(dtype, place, ">>", cast(lhs, dtype), Const(dtype, place, _width(dtype) - 1))


def compare(rules: RuleSet, op: str, lhs: Expr, rhs: Expr, place: SourcePlace) -> Expr:
    """A comparison of the operands' true values, one bit."""
    dtype = result_type(rules, op, lhs, rhs, place)
    if fixed.is_fixed(dtype):
        lhs, rhs = _whole(lhs), _whole(rhs)
        dtype = result_type(rules, op, lhs, rhs, place)
        return fixed.compare(op, lhs, rhs, dtype, BOOL, place)
    lhs, rhs = (cast(v, dtype) if fixed.is_fixed(v.dtype) else v for v in (lhs, rhs))
    if isinstance(lhs, Const) and isinstance(rhs, Const):
        return Const(BOOL, place, int(constants.compare(op, lhs, rhs, dtype)))
    if is_integer(dtype):
        lhs, rhs = _as_index(lhs), _as_index(rhs)
        if Index in (type(lhs.dtype), type(rhs.dtype)):
            dtype = _holding_index(lhs.dtype, rhs.dtype)
    return Compare(BOOL, place, op, cast(lhs, dtype), cast(rhs, dtype))


def select(rules: RuleSet, condition: Expr, then: Expr, other: Expr, place: SourcePlace) -> Expr:
    """``then if condition else other``; both sides are evaluated."""
    dtype = result_type(rules, "select", then, other, place)
    bit = truth(condition)
    if isinstance(bit, Const):
        return cast(then if bit.value else other, dtype)
    return Select(dtype, place, bit, cast(then, dtype), cast(other, dtype))


def logic(rules: RuleSet, op: str, values: list[Expr], place: SourcePlace) -> Expr:
    """``and`` / ``or``, not short-circuit."""
    total = truth(values[0])
    for value in values[1:]:
        bit = truth(value)
        symbol = "&" if op == "and" else "|"
        folded = _fold(symbol, total, bit, BOOL, place)
        total = folded or Binary(BOOL, place, symbol, total, bit)
    return cast(total, rules.logic)


def unary(rules: RuleSet, op: str, value: Expr, place: SourcePlace) -> Expr:
    """``-x``, ``+x``, ``~x`` and ``not x``."""
    if op == "not":
        bit = truth(value)
        if isinstance(bit, Const):
            return Const(rules.logic, place, 1 - int(bit.value))
        return cast(Binary(BOOL, place, "^", bit, Const(BOOL, place, 1)), rules.logic)
    refuse_unsupported(value.dtype, value.place)
    if op == "~" and not is_integer(value.dtype):
        raise TypeMismatchError(
            f"~ needs an integer, not {value.dtype}.",
            place,
            help="cast it first: ~int32(x), or ~x.bitcast(int32) for its bits.",
        )
    if isinstance(value, Const) and value.literal:
        number = _UNARY[op](value.value)
        if isinstance(number, float):
            return Const(value.dtype, place, number, literal=True)
        return literal(number, place)
    affine = affine_value(value)
    negative = op == "-" and affine is not None and not isinstance(value, Const)
    if negative and affine and within((-affine).bounds(), range_of(value.dtype)):
        return cast(IndexValue(INDEX, place, -affine), value.dtype, place)
    if fixed.is_fixed(value.dtype):
        return fixed.negated(value, place) if op == "-" else value
    dtype = rules.unary(value.dtype)
    assert dtype is not None
    operand = cast(value, dtype)
    if op == "+":
        return operand
    if op == "~":
        return Binary(dtype, place, "^", operand, Const(dtype, place, -1))
    if isinstance(dtype, Float):
        return Binary(dtype, place, "neg", operand, operand)
    return Binary(dtype, place, "-", Const(dtype, place, 0), operand)


def min_max(rules: RuleSet, op: str, values: list[Expr], place: SourcePlace) -> Expr:
    """``min`` or ``max`` of two or more values."""
    total = values[0]
    for value in values[1:]:
        dtype = result_type(rules, op, total, value, place)
        if fixed.is_fixed(dtype):
            total = fixed.binary(op, total, value, dtype, place)
            continue
        folded = _fold(op, total, value, dtype, place)
        total = folded or Binary(dtype, place, op, cast(total, dtype), cast(value, dtype))
    return total


# --- bits ----------------------------------------------------------------------------------
