"""Ranges of a number's bits: which are selected, and as what type."""

from __future__ import annotations

import ast
import warnings

from allo.dialects.diagnostics import (
    DTypeWarning,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType, index

from ..body import Body
from ..rules import UINT1, int_type, is_integer
from ..running.casts import width
from .affine import difference
from .indices import index_code, index_value
from .scalars import coerce, exact_to_raw
from .values import Extent

_UNKNOWN_BITS = 32
"""Bits of a slice of which the length is not known."""


def bits_code(code: str, low: str, bits: Extent) -> str:
    """Text of some bits of a value."""
    if isinstance(bits, int):
        return f"({code} >> {low} & {(1 << bits) - 1})"
    return f"get_bits({code}, {low}, {bits})"


def bit_range(
    body: Body, dtype: AlloType, item: ast.expr, node: ast.AST
) -> tuple[str, Extent, AlloType]:
    """Text of the lowest bit, the number of bits, and the type of the selected bits. Where the
    number is text, it stands behind that of the lowest bit."""
    if not is_integer(dtype):
        raise TypeMismatchError(
            f"{dtype} has no bits to select.",
            body.place(node),
            help="x.bitcast() is the integer behind a number.",
        )
    limit = width(dtype)
    if not isinstance(item, ast.Slice):
        return _bit(body, item, dtype, limit), 1, UINT1
    if item.step is not None:
        raise UnsupportedSyntaxError("A slice of bits has no step.", body.place(item))
    lower = item.lower or ast.copy_location(ast.Constant(0), node)
    upper = item.upper or ast.copy_location(ast.Constant(limit), node)
    span = difference(body, lower, upper)
    if span is None:
        warnings.warn(
            f"The width of the bits at {body.place(node)} is not constant: they are UInt(32).",
            DTypeWarning,
            stacklevel=2,
        )
        return (*_open_range(body, lower, upper, limit), int_type(_UNKNOWN_BITS, False))
    if body.is_known(lower):
        low = int(body.evaluate(lower, "A bit"))
        if not 0 <= low < low + span <= limit:
            raise ShapeMismatchError(
                f"Index out of range: the bits {low}:{low + span} of {dtype}.", body.place(item)
            )
        return str(low), span, int_type(span, False)
    if span <= 0 or span > limit:
        raise ShapeMismatchError(f"Index out of range: {span} bits of {dtype}.", body.place(item))
    code = index_code(body, lower, "A bit")
    start = body.temporary()
    place = body.place_code(item)
    checked = f"at({place}, ({start} := {code}), {limit - span + 1}, 'the bits')"
    return checked, span, int_type(span, False)


def _bit(body: Body, item: ast.expr, dtype: AlloType, limit: int) -> str:
    value = index_value(body, item, "A bit")
    if value.exact is not None:
        position = exact_to_raw(value.exact, index)
        if not 0 <= position < limit:
            raise ShapeMismatchError(
                f"Index out of range: bit {position} of {dtype}.", body.place(item)
            )
        return str(position)
    return f"at({body.place_code(item)}, {coerce(value, index)}, {limit}, 'the bits')"


def _open_range(body: Body, lower: ast.expr, upper: ast.expr, limit: int) -> tuple[str, str]:
    """Bits whose number is known when the program runs."""
    first, last = body.temporary(), body.temporary()
    low = index_code(body, lower, "A bit")
    high = index_code(body, upper, "A bit")
    place = body.place_code(lower)
    return f"bits_start({place}, ({first} := {low}), ({last} := {high}), {limit})", (
        f"max({last} - {first}, 0)"
    )
