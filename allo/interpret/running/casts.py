"""Casts between types: on values (:func:`convert`) and as the text of Python code (:func:`cast_code`).

The raw value of an integer is a Python int in its range, of fixed point the integer behind it, of
a float a Python float, of a Struct the tuple of its fields.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from allo.dialects.types import AlloType, Fixed, Float, Index, Int, Struct, UFixed

from ..rules import int_type, is_fixed, is_integer
from .formats import FORMATS, ROUND, decode, format_of, round_exact, round_fraction

_WORD = 64
_WORD_RANGE = (-(1 << 63), (1 << 63) - 1)


def width(dtype: AlloType) -> int:
    """Bits of a value: an index has 64, though the tables count 32."""
    return _WORD if isinstance(dtype, Index) else dtype.bits


def holds_sign(dtype: AlloType) -> bool:
    """Whether a value may be negative: Int, Fixed, and an index too."""
    return isinstance(dtype, Index) or dtype.name.startswith(("i", "fixed"))


def value_range(dtype: AlloType) -> tuple[int, int]:
    """The smallest and the largest raw value."""
    bits = width(dtype)
    if holds_sign(dtype):
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1


def wrap(value: int, dtype: AlloType) -> int:
    """The raw value modulo two to the width."""
    bits = width(dtype)
    value &= (1 << bits) - 1
    if holds_sign(dtype) and value >> (bits - 1):
        value -= 1 << bits
    return value


def wrap_code(code: str, dtype: AlloType) -> str:
    """Python text of :func:`wrap`."""
    bits = width(dtype)
    if not holds_sign(dtype):
        return f"({code} & {(1 << bits) - 1})"
    half = 1 << (bits - 1)
    return f"(({code} + {half} & {(1 << bits) - 1}) - {half})"


def convertible(source: AlloType, target: AlloType) -> bool:
    """Whether a cast from one type to the other exists."""
    if isinstance(target, Struct):
        if isinstance(source, Struct):
            return _same_fields(source, target)
        return is_integer(source) and width(source) == target.bits
    return not isinstance(source, Struct) and _is_scalar(source) and _is_scalar(target)


def _same_fields(source: Struct, target: Struct) -> bool:
    """Whether the fields have the same names and the same bits, in the same order."""
    pairs = zip(source.fields.values(), target.fields.values(), strict=False)
    return list(source.fields) == list(target.fields) and all(
        _same_fields(a, b)
        if isinstance(a, Struct) and isinstance(b, Struct)
        else a.name == b.name or (is_integer(a) and is_integer(b) and a.bits == b.bits)
        for a, b in pairs
    )


def _is_scalar(dtype: AlloType) -> bool:
    return is_integer(dtype) or is_fixed(dtype) or isinstance(dtype, Float)


def _is_one_bit(dtype: AlloType) -> bool:
    return isinstance(dtype, Int) and dtype.bits == 1


def convert(value: Any, source: AlloType, target: AlloType) -> Any:
    """The raw value of one type in another, by the table of casts."""
    if source.name == target.name:
        return value
    if isinstance(target, Struct):
        if isinstance(source, Struct):
            return reread_struct(value, target)
        return unpack_struct(value, target)
    if isinstance(source, Float):
        if isinstance(target, Float):
            return round_exact(value, format_of(target))
        if has_modes(target):
            return rounded_fixed(value, None, target)
        if is_fixed(target):
            return float_to_fixed(value, target.fracs, target)
        return float_to_int(value, *value_range(target))
    if _is_one_bit(source):
        value &= 1
    if isinstance(target, Float):
        return fixed_to_float(value, source.fracs, target.name, source.bits)
    if has_modes(target):
        return rounded_fixed(value, source.fracs, target)
    shift = target.fracs - source.fracs
    return wrap(value << shift if shift >= 0 else value >> -shift, target)


def unpack_struct(value: int, target: Struct) -> tuple[Any, ...]:
    """The fields of an integer of the same width, the first lowest."""
    fields = []
    for dtype in target.fields.values():
        fields.append(from_bits(value, dtype))
        value >>= dtype.bits
    return tuple(fields)


def reread_struct(value: tuple[Any, ...], target: Struct) -> tuple[Any, ...]:
    """The fields of a Struct as those of another one: integers of one width wrapped."""
    pairs = zip(value, target.fields.values(), strict=True)
    return tuple(
        reread_struct(part, dtype)
        if isinstance(dtype, Struct)
        else wrap(part, dtype)
        if is_integer(dtype)
        else part
        for part, dtype in pairs
    )


def from_bits(bits: int, dtype: AlloType) -> Any:
    """The value whose pattern is the low bits of an integer."""
    if isinstance(dtype, Struct):
        return unpack_struct(bits, dtype)
    if isinstance(dtype, Float):
        return decode(bits & ((1 << dtype.bits) - 1), format_of(dtype))
    return wrap(bits, dtype)


def float_to_int(value: float, low: int, high: int) -> int:
    """Toward zero; the nearest integer of the range outside it, 0 for NaN."""
    if value != value:
        return 0
    if value >= high:
        return high
    if value <= low:
        return low
    return int(value)


def float_to_fixed(value: float, fracs: int, target: AlloType) -> int:
    """Toward zero to the fraction bits, the nearest of 64 bits or of a wider type's, then wrapped."""
    if value - value != 0.0:
        return wrap(float_to_int(value, *_whole_range(target)), target)
    return saturated_fixed(toward_zero(Fraction(value) * (1 << fracs)), target)


