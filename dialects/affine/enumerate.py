"""Dependence distances by enumeration, for nests whose flattened number is not affine (triangles)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._mlir import ir
from .maps import BoundMap, evaluate
from .ranges import Unknown

if TYPE_CHECKING:
    from .distance import AccessPoint
    from .loops import LoopSpec

Columns = dict[ir.Value, NDArray[np.int64]]


def enumerated_distance(
    specs: Sequence[LoopSpec],
    ivs: Sequence[ir.Value],
    a: AccessPoint,
    b: AccessPoint,
    *,
    least: int,
    limit: int,
) -> Any:
    """The least flattened distance of ``b`` after ``a``, None for no dependence.

    Returns ``NotImplemented`` when the nest has too many iterations or bounds from outside.
    """
    columns = _iterations(specs, ivs, limit)
    if columns is None:
        return NotImplemented
    total = len(next(iter(columns.values())))
    numbers = np.arange(total, dtype=np.int64)
    try:
        times_a, elements_a = _touched(a, columns, numbers, ivs)
        times_b, elements_b = _touched(b, columns, numbers, ivs)
    except Unknown:
        return NotImplemented
    return _least(times_a, elements_a, times_b, elements_b, least)


def _iterations(specs: Sequence[LoopSpec], ivs: Sequence[ir.Value], limit: int) -> Columns | None:
    columns: Columns = {}
    total = 1
    for spec, iv in zip(specs, ivs, strict=True):
        try:
            low = np.max([_values(spec.lower, k, columns, total) for k in _results(spec.lower)], 0)
            high = np.min([_values(spec.upper, k, columns, total) for k in _results(spec.upper)], 0)
        except Unknown:
            return None
        counts = np.maximum(0, -((low - high) // spec.step))
        total = int(counts.sum())
        if total > limit or total == 0:
            return None
        parents = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        columns = {value: column[parents] for value, column in columns.items()}
        columns[iv] = low[parents] + within * spec.step
    return columns


def _results(bound: BoundMap) -> range:
    return range(len(bound.map.results))


def _values(bound: BoundMap, number: int, columns: Columns, total: int) -> NDArray[np.int64]:
    if bound.map.n_symbols or any(v not in columns for v in bound.dims):
        raise Unknown
    value: Any = evaluate(bound.map.results[number], [columns[v] for v in bound.dims])  # type: ignore[misc]
    return np.broadcast_to(np.asarray(value, dtype=np.int64), (total,))


def _touched(
    point: AccessPoint, columns: Columns, numbers: NDArray[np.int64], ivs: Sequence[ir.Value]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if point.subscripts is None:
        raise Unknown
    total = len(numbers)
    runs = np.ones(total, dtype=bool)
    depth = len(ivs) - len(point.first or point.last)
    if point.first or point.last:
        runs &= _boundary(columns, ivs[:depth], last=bool(point.last))
    for bound, equal in point.conditions:
        value = _values(bound, 0, columns, total)
        runs &= (value == 0) if equal else (value >= 0)
    rows = [_values(point.subscripts, k, columns, total) for k in _results(point.subscripts)]
    element = np.stack(rows, 1) if rows else np.zeros((total, 0), dtype=np.int64)
    return numbers[runs], element[runs]


def _boundary(columns: Columns, outer: Sequence[ir.Value], *, last: bool) -> NDArray[np.bool_]:
    """Where the outer iteration begins (or ends)."""
    total = len(next(iter(columns.values())))
    change = np.zeros(total - 1, dtype=bool)
    for value in outer:
        change |= np.diff(columns[value]) != 0
    edge = np.ones(1, dtype=bool)
    return np.concatenate([change, edge]) if last else np.concatenate([edge, change])


def _least(
    times_a: NDArray[np.int64],
    elements_a: NDArray[np.int64],
    times_b: NDArray[np.int64],
    elements_b: NDArray[np.int64],
    least: int,
) -> int | None:
    if not len(times_a) or not len(times_b):
        return None
    both = np.concatenate([elements_a, elements_b])
    ids = (
        np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
        if both.shape[1]
        else np.zeros(len(both), dtype=np.int64)
    )
    span = int(max(times_a[-1], times_b[-1])) + least + 2
    keys_a = np.sort(ids[: len(times_a)] * span + times_a)
    keys_b = np.sort(ids[len(times_a) :] * span + times_b)
    # For each run of a the first run of b on the element, at least `least` iterations later.
    found = np.searchsorted(keys_b, keys_a + least)
    inside = found < len(keys_b)
    gaps = keys_b[found[inside]] - keys_a[inside]
    same = keys_b[found[inside]] // span == keys_a[inside] // span
    return int(gaps[same].min()) if same.any() else None
