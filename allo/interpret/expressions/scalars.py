"""Operators on scalars: their types by the tables, and the Python text that computes them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from allo.dialects.types import AlloType, Float, Index, Struct, float64

from ..rules import UINT1, is_fixed, is_integer, literal_type, result_type, unary_type
from ..running import integers
from ..running.casts import (
    cast_code,
    convert,
    has_modes,
    rounded_fixed,
    saturated_fixed,
    toward_zero,
    value_range,
    width,
    wrap_code,
)
from ..running.formats import format_of, round_exact
from .values import Value, exact_of, raw_code

SYMBOLS = {
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "Div": "/",
    "FloorDiv": "//",
    "Mod": "%",
    "Pow": "**",
    "LShift": "<<",
    "RShift": ">>",
    "BitAnd": "&",
    "BitOr": "|",
    "BitXor": "^",
}
COMPARISONS = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">="}


def coerce(value: Value, target: AlloType) -> str:
    """Text of a scalar in another type; a literal takes it with all its digits."""
    if value.exact is not None:
        return raw_code(raw_of(value, target), target)
    return cast_code(value.code, value.dtype, target)


def raw_of(value: Value, target: AlloType) -> Any:
    """The raw value, in a type, of a number that is known now."""
    exact = value.exact
    if not value.literal:
        return convert(exact_to_raw(exact, value.dtype), value.dtype, target)
    return exact_to_raw(exact, target)


def exact_to_raw(exact: Any, target: AlloType) -> Any:
    """An exact number in a type, by the table of casts."""
    if isinstance(target, Float):
        return round_exact(exact, format_of(target))
    if isinstance(exact, int):
        return convert(exact, literal_type(exact), target)
    if isinstance(exact, float):
        return convert(exact, float64, target)
    if has_modes(target):
        return rounded_fixed(exact, None, target)
    if is_fixed(target):
        return saturated_fixed(toward_zero(exact * (1 << target.fracs)), target)
    low, high = value_range(target)
    return min(max(toward_zero(exact), low), high)


def binary(symbol: str, left: Value, right: Value) -> Value | None:
    """``left symbol right`` on scalars, or None where no rule joins the types."""
    left_type, right_type = left.dtype, right.dtype
    result = result_type(symbol, left_type, right_type)
    if result is None:
        return None
    if left.exact is not None and right.exact is not None and left.literal and right.literal:
        folded = _fold(symbol, left, right, result)
        if folded is not None:
            return folded
    if symbol == "**":
        return Value(
            result, f"power_{result.name}({coerce(left, result)}, {coerce(right, result)})"
        )
    if isinstance(result, Float):
        return Value(
            result, float_code(symbol, result, coerce(left, result), coerce(right, result))
        )
    if symbol in ("<<", ">>"):
        return Value(result, _shift(symbol, coerce(left, result), right, result))
    if is_fixed(left_type) or is_fixed(right_type):
        return Value(result, _fixed(symbol, left, right, result))
    if symbol in ("/", "//", "%"):
        name = {"/": "truncating", "//": "flooring", "%": "int_remainder"}[symbol]
        code = f"{name}({_true(left)}, {_true(right)})"
        return Value(result, wrap_code(code, result))
    code = f"({coerce(left, result)} {symbol} {coerce(right, result)})"
    # The rule's type holds every result, except of an index, which is
    # wider than the 32 bits it counts, and of a single bit, which is never negative.
    grows = not any(isinstance(t, Index) or t.name == "i1" for t in (left_type, right_type))
    exact_result = symbol in "+-*" and grows
    if exact_result and (symbol != "-" or result.name[0] == "i"):
        return Value(result, code)
    return Value(result, code if symbol in "&|^" else wrap_code(code, result))


def _true(value: Value) -> str:
    """Text of an operand's true value; a 1-bit integer counts as it is extended."""
    if value.exact is not None:
        code = coerce(value, value.dtype)
        return f"({code} & 1)" if value.dtype.name == "i1" else code
    if value.dtype.bits == 1 and is_integer(value.dtype):
        return cast_code(value.code, value.dtype, UINT1)
    return value.code


