"""Functions of levels as thresholds and tables: found with the executor's own arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from .quantisers import Grid
from .reading import Array
from .running import run_node
from .values import Floats, Function, Levels, Step, type_of

WHOLE = 1 << 22
"""Elements of a table that is computed whole; a function of more is searched by halving."""
_F32 = np.float32


@dataclass(frozen=True, slots=True)
class Thresholds:
    """``first`` plus the number of thresholds that are reached; where it falls, of those that are not.

    Attributes:
        axes: along which the thresholds differ.
        table: ``[*axes, thresholds]``, rising, padded to one less than a power of two.
        count: thresholds, without the padding.
        first: the lowest level.
        falling: ``[*axes]``, or ``[1]`` where there are none, 1 where the function falls; None where it
            falls nowhere.
        dtype: the type that holds the table.
    """

    axes: tuple[int, ...]
    table: Array
    count: int
    first: int
    falling: Array | None
    dtype: str


@dataclass(frozen=True, slots=True)
class Table:
    """Values of all levels.

    Attributes:
        axes: along which they differ.
        table: ``[*axes, levels]``.
    """

    axes: tuple[int, ...]
    table: Array


def extents(function: Function) -> tuple[int, ...]:
    """For each axis but the first, its extent where the function differs along it, else 1."""
    shape = function.shape
    varying = [1] * len(shape)
    arrays: list[tuple[Array, int | None]] = []
    if function.start:
        arrays += [(function.start.scale, None), (function.start.offset, None)]
    for step in function.steps:
        for a in step.others:
            if isinstance(a, Function):
                varying[1:] = map(max, varying[1:], extents(a))
            elif a is not None:
                arrays.append((a, step.channel))
    for array, channel in arrays:
        if channel is not None:
            if array.ndim and array.shape[0] > 1:
                varying[channel] = shape[channel]
            continue
        for back in range(1, min(array.ndim, len(shape)) + 1):
            if array.shape[-back] > 1 and _varies(array, -back):
                varying[-back] = shape[-back]
    return tuple(varying[1:])


def _varies(array: Array, axis: int) -> bool:
    first = array.take([0], axis)
    return not np.array_equal(array, np.broadcast_to(first, array.shape))


def evaluate(function: Function, samples: Array) -> Array:
    """What the executor computes, in float32.

    Args:
        function: of ``samples``.
        samples: levels, or float32; the first axis is free, the others have :func:`extents`.
    """
    if function.start:
        real = samples.astype(np.float64) * function.start.scale + function.start.offset
        x = np.asarray(real, _F32)
    else:
        x = np.asarray(samples, _F32)
    for step in function.steps:
        given = [_operand(a, step, x.shape, samples) for a in step.others]
        given[step.place] = x
        x = np.asarray(run_node(step.node, given))
        x = x.astype(_F32) if x.dtype != _F32 else x
    return x


def _operand(
    other: Array | Function | None, step: Step, shape: tuple[int, ...], samples: Array
) -> Array | None:
    if isinstance(other, Function):
        return evaluate(other, samples)
    return None if other is None else _reduced(other, step, shape)


def _reduced(array: Array, step: Step, shape: tuple[int, ...]) -> Array:
    """A parameter with an extent of 1 where the samples have one."""
    if step.channel is not None:
        return array[:1] if shape[step.channel] == 1 and array.ndim else array
    for back in range(1, min(array.ndim, len(shape)) + 1):
        if array.shape[-back] > 1 and shape[-back] == 1:
            array = array.take([0], -back)
    return array


def every(of: Levels, ext: tuple[int, ...]) -> Array:
    """All levels, along the first axis."""
    levels = np.arange(of.low, of.high + 1, dtype=np.int64)
    return np.broadcast_to(levels.reshape(-1, *(1,) * len(ext)), (levels.size, *ext))


def cells(function: Function, of: Levels) -> int:
    """How many elements a table of all levels has."""
    return (of.high - of.low + 1) * prod(extents(function))


def table_of(function: Function, of: Levels) -> Table:
    """The float32 values of all levels, which the function is of."""
    ext = extents(function)
    values = np.broadcast_to(evaluate(function, every(of, ext)), (of.high - of.low + 1, *ext))
    return _packed(values, ext)


def _packed(values: Array, ext: tuple[int, ...]) -> Table:
    axes = tuple(k + 1 for k, extent in enumerate(ext) if extent > 1)
    kept = [values.shape[0], *(extent for extent in ext if extent > 1)]
    return Table(axes, np.ascontiguousarray(np.moveaxis(values.reshape(kept), 0, -1)))


def quantised(function: Function, grid: Grid) -> Thresholds | Table | None:
    """A function that ends in a quantiser, as thresholds or a table of levels; None where it is neither.

    Where the grid has values, the levels are their numbers.
    """
    ext = extents(function)
    of = function.of

    def levels(samples: Array) -> Array:
        floats = np.broadcast_to(evaluate(function, samples), samples.shape)
        if isinstance(of, Floats):  # where the executor overflows to no number, the bound beside it
            floats = np.where(np.isnan(floats), np.where(samples > 0, np.inf, -np.inf), floats)
        found = grid.levels(floats)
        return found if grid.values is None else np.searchsorted(grid.values, found)

    if isinstance(of, Levels) and cells(function, of) <= WHOLE:
        values = levels(every(of, ext))
        steps = np.diff(values, axis=0)
        rises, falls = (steps >= 0).all(0), (steps <= 0).all(0)
        if not (rises | falls).all():
            return _packed(values, ext)
        return _as_thresholds(values, of, ext, falls & ~rises)
    if not function.monotone:
        return None
    return _searched(function, levels, ext)


def _as_thresholds(
    values: Array, of: Levels, ext: tuple[int, ...], falling: Array
) -> Thresholds | Table:
    first, last = int(values.min()), int(values.max())
    count = last - first
    found = _packed(values, ext)
    narrow = int(type_of(first, last).strip("uint"))
    wide = int(type_of(of.low, of.high + 1).strip("uint"))
    if count == 0 or found.table.shape[-1] * narrow <= count * wide:
        return found
    reached = np.where(falling, last - values, values - first)
    table = np.empty((count, *ext), np.int64)
    for k in range(count):
        hit = reached > k
        table[k] = np.where(hit.any(0), of.low + hit.argmax(0), of.high + 1)
    return _padded(table, ext, falling, first, of.high + 1, type_of(of.low, of.high + 1))


def _padded(
    table: Array, ext: tuple[int, ...], falling: Array, first: int, beyond: float, dtype: str
) -> Thresholds:
    count = len(table)
    room = (1 << count.bit_length()) - 1
    rest = np.full((room - count, *ext), beyond, table.dtype)
    packed = _packed(np.concatenate([table, rest]), ext)
    flags = None
    if falling.any():
        kept = [extent for extent in ext if extent > 1] or [1]
        flags = falling.astype(np.uint8).reshape(kept)
    return Thresholds(packed.axes, packed.table, count, first, flags, dtype)


def _searched(
    function: Function, levels: Callable[[Array], Array], ext: tuple[int, ...]
) -> Thresholds | Table:
    """Thresholds by halving the range; the function rises or falls throughout."""
    of = function.of
    if isinstance(of, Floats):
        low, high = _key(np.array([-np.inf, np.inf], _F32))
        low, high = int(low) + 1, int(high) - 1  # the finite ones

    else:
        low, high = of.low, of.high

    def at(keys: Array) -> Array:
        return levels(_of_key(keys) if isinstance(of, Floats) else keys)

    ends = np.broadcast_to(np.array([low, high], np.int64).reshape(2, *(1,) * len(ext)), (2, *ext))
    edges = at(ends)
    first, last = int(edges.min()), int(edges.max())
    count = last - first
    falling = np.asarray(edges[0] > edges[1])
    if count == 0:
        return Table((), np.full((1,), first))
    wanted = np.arange(1, count + 1).reshape(-1, *(1,) * len(ext))
    below = np.full((count, *ext), low - 1, np.int64)
    above = np.full((count, *ext), high + 1, np.int64)
    while True:
        middle = (below + above) // 2
        open_ = above - below > 1
        if not open_.any():
            break
        found = at(np.clip(middle, low, high))
        reached = np.where(falling, last - found, found - first) >= wanted
        above = np.where(open_ & reached, middle, above)
        below = np.where(open_ & ~reached, middle, below)
    if isinstance(of, Floats):
        floats = np.where(above > high, _F32(np.inf), _of_key(np.minimum(above, high)))
        return _padded(floats.astype(_F32), ext, falling, first, np.inf, "float32")
    return _padded(above, ext, falling, first, of.high + 1, type_of(of.low, of.high + 1))


def _key(floats: Array) -> Array:
    """Integers in the order of floats."""
    bits = floats.astype(_F32).view(np.int32).astype(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFFFFFF))


def _of_key(keys: Array) -> Array:
    """The floats of such integers."""
    bits = np.where(keys >= 0, keys, (-keys) | 0x80000000)
    return bits.astype(np.uint32).view(_F32)
