"""Products of integers: linear layers, convolutions, transposed convolutions, matrix products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from allo.models.graph import Model, Operator, Ref, Stored
from allo.models.integers.arithmetic import Array, sum_type
from allo.models.integers.editing import array_of, listed
from allo.models.operators.convolutions import named_padding

from .endings import ended, left_float
from .values import Ending, Levels

_MATMULS = frozenset(f"aten.{name}.default" for name in ("matmul", "mm", "bmm"))
_CONVOLUTIONS = frozenset(
    {
        *(f"aten.conv{n}d.default" for n in (1, 2, 3)),
        *(f"aten.conv{n}d.padding" for n in (1, 2)),
    }
)
TRANSPOSED = frozenset({"aten.conv_transpose1d.default", "aten.conv_transpose2d.input"})
PRODUCTS = frozenset({"aten.linear.default"}) | _MATMULS | _CONVOLUTIONS | TRANSPOSED

Known = Callable[[str], Levels | None]


@dataclass(frozen=True, slots=True)
class Product:
    """A product of integers without its ending.

    Attributes:
        target: the integer operator.
        args: its operands.
        unit: what one in its sums stands for, of each channel or of all.
        bound: the largest magnitude of a sum.
        bias: floats of the channels; integers among ``args`` are added to the sums.
        less: what is subtracted from the sums of the channels, for the zero point of the input.
    """

    target: str
    args: dict[str, Any]
    unit: Array
    bound: int
    bias: Array | None = None
    less: Array | None = None

    def arguments(self, ending: Ending | None) -> dict[str, Any]:
        """All arguments of the operator; without an ending the result is float32."""
        args = {**self.args, "sums": sum_type(self.bound)}
        if ending is None:
            return args | left_float(self.unit, self.bias, self.less)
        return args | ended(ending, self.unit, self.bound, self.bias, self.less)


def product_of(model: Model, op: Operator, known: Known, depth: int) -> Product | None:
    """A product whose operands are integers; None where they are not.

    Args:
        model: the graph.
        op: the product.
        known: the integers behind a float value.
        depth: the last extent of the first operand.
    """
    if op.target in _MATMULS:
        return _matmul(op, known, depth)
    source = known(op.args["input"].name)
    stored = model.stored.get(op.args["weight"].name)
    added, given = op.args["bias"], None
    whole = model.stored.get(added.name) if isinstance(added, Ref) else None
    if added is not None and whole is None and (given := array_of(model, added)) is None:
        return None
    if source is None or stored is None:
        return None
    return _weighted(op, source, stored, given, whole)


def _matmul(op: Operator, known: Known, depth: int) -> Product | None:
    keys = ("self", "mat2" if "mat2" in op.args else "other")
    left, right = (known(op.args[key].name) for key in keys)
    if left is None or right is None:
        return None
    args: dict[str, Any] = {"self": Ref(left.name), "other": Ref(right.name)}
    args |= {"zero_left": left.grid.zero, "zero_right": right.grid.zero}
    return Product(
        "quantized.matmul",
        args,
        np.asarray(left.grid.step * right.grid.step),
        depth * _furthest(left) * _furthest(right),
    )


def _furthest(levels: Levels) -> int:
    grid = levels.grid
    return max(abs(grid.low - grid.zero), abs(grid.high - grid.zero))


def by_channel(op: Operator, weight: Array) -> Array:
    """The weights of a product, one row for each channel of its result."""
    if op.target not in TRANSPOSED:
        return np.asarray(weight.reshape(len(weight), -1))
    groups, outs = op.args["groups"], weight.shape[1]
    split = weight.reshape(groups, len(weight) // groups, outs, -1)
    return np.asarray(split.swapaxes(1, 2).reshape(groups * outs, -1))


def from_channels(op: Operator, rows: Array, shape: tuple[int, ...]) -> Array:
    """Rows of channels in the shape of the weights."""
    if op.target not in TRANSPOSED:
        return np.asarray(rows.reshape(shape))
    groups, outs = op.args["groups"], shape[1]
    split = rows.reshape(groups, outs, shape[0] // groups, -1)
    return np.ascontiguousarray(split.swapaxes(1, 2)).reshape(shape)


def _weighted(
    op: Operator, source: Levels, stored: Stored, bias: Array | None, whole: Stored | None
) -> Product | None:
    weight = stored.levels
    transposed = op.target in TRANSPOSED
    axis = 1 if transposed else 0
    scale = np.asarray(stored.scale, np.float64)
    if not source.grid.exact:
        scale = np.asarray(scale.astype(np.float32), np.float64)
    if stored.axis not in (None, axis) or (
        scale.ndim and len(scale) != len(by_channel(op, weight))
    ):
        return None
    zero = np.asarray(stored.zero, np.int64)
    if zero.any():
        shape = [len(zero) if d == axis and zero.ndim else 1 for d in range(weight.ndim)]
        weight = (weight.astype(np.int64) - zero.reshape(shape)).astype(np.int16)
    rows = by_channel(op, weight).astype(np.int64)
    level, padded = source.grid.zero, transposed
    args: dict[str, Any] = {"input": Ref(source.name), "weight": weight}
    if whole is not None:
        args["bias"] = whole.levels
    if stored.factors is not None:
        args |= {"factors": stored.factors, "factor_size": stored.size}
        spread = np.repeat(stored.factors.astype(np.int64), stored.size, 1)
        rows = rows * spread[:, : rows.shape[1]]
    if op.target != "aten.linear.default":
        args |= _window(op, weight)
        # An even window with padding="same" is padded behind the image only.
        padded = padded or op.args["padding"] == "same" or any(args["padding"])
    less = None
    if level and padded:
        args["zero_input"] = level
    elif level:
        less = rows.sum(1) * level
    bounds = np.abs(rows).sum(1) * source.grid.largest
    if whole is not None:
        bounds = bounds + np.abs(whole.levels.astype(np.int64))
    kind, unit = op.target.split(".")[1], np.asarray(scale * source.grid.step)
    return Product(f"quantized.{kind}", args, unit, int(bounds.max()), bias, less)


def _window(op: Operator, weight: Array) -> dict[str, Any]:
    """The arguments of a convolution, each a list."""
    dims = weight.ndim - 2
    given = {key: op.args[key] for key in ("stride", "dilation", "padding")}
    for key, value in given.items():
        if isinstance(value, str):
            given[key] = named_padding(value, weight.shape[2:], listed(given["dilation"], dims))
        else:
            given[key] = listed(value, dims)
    return {**given, "groups": op.args["groups"]}
