"""The values of arrays that programs declare, as dense attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.types import AlloType, Float

from ..rules.integers import wrap
from .mlir_types import is_unsigned

_LARGE = 256
"""Arrays of so many elements are handed over as bytes: the text of a weight takes forty times its memory."""


def dense_elements(
    values: Any, dtype: AlloType, element: ir.Type, shape: Sequence[int | None]
) -> ir.Attribute:
    """The attribute with the values of an array; arrays with the same values share one copy."""
    stored = _stored(values, dtype) if values.size >= _LARGE else None
    if stored is not None:
        return ir.DenseElementsAttr.get(stored)
    extents = "x".join([*(str(d) for d in shape), str(element)])
    return ir.Attribute.parse(f"dense<{dense_text(values, dtype)}> : tensor<{extents}>")


def _stored(values: Any, dtype: AlloType) -> Any:
    """The array in its element type; None where that rounds a value, or one is no number."""
    import numpy as np

    if dtype.name != "f32" or values.dtype.kind != "f":
        return None
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(values, np.float32)
    return narrow if np.array_equal(narrow, values) else None


def dense_text(values: Any, dtype: AlloType) -> str:
    """The text inside ``dense<...>`` for an array of values."""
    if values.ndim == 0:
        return _number_text(values.item(), dtype)
    return "[" + ", ".join(dense_text(part, dtype) for part in _parts(values)) + "]"


def _parts(values: Any) -> list[Any]:
    import numpy as np

    return [np.asarray(v, dtype=values.dtype) for v in values]


def _number_text(value: Any, dtype: AlloType) -> str:
    if not isinstance(dtype, Float):
        if dtype.bits == 1:
            return "true" if int(value) & 1 else "false"
        return str(wrap(int(value), dtype) if not is_unsigned(dtype) else int(value))
    return _float_text(float(value), dtype)


def _float_text(value: float, dtype: AlloType) -> str:
    import struct

    if dtype.name == "f64":
        return "0x" + struct.pack(">d", value).hex().upper()
    if value == value and abs(value) != float("inf"):
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    bits = {"f16": ("7C00", "FC00", "7E00"), "bf16": ("7F80", "FF80", "7FC0")}.get(
        dtype.name, ("7F800000", "FF800000", "7FC00000")
    )
    return "0x" + (bits[2] if value != value else bits[0] if value > 0 else bits[1])
