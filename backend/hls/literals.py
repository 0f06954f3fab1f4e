"""Constants as C++ literals, exact to the bit."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence

import numpy as np

from allo.dialects._mlir import ir

from .ctype import CType, Kind
from .vendors import Vendor

_FORMATS = {16: np.float16, 32: np.float32, 64: np.float64}


def wrap(value: int, bits: int, signed: bool) -> int:
    """``value`` reduced to the range of an integer type."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


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
    return f'{vendor.spell(ctype)}("{value:x}", 16)'


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


def _reader(ctype: CType):
    if ctype.kind is Kind.BFLOAT:
        return lambda v: v
    return _FORMATS[ctype.bits]


def scalar(value: int | float, ctype: CType, vendor: Vendor) -> str:
    """A literal of any scalar type."""
    if ctype.kind is Kind.INDEX:
        return str(value)
    if ctype.is_integer:
        return integer(int(value), ctype, vendor)
    return floating(float(value), ctype, vendor)


def initialiser(values: Sequence[int | float], shape: Sequence[int], spell) -> str:
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


def dense_values(attribute: ir.Attribute, element: ir.Type, count: int) -> list[int | float]:
    """The row-major values of a dense attribute, of any integer width or float format."""
    if isinstance(element, ir.IntegerType) and element.width not in (1, 8, 16, 32, 64):
        return _odd_width(attribute, element.width, count)
    if isinstance(element, (ir.IntegerType, ir.IndexType)):
        dense = ir.DenseIntElementsAttr(attribute)
        if dense.is_splat:
            return [int(dense.get_splat_value().value)] * count
        return [int(v) for v in dense]
    dense = ir.DenseFPElementsAttr(attribute)
    if dense.is_splat:
        return [float(dense.get_splat_value().value)] * count
    if isinstance(element, ir.BF16Type):
        return _bfloats(attribute, count)
    return [float(v) for v in np.array(dense).reshape(-1)]


def _odd_width(attribute: ir.Attribute, width: int, count: int) -> list[int | float]:
    body = _body(attribute)
    if body.startswith('"0x'):
        size = -(-width // 8)
        raw = bytes.fromhex(body[3:-1])
        words = [raw[k : k + size] for k in range(0, len(raw), size)]
        values: list[int | float] = [wrap(int.from_bytes(w, "little"), width, True) for w in words]
    else:
        values = [*_flatten(ast.literal_eval(body))]
    return list(values) * count if len(values) == 1 else list(values)


def _bfloats(attribute: ir.Attribute, count: int) -> list[int | float]:
    body = _body(attribute)
    if body.startswith('"0x'):
        raw = np.frombuffer(bytes.fromhex(body[3:-1]), dtype="<u2").astype(np.uint32)
        return [float(v) for v in (raw << 16).view(np.float32)]
    values = [float(v) for v in re.findall(r"[-+0-9.eE]+", body)]
    return values * count if len(values) == 1 else values


def _body(attribute: ir.Attribute) -> str:
    match = re.match(r"dense<(.*)>\s*:", str(attribute), re.DOTALL)
    if match is None:
        raise ValueError(f"not a dense attribute: {attribute}")
    return match[1]


def _flatten(value) -> list[int]:
    if not isinstance(value, list):
        return [int(value)]
    return [leaf for part in value for leaf in _flatten(part)]
