"""Constant arrays and stateful variables: module-level globals."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace, TypeMismatchError
from allo.dialects.text.shown import shown
from allo.dialects.types import (
    AlloType,
    Float,
    Int,
    Struct,
    UInt,
    bfloat16,
    float16,
    float32,
    float64,
    int32,
)
from allo.frontend.rules.integers import is_integer, smallest_int, wrap

from ..rules import constants, fixed
from ..tree import Var
from .context import FunctionContext

_FLOATS: dict[str, AlloType] = {
    "float16": float16,
    "float32": float32,
    "float64": float64,
    "bfloat16": bfloat16,
}

_LARGE = 256
"""Arrays of so many elements are known by a digest: a tuple takes four times the memory of a weight."""


def numpy_dtype(array: np.ndarray, place: SourcePlace) -> AlloType:
    """The language's type for a NumPy array's elements."""
    kind, bits = array.dtype.kind, array.dtype.itemsize * 8
    if array.dtype.name in _FLOATS:
        return _FLOATS[array.dtype.name]
    if kind == "b":
        return UInt(1)
    if kind == "i":
        return Int(bits)
    if kind == "u":
        return UInt(bits)
    raise TypeMismatchError(
        f"A NumPy array of {array.dtype} cannot be used in a kernel.",
        place,
        help="convert it first: array.astype(np.int32) or np.float32.",
    )


def literal_dtype(array: np.ndarray) -> AlloType:
    """The type of a list literal: int32 (wider where a value needs it) or float32."""
    if array.dtype.kind in "iub":
        extremes = (int(array.min()), int(array.max())) if array.size else (0, 0)
        widest = max((smallest_int(v) for v in extremes), key=lambda t: t.bits)
        return int32 if widest == int32 else widest
    return float32


def converted(array: np.ndarray, dtype: AlloType, place: SourcePlace) -> np.ndarray:
    """``array``'s values as ``dtype``: integers wrapped, floats toward zero, or rounded."""
    _require_numbers(array, place)
    if isinstance(dtype, Float):
        if array.dtype.kind not in "iuO":
            return array.astype(np.float64)
        flat_floats = [constants.nearest_float(v, dtype) for v in array.reshape(-1).tolist()]
        return np.array(flat_floats, dtype=np.float64).reshape(array.shape)
    if fixed.is_fixed(dtype):
        return _raw_values(array, dtype, place)
    if not is_integer(dtype):
        raise TypeMismatchError(
            f"A constant array of {dtype} is not supported yet.",
            place,
            help="fill a local array in a loop, or pass it as an argument.",
        )
    flat = [_integer(v, dtype) for v in array.reshape(-1).tolist()]
    return np.array(flat, dtype=object).reshape(array.shape)


def _require_numbers(array: np.ndarray, place: SourcePlace) -> None:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeMismatchError(
            "A masked array has no value where it is masked.",
            place,
            help="capture its .filled(…) with a value for what is masked.",
        )
    if array.dtype.kind in "biuf" or array.dtype.name == "bfloat16":
        return
    for value in array.reshape(-1).tolist():
        if not isinstance(value, (bool, int, float)):
            raise TypeMismatchError(
                f"{shown(value)} is no number, and the elements of an array are numbers.",
                place,
                help="capture an array of numbers: np.array(…, dtype=np.int32).",
            )


def _integer(value: int | float, dtype: AlloType) -> int:
    if isinstance(value, float):
        return constants.nearest_integer(value, dtype)
    return wrap(int(value), dtype)


def _raw_values(array: np.ndarray, dtype: AlloType, place: SourcePlace) -> np.ndarray:
    """The integers that hold fixed-point values."""
    try:
        flat = [fixed.quantised(v, dtype) for v in array.reshape(-1).tolist()]
    except (TypeError, ValueError, OverflowError):
        raise TypeMismatchError(
            f"An array of {array.dtype} with these elements has no values of type {dtype}.",
            place,
            help="every element must be a finite number.",
        ) from None
    return np.array(flat, dtype=object).reshape(array.shape)


