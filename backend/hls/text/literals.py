"""Constants as C++ literals, exact to the bit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from allo.dialects.core.integers import as_signed

from ..vendors.tables import Vendor
from .ctype import CType, Kind

DOUBLE_BITS = 53
_FORMATS = {16: np.float16, 32: np.float32, 64: np.float64}


def wrap(value: int, bits: int, signed: bool) -> int:
    """``value`` reduced to the range of an integer type."""
    return as_signed(value, bits) if signed else value & ((1 << bits) - 1)


def integer(value: int, ctype: CType, vendor: Vendor) -> str:
    """An integer literal of the value; a constructor call beyond 64 bits."""
    if ctype.is_bool:
        return "true" if value & 1 else "false"
    value = wrap(value, ctype.bits, ctype.signed)
    if -(1 << 31) < value < 1 << 31:
        return str(value) if value >= 0 else f"({value})"
    if -(1 << 63) < value < 1 << 63:
        return f"{value}LL" if value >= 0 else f"({value}LL)"
    if value == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    if 0 <= value < 1 << 64:
        return f"{value}ULL"
    if vendor.word_literals:
        return _from_words(value, ctype, vendor)
    return f'{vendor.spell(ctype)}("{value:x}", 16)'


def index(value: int) -> str:
    """An index literal, of 64 bits where ``int`` does not hold it."""
    if -(1 << 31) <= value < 1 << 31:
        return str(value)
    return "(-9223372036854775807LL - 1)" if value == -(1 << 63) else f"{value}LL"


def _from_words(value: int, ctype: CType, vendor: Vendor) -> str:
    """A literal beyond 64 bits, put together from words of 32 bits."""
    kind = vendor.spell_wide(ctype.bits, ctype.signed)
    pattern = value & ((1 << ctype.bits) - 1)
    words = [f"(({kind}){pattern >> k & 0xFFFFFFFF}u << {k})" for k in range(0, ctype.bits, 32)]
    return f"({' | '.join(words)})"


def floating(value: float, ctype: CType, vendor: Vendor) -> str:
    """A cast literal that reads back as exactly this value: ``(float)1.000000``."""
    kind = vendor.spell(ctype)
    if math.isnan(value):
        return f"({kind})NAN"
    if math.isinf(value):
        return f"({kind}){'-' if value < 0 else ''}INFINITY"
    as_read = _reader(ctype)
    for form in (f"{value:.6f}", f"{value:.9g}", f"{value:.17g}"):
        if as_read(float(form)) == value:
            digits = form if re.search(r"[.e]", form) else f"{form}.0"
            return f"({kind}){digits}"
    return f"({kind}){value!r}"


def _reader(ctype: CType) -> Callable[[float], Any]:
    if ctype.kind is Kind.BFLOAT:
        return lambda v: v
    return _FORMATS[ctype.bits]


def fixed_point(value: int, ctype: CType) -> str:
    """The number behind ``value`` steps of a fixed-point type, exact for up to 53 bits."""
    return repr(wrap(value, ctype.bits, ctype.signed) / (1 << (ctype.fracs or 0)))


def scalar(value: int | float, ctype: CType, vendor: Vendor) -> str:
    """A literal of any scalar type."""
    if ctype.kind is Kind.INDEX:
        return index(int(value))
    if ctype.is_fixed:
        return fixed_point(int(value), ctype)
    if ctype.is_integer:
        return integer(int(value), ctype, vendor)
    return floating(float(value), ctype, vendor)


def initialiser(
    values: Sequence[int | float], shape: Sequence[int], spell: Callable[[int | float], str]
) -> str:
    """Nested braces around row-major values; ``spell`` writes one value."""
    if not shape:
        return spell(values[0])
    if len(shape) == 1:
        return "{" + ", ".join(map(spell, values)) + "}"
    step = len(values) // shape[0] if shape[0] else 0
    rows = (
        initialiser(values[k * step : (k + 1) * step], shape[1:], spell) for k in range(shape[0])
    )
    return "{" + ",\n".join(rows) + "}"