def has_modes(dtype: AlloType) -> bool:
    """Whether a type of fixed point rounds or saturates what becomes one of its values."""
    return isinstance(dtype, (Fixed, UFixed)) and dtype.has_modes


def rounded_fixed(value: Any, fracs: int | None, target: AlloType, limited: bool = True) -> int:
    """The raw value of a number in a type that rounds or saturates.

    ``fracs`` are the fraction bits of an integer or of fixed point, None for a float. A float is
    first the nearest of a word or of a wider type's, as without modes, if it is ``limited``.
    """
    if value != value:
        return 0
    rounding = target.name.rstrip(")").split(", ")[2]
    low, high = value_range(target)
    whole: int
    if fracs is None and value - value != 0:
        least, most = _whole_range(target)
        whole = least if value < 0 else most + (rounding != "truncate")
    else:
        steps = Fraction(value) * (1 << target.fracs)
        if fracs is not None:
            steps /= 1 << fracs
        if rounding == "nearest":
            whole = math.floor(steps + Fraction(1, 2))
        elif rounding == "convergent":
            whole = round(steps)
        else:
            whole = toward_zero(steps) if fracs is None else math.floor(steps)
        if fracs is None and limited:
            least, most = _whole_range(target)
            whole = min(max(whole, least), most + (rounding != "truncate"))
    if target.name.endswith("saturate)"):
        return min(max(whole, low), high)
    return wrap(whole, target)


def saturated_fixed(whole: int, target: AlloType) -> int:
    """A raw value of fixed point: the nearest of 64 bits or of a wider type's, then wrapped."""
    low, high = _whole_range(target)
    return wrap(min(max(whole, low), high), target)


def _whole_range(target: AlloType) -> tuple[int, int]:
    """What a scaled float may be before it wraps: a word, or one bit more than a type that no word holds."""
    low, high = value_range(target)
    if _WORD_RANGE[0] <= low and high <= _WORD_RANGE[1]:
        return _WORD_RANGE
    return -(1 << target.bits), (1 << target.bits) - 1


def toward_zero(exact: Fraction) -> int:
    """The whole part of a fraction."""
    whole = abs(exact.numerator) // exact.denominator
    return -whole if exact < 0 else whole


def fixed_to_float(value: int, fracs: int, name: str, bits: int) -> float:
    """An integer or fixed point in a float format, to nearest even."""
    if -(1 << 53) <= value <= 1 << 53 and not fracs:
        exact = float(value)
        return exact if name == "f64" else ROUND[name](exact)
    if fracs and name in ("f16", "bf16") and bits > 24:
        return ROUND[name](round_fraction(value, 1 << fracs, FORMATS["f64"]))
    return round_fraction(value, 1 << fracs, FORMATS[name])


def cast_code(code: str, source: AlloType, target: AlloType) -> str:
    """Python text that converts a value; helpers are those of ``namespace.py``."""
    if source.name == target.name:
        return code
    if isinstance(target, Struct):
        if isinstance(source, Struct):
            return f"reread_struct({code}, {type_name(target)})"
        return f"unpack_struct({code}, {type_name(target)})"
    if isinstance(source, Float):
        if isinstance(target, Float):
            return code if _holds(target, source) else f"round_{target.name}({code})"
        if has_modes(target):
            return f"rounded_fixed({code}, None, {type_name(target)})"
        if is_fixed(target):
            return f"float_to_fixed({code}, {target.fracs}, {type_name(target)})"
        low, high = value_range(target)
        return f"float_to_int({code}, {low}, {high})"
    if _is_one_bit(source):
        code = f"({code} & 1)"
        source = int_type(1, False) if not is_fixed(source) else source
    if isinstance(target, Float):
        return f"fixed_to_float({code}, {source.fracs}, {target.name!r}, {source.bits})"
    if has_modes(target):
        return f"rounded_fixed({code}, {source.fracs}, {type_name(target)})"
    shift = target.fracs - source.fracs
    low, high = value_range(source)
    if shift > 0:
        code, low, high = f"({code} << {shift})", low << shift, high << shift
    elif shift < 0:
        code, low, high = f"({code} >> {-shift})", low >> -shift, high >> -shift
    first, last = value_range(target)
    return code if first <= low and high <= last else wrap_code(code, target)


def _holds(target: Float, source: Float) -> bool:
    """Whether every value of one float format is a value of the other."""
    if target.name == "f64":
        return True
    return target.name == "f32" and source.bits == 16


def type_name(dtype: AlloType) -> str:
    """Python text for a type object; ``parse_type`` is in the namespace and remembers."""
    return f"type_of({dtype.name!r})"