def constant_array(ctx: FunctionContext, array: np.ndarray, name: str, place: SourcePlace) -> Var:
    """A constant global with the array's values, fetched at the top of the function once."""
    dtype = literal_dtype(array) if name == "const" else numpy_dtype(array, place)
    values = converted(array, dtype, place)
    symbol = _symbol(ctx, values, dtype, name, None)
    for var in ctx.function.globals:
        if var.symbol == symbol:
            return var
    var = Var(name, dtype, values.shape, "const", place, symbol=symbol, init=values)
    ctx.function.globals.append(var)
    return var


def declared_constant(
    ctx: FunctionContext,
    array: np.ndarray,
    name: str,
    dtype: AlloType,
    memory: Any,
    place: SourcePlace,
) -> Var:
    """A variable declared with constant elements: the global itself until something writes it."""
    values = converted(array, dtype, place)
    symbol = _symbol(ctx, values, dtype, name, memory)
    return Var(
        name, dtype, values.shape, "const", place, memory, symbol, values, user_declared=True
    )


def _symbol(
    ctx: FunctionContext, values: np.ndarray, dtype: AlloType, name: str, memory: Any
) -> str:
    """The global that holds these values in this memory; equal ones share it."""
    key = (dtype.name, values.shape, _contents(values), memory)
    symbol = ctx.module.constants.get(key)
    if symbol is None:
        symbol = ctx.module.unique_symbol(name)
        ctx.module.constants[key] = symbol
    return symbol


def _contents(values: np.ndarray) -> Any:
    """What equal arrays have in common: the elements, or a digest where a tuple would be large."""
    if values.size < _LARGE or values.dtype != np.float64:
        return tuple(values.reshape(-1).tolist())
    return sha256(np.ascontiguousarray(values).data).digest()


def check_shape(
    array: np.ndarray, shape: tuple[int | None, ...], place: SourcePlace, name: str
) -> None:
    """Refuse an initialiser whose shape is not the declared one."""
    if tuple(array.shape) != tuple(shape):
        raise ShapeMismatchError(
            f"The initialiser of {name} has shape {list(array.shape)}, "
            f"but {name} is declared with shape {list(shape)}.",
            place,
            help="give as many values as are declared, or one number for all of them.",
        )


def stateful(
    ctx: FunctionContext,
    name: str,
    dtype: AlloType,
    shape: tuple[int | None, ...],
    init: Any,
    place: SourcePlace,
    memory: Any = None,
) -> Var:
    """A variable that keeps its value between calls: a global of the function."""
    values = first_values(name, dtype, shape, init, place)
    symbol = _state_symbol(ctx, name)
    var = Var(name, dtype, shape, "stateful", place, memory, symbol, values)
    ctx.function.globals.append(var)
    return var


def first_values(
    name: str, dtype: AlloType, shape: tuple[int | None, ...], init: Any, place: SourcePlace
) -> np.ndarray:
    """What the elements of a stateful variable start at: one number, or an array of its shape."""
    array = np.array(0 if init is None else init)
    if array.ndim == 0:
        array = np.full(tuple(s or 1 for s in shape), array.item())
    check_shape(array, shape, place, name)
    return array if isinstance(dtype, Struct) else converted(array, dtype, place)


def _state_symbol(ctx: FunctionContext, name: str) -> str:
    """The global of a stateful variable: one for all instances that share their state."""
    before = sum(var.kind == "stateful" for var in ctx.function.globals)
    known = ctx.module.states.get((ctx.state, before)) if ctx.state is not None else None
    if known is not None:
        return known
    base = ctx.info.origin
    count = ctx.module.stateful_counts.get(base, 0) + 1
    ctx.module.stateful_counts[base] = count
    symbol = ctx.module.unique_symbol(f"__stateful_{base}_{name}_{count}")
    ctx.module.stateful[symbol] = (ctx.info.name, name)
    ctx.module.states[ctx.state, before] = symbol
    return symbol
