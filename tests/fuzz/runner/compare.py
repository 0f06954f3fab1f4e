"""Whether two calls gave the same bits; any NaN equals any NaN."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..generator.program import Argument

_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def difference(
    got: tuple[list[Any], list[Any]],
    want: tuple[list[Any], list[Any]],
    arguments: list[Argument],
) -> str | None:
    """What differs first between (arguments after the call, results), or None."""
    for argument, a, b in zip(arguments, got[0], want[0], strict=True):
        if isinstance(a, np.ndarray) and (found := _of_arrays(a, b)):
            return f"{argument.name}{found}"
    if len(got[1]) != len(want[1]):
        return f"{len(got[1])} results in place of {len(want[1])}"
    for position, (a, b) in enumerate(zip(got[1], want[1], strict=True)):
        if found := _of_values(a, b):
            return f"result {position}{found}"
    return None


def _of_values(a: Any, b: Any) -> str | None:
    if isinstance(a, dict) or isinstance(b, dict):
        for name in b:
            if found := _of_values(a[name], b[name]):
                return f"[{name!r}]{found}"
        return None
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _of_arrays(np.asarray(a), np.asarray(b))
    return None if _same(a, b) else f": {a!r} in place of {b!r}"


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (float, np.floating)) or isinstance(b, (float, np.floating)):
        x, y = float(a), float(b)
        return (x != x and y != y) or (x == y and np.signbit(x) == np.signbit(y))
    return int(a) == int(b)


def _of_arrays(a: np.ndarray, b: np.ndarray) -> str | None:
    if a.shape != b.shape:
        return f" has shape {a.shape} in place of {b.shape}"
    if a.dtype.names:
        for name in a.dtype.names:
            if found := _of_arrays(a[name], b[name]):
                return f"[{name!r}]{found}"
        return None
    if a.dtype == object or b.dtype == object or a.dtype.itemsize not in (1, 2, 4, 8):
        wrong = np.array(
            [not _same(x, y) for x, y in zip(_flat(a), _flat(b), strict=True)], dtype=bool
        )
    elif a.dtype.kind in "iub":
        wrong = (a != b).reshape(-1)
    else:
        wrong = _different_floats(a, b).reshape(-1)
    if not wrong.any():
        return None
    first = int(np.argmax(wrong))
    at = tuple(int(k) for k in np.unravel_index(first, a.shape))
    shown = f"{_flat(a)[first]!r} in place of {_flat(b)[first]!r}"
    return f"{list(at)}: {shown} ({int(wrong.sum())} of {wrong.size} differ)"


def _flat(a: np.ndarray) -> list[Any]:
    return a.reshape(-1).tolist()


def _different_floats(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    kind = _BITS[a.dtype.itemsize]
    nan = _is_nan(a) & _is_nan(b)
    return ~nan & (np.ascontiguousarray(a).view(kind) != np.ascontiguousarray(b).view(kind))


def _is_nan(a: np.ndarray) -> np.ndarray:
    wide = a.astype(np.float32) if a.dtype == ml_dtypes.bfloat16 else a
    return np.isnan(wide)