def float_code(symbol: str, result: Float, left: str, right: str) -> str:
    """Text of an operation on two numbers of one format, rounded once."""
    if symbol == "//":
        return f"float_floor({float_code('/', result, left, right)})"
    if symbol == "/":
        code = f"float_divide({left}, {right})"
    elif symbol == "%":
        return f"float_remainder({left}, {right})"
    else:
        code = f"({left} {symbol} {right})"
    return code if result.name == "f64" else f"round_{result.name}({code})"


def _shift(symbol: str, left: str, right: Value, result: AlloType) -> str:
    bits = width(result)
    if right.exact is not None:
        amount = int(right.exact)
        if 0 <= amount < bits:
            code = f"({left} {symbol} {amount})"
        elif symbol == "<<":
            return f"({left} * 0)"
        else:
            code = f"({left} >> {bits})"
    else:
        name = "shift_left" if symbol == "<<" else "shift_right"
        code = f"{name}({left}, {_true(right)}, {bits})"
    return wrap_code(code, result) if symbol == "<<" else code


def _fixed(symbol: str, left: Value, right: Value, result: AlloType) -> str:
    """Text of an operation with fixed point, on raw integers."""
    left_code, right_code = _own(left), _own(right)
    left_fracs, right_fracs = left.dtype.fracs, right.dtype.fracs
    if symbol == "*":
        return wrap_code(f"({left_code} * {right_code})", result)
    if symbol == "/":
        up = right_fracs + result.fracs
        return wrap_code(f"fixed_quotient({left_code}, {right_code}, {up}, {left_fracs})", result)
    if symbol == "//":
        code = (
            f"fixed_floor({left_code}, {right_code}, {right_fracs}, {left_fracs}, {result.fracs})"
        )
        return wrap_code(code, result)
    left_code = f"({left_code} << {result.fracs - left_fracs})"
    right_code = f"({right_code} << {result.fracs - right_fracs})"
    if symbol == "%":
        return wrap_code(f"int_remainder({left_code}, {right_code})", result)
    return wrap_code(f"({left_code} {symbol} {right_code})", result)


def _own(value: Value) -> str:
    """Text of an operand's raw value in its own type."""
    if value.exact is not None:
        return coerce(value, value.dtype)
    return _true(value) if is_integer(value.dtype) else value.code


def _fold(symbol: str, left: Value, right: Value, result: AlloType) -> Value | None:
    """An operation on two literals, exactly; None where it has no exact value."""
    try:
        exact = _exact_result(symbol, left.exact, right.exact, result)
    except (ZeroDivisionError, OverflowError, TypeError, ValueError):
        return None
    if exact is None:
        return None
    return exact_value(exact, result)


def exact_value(exact: Any, dtype: AlloType) -> Value:
    """A literal of a type that the tables give; a wider one where it does not fit."""
    if is_integer(dtype):
        exact = int(exact)
        if convert(exact, literal_type(exact), dtype) != exact:
            dtype = literal_type(exact)
        return Value(dtype, str(exact), exact=exact, literal=True)
    return Value(dtype, exact=exact_of(exact), literal=True)


_EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def _exact_result(symbol: str, left: Any, right: Any, result: AlloType) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return None
    if symbol in _EXACT:
        exact = _EXACT[symbol](left, right)
        if exact == 0 and isinstance(result, Float):
            return None if _may_be_minus_zero(symbol, left, right) else exact
        return exact
    if symbol == "**":
        if abs(right) > 4096 or Fraction(right).denominator != 1:
            return None
        return Fraction(left) ** int(right)
    if symbol in ("<<", ">>"):
        if right < 0 or right > 4096:
            return None
        return left << right if symbol == "<<" else left >> right
    if right == 0:
        return None
    if isinstance(result, Float):
        quotient = Fraction(left) / Fraction(right)
        if symbol == "/":
            return quotient
        whole = quotient.numerator // quotient.denominator
        if symbol == "//":
            return Fraction(whole)
        return Fraction(left) - Fraction(right) * toward_zero(quotient)
    if symbol == "/":
        return integers.truncating(left, right)
    return integers.flooring(left, right) if symbol == "//" else integers.remainder(left, right)


