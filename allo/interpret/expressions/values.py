"""What the translator knows of an expression: its type, and the Python text that computes it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from allo.dialects.types import AlloType, Float, float32

from ..rules import literal_type
from ..running.arrays import row_major

Extent = int | str
"""An extent: a number, or Python text where an argument takes any length."""


@dataclass(slots=True)
class Symbol:
    """A variable of the kernel.

    Attributes:
        name: the user's name.
        python: the name in the translated text.
        dtype: its type.
        shape: the extents; None for a scalar.
        may_be_undefined: declared without a value, so that reads are checked.
        whole: a local array: one flat list without offset.
        fixed: an iterator or another name that nothing may assign.
        written: something stores to it.
        parameter: position among the parameters of the function, or None.
        assigned: a parameter that some statement of the function assigns.
        span: the least and the greatest value of an iterator, where they are constant.
        holder: of a stateful variable, the list that keeps its elements between calls.
    """

    name: str
    python: str
    dtype: AlloType
    shape: tuple[Extent, ...] | None = None
    may_be_undefined: bool = False
    whole: bool = False
    fixed: bool = False
    written: bool = False
    parameter: int | None = None
    assigned: bool = False
    span: tuple[int, int] | None = None
    holder: str = ""


@dataclass(slots=True)
class Value:
    """An expression.

    Attributes:
        dtype: the type of the value or of each element.
        code: text of a scalar's raw value, or of an ``Array``.
        shape: None for a scalar.
        exact: the number, where it is known now: an int, a Fraction, or a float that is no
            Fraction (-0.0, infinities, NaN). The raw value of fixed point is a Fraction here.
        literal: the number takes the type of what it meets.
        cond: text of the truth of a 1-bit value.
        view: text of the list, the offset and the strides of an array that has no ``code`` yet.
        root: the variable that an array is, or is part of.
        parts: the several results of a call; (None,) where there is none.
        is_transposed: a view with its axes in another order.
        in_struct: an array, or a part of one, that is a field of a Struct.
        span: the least and the greatest value of an index, where they are known.
    """

    dtype: AlloType
    code: str = ""
    shape: tuple[Extent, ...] | None = None
    exact: Any = None
    literal: bool = False
    cond: str = ""
    view: tuple[str, str, tuple[Extent, ...]] | None = None
    root: Symbol | None = None
    parts: tuple[Any, ...] = field(default=())
    is_transposed: bool = False
    in_struct: bool = False
    span: tuple[int, int] | None = None

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.shape is not None

    def array_code(self) -> str:
        """Text of the value as an ``Array``."""
        if self.code:
            return self.code
        if self.view is None or self.shape is None:
            return self.code
        data, offset, strides = self.view
        return f"Array({data}, {tuple_code(self.shape)}, {offset}, {tuple_code(strides)})"


def tuple_code(parts: tuple[Extent, ...]) -> str:
    """Text of a tuple."""
    return "(" + "".join(f"{part}, " for part in parts) + ")"


def literal(value: Any) -> Value:
    """A literal, or a captured number."""
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, int):
        return Value(literal_type(value), str(value), exact=value, literal=True)
    return Value(float32, exact=exact_of(value), literal=True)


def exact_of(value: float | int | Fraction) -> Any:
    """An exact number for a float: a Fraction, or the float itself where it is none."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value) or (value == 0.0 and math.copysign(1.0, value) < 0):
        return value
    return Fraction(value)


def raw_code(raw: Any, dtype: AlloType) -> str:
    """Text of a raw value that is known now."""
    if isinstance(dtype, Float):
        if raw != raw:
            return "NAN"
        if math.isinf(raw):
            return "INF" if raw > 0 else "(-INF)"
        return repr(float(raw)) if math.copysign(1.0, raw) > 0 else f"({raw!r})"
    if isinstance(raw, tuple):
        return repr(raw)
    return str(raw) if raw >= 0 else f"({raw})"


def whole_view(symbol: Symbol) -> Value:
    """The array that a variable is."""
    shape = symbol.shape or ()
    name = symbol.python
    strides: tuple[Extent, ...]
    if symbol.whole and all(isinstance(extent, int) for extent in shape):
        strides, offset = row_major([int(extent) for extent in shape]), "0"
    else:
        strides = tuple(f"{name}_s{axis}" for axis in range(len(shape)))
        offset = f"{name}_o"
    return Value(symbol.dtype, name, shape=shape, view=(f"{name}_d", offset, strides), root=symbol)
