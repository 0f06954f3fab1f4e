"""Tensors that depend on no input, with the integers behind those that a quantiser gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from allo.dialects.diagnostics import ModelError

from .quantisers import QUANTISERS, Grid, grid_of
from .reading import Array, Node
from .running import run_node
from .values import Constant, compressed

_MOVES = frozenset(
    "Transpose Reshape Flatten Squeeze Unsqueeze Expand Slice Gather Tile Identity".split()
)
_WHOLE = 1 << 15


def constant_of(node: Node, operands: Sequence[Constant | None]) -> Constant:
    """The result of a node whose operands are constants."""
    arrays = [None if c is None else c.array for c in operands]
    result = run_node(node, arrays)
    if node.op in QUANTISERS:
        grid = _grid(node, arrays, result)
        if grid is None:
            return Constant(result)
        levels = grid.levels(result)
        shift = grid.offset / grid.scale
        for factor in (1, 2):  # two where levels are the bits of signs
            whole = np.rint(shift * factor)
            if np.array_equal(grid.scale * whole, grid.offset * factor * np.ones_like(whole)):
                unit = grid.scale / factor
                return Constant(result, levels * factor + whole.astype(np.int64), unit)
        return Constant(result)
    source = operands[0]
    if node.op in _MOVES and source and source.integers is not None and source.unit is not None:
        rest = arrays[1:]
        moved = run_node(node, [source.integers.astype(np.float32), *rest])
        units = np.broadcast_to(source.unit, source.array.shape).astype(np.float32)
        return Constant(
            result,
            moved.astype(np.int64),
            compressed(run_node(node, [units, *rest])).astype(np.float64),
        )
    return Constant(result)


def _grid(node: Node, arrays: Sequence[Array | None], result: Array) -> Grid | None:
    """The grid of a constant; None where its levels, as of a bias of 32 bits, are more than float32 holds."""
    try:
        return grid_of(node, arrays, result.ndim)
    except ModelError:
        if np.all(np.isfinite(result)):
            return None
        raise


def with_integers(constant: Constant) -> Constant:
    """A constant of whole numbers has itself as integers."""
    array = constant.array
    if constant.integers is not None or array.dtype.kind not in "fiu":
        return constant
    if np.abs(array).max(initial=0) >= _WHOLE or not np.array_equal(array, np.rint(array)):
        return constant
    return Constant(array, array.astype(np.int64), np.ones((1,) * array.ndim))


def shape_constant(node: Node, shapes: Mapping[str, tuple[int, ...]]) -> Array | None:
    """The result of a ``Shape`` or ``Size`` node, which depends on no element."""
    shape = shapes.get(node.inputs[0]) if node.inputs else None
    if shape is None or node.op not in ("Shape", "Size"):
        return None
    if node.op == "Size":
        return np.asarray(int(np.prod(shape)), np.int64)
    start, end = node.attributes.get("start", 0), node.attributes.get("end")
    return np.asarray(shape[start:end], np.int64)