def _may_be_minus_zero(symbol: str, left: Any, right: Any) -> bool:
    return symbol == "*" and (left < 0 or right < 0)


def negate(value: Value) -> Value | None:
    """``-value``."""
    result = unary_type(value.dtype)
    if value.exact is not None and value.literal:
        if isinstance(result, Float):
            exact = value.exact
            negative = -float(exact) if exact == 0 or isinstance(exact, float) else -exact
            return exact_value(negative, result)
        return exact_value(-value.exact, result)
    if isinstance(value.dtype, Struct):
        return None
    code = coerce(value, result)
    if isinstance(result, Float):
        return Value(result, f"(-{code})")
    return Value(result, wrap_code(f"(-{code})", result))


def invert(value: Value) -> Value | None:
    """``~value``."""
    if not is_integer(value.dtype):
        return None
    result = unary_type(value.dtype)
    if value.exact is not None and value.literal:
        return exact_value(~value.exact, result)
    return Value(result, f"(~{coerce(value, result)})")


def truth(value: Value) -> str:
    """Text of whether a scalar is not zero."""
    if value.cond:
        return value.cond
    if value.exact is not None:
        return str(bool(value.exact))
    return value.code


def condition(code: str) -> Value:
    """A 1-bit value from the text of a Python condition."""
    return Value(UINT1, f"(1 if {code} else 0)", cond=code)


def compare(symbol: str, left: Value, right: Value) -> str | None:
    """Text of a comparison; None where no rule joins the types."""
    left_type, right_type = left.dtype, right.dtype
    common = result_type("select", left_type, right_type)
    if common is None:
        return None
    if left.exact is not None and right.exact is not None and left.literal and right.literal:
        return str(getattr(operator, _OPERATORS[symbol])(left.exact, right.exact))
    if isinstance(common, Float):
        return f"({coerce(left, common)} {symbol} {coerce(right, common)})"
    if is_fixed(left_type) or is_fixed(right_type):
        left_code = f"({_own(left)} << {common.fracs - left_type.fracs})"
        right_code = f"({_own(right)} << {common.fracs - right_type.fracs})"
        return f"({left_code} {symbol} {right_code})"
    return f"({_true(left)} {symbol} {_true(right)})"


_OPERATORS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def select_type(left: Value, right: Value) -> AlloType | None:
    """The common type of two values, by the table of select, min and max."""
    if isinstance(left.dtype, Struct) or isinstance(right.dtype, Struct):
        return left.dtype if left.dtype.name == right.dtype.name else None
    return result_type("select", left.dtype, right.dtype)


def extreme(name: str, left: Value, right: Value) -> Value | None:
    """``min`` or ``max`` in the common type."""
    common = select_type(left, right)
    if common is None or isinstance(common, Struct):
        return None
    exact = (left.exact, right.exact)
    if left.literal and right.literal and not any(isinstance(e, float) for e in exact):
        return exact_value(min(exact) if name == "min" else max(exact), common)
    if common.name == "i1":
        code = f"{name}({_true(left)}, {_true(right)})"
        return Value(common, wrap_code(code, common))
    prefix = "float_" if isinstance(common, Float) else ""
    return Value(common, f"{prefix}{name}({coerce(left, common)}, {coerce(right, common)})")


def absolute(value: Value) -> Value:
    """``abs(value)``: in the type of the value, so that the lowest stays."""
    if value.literal and value.exact is not None:
        return exact_value(abs(value.exact), value.dtype)
    code = coerce(value, value.dtype)
    return Value(
        value.dtype,
        f"abs({code})"
        if isinstance(value.dtype, Float)
        else wrap_code(f"abs({code})", value.dtype),
    )
