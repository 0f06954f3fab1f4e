"""Results of a call back into the caller's arrays, whatever their NumPy types are."""

from __future__ import annotations

import numpy as np

from ..types import AlloType, Struct
from .storage import decode, float_of, is_fixed, to_python


def write_back(target: np.ndarray, cells: np.ndarray, dtype: AlloType) -> None:
    """Put the values of ``cells`` into ``target``, converted: integers wrap, floats round."""
    if dtype.bits > 64 and not (target.dtype.names or is_fixed(dtype) or isinstance(dtype, Struct)):
        flat = cells.reshape(-1, cells.shape[-1])
        values = [to_python(cell, dtype) for cell in flat]
        np.copyto(target, _as_numpy(values, target.dtype).reshape(target.shape), casting="unsafe")
        return
    decoded = decode(cells, dtype)
    names = decoded.dtype.names or ()
    if target.dtype.names and names and target.dtype != decoded.dtype:
        _write_fields(target, decoded, names)
        return
    with np.errstate(invalid="ignore", over="ignore"):
        np.copyto(target, decoded, casting="unsafe")


def _as_numpy(values: list[int], dtype: np.dtype) -> np.ndarray:
    """Integers of any size as a flat array that copies into ``dtype``."""
    if dtype.kind == "O":
        kept: np.ndarray = np.empty(len(values), object)
        kept[:] = values
        return kept
    if dtype.kind == "b":
        return np.array([value != 0 for value in values], bool)
    if dtype.kind in "iu":
        words = np.array([value & ((1 << 64) - 1) for value in values], np.uint64)
        return words.astype(np.int64) if dtype.kind == "i" else words
    return np.array([float_of(value) for value in values], np.float64)


def _write_fields(target: np.ndarray, values: np.ndarray, names: tuple[str, ...]) -> None:
    if not set(names) <= set(target.dtype.names or ()):
        np.copyto(target, values.astype(target.dtype), casting="unsafe")
        return
    for name in names:
        inner = values[name].dtype.names
        if inner and target[name].dtype.names and target[name].dtype != values[name].dtype:
            _write_fields(target[name], values[name], inner)
        else:
            target[name] = values[name]
