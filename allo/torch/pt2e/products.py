"""Products of integers: linear layers, convolutions, transposed convolutions, matrix products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph import Model, Operator, Ref, Stored
from ..integers.arithmetic import Array, sum_type
from ..integers.editing import array_of
from ..operators.convolutions import named_padding
from .endings import ended, left_float
from .values import Ending, Levels

_MATMULS = frozenset(f"aten.{name}.default" for name in ("matmul", "mm", "bmm"))
_CONVOLUTIONS = frozenset(
    {
        *(f"aten.conv{n}d.default" for n in (1, 2, 3)),
        *(f"aten.conv{n}d.padding" for n in (1, 2)),
    }
)
_TRANSPOSED = frozenset({"aten.conv_transpose1d.default", "aten.conv_transpose2d.input"})
PRODUCTS = frozenset({"aten.linear.default"}) | _MATMULS | _CONVOLUTIONS | _TRANSPOSED

Known = Callable[[str], Levels | None]


@dataclass(frozen=True, slots=True)
class Product:
    """A product of integers without its ending.

    Attributes:
        target: the integer operator.
        args: its operands.
        unit: what one in its sums stands for, of each channel or of all.
        bound: the largest magnitude of a sum.
        bias: floats of the channels.
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
    bias = array_of(model, op.args["bias"])
    if source is None or stored is None or (bias is None and op.args["bias"] is not None):
        return None
    return _weighted(op, source, stored, bias)


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
        depth * _largest(left) * _largest(right),
    )


def _largest(levels: Levels) -> int:
    grid = levels.grid
    return max(abs(grid.low - grid.zero), abs(grid.high - grid.zero))


def _weighted(op: Operator, source: Levels, stored: Stored, bias: Array | None) -> Product | None:
    weight = stored.levels
    transposed = op.target in _TRANSPOSED
    axis = 1 if transposed else 0
    channels = weight.shape[axis]
    if transposed and op.args["groups"] > 1 and stored.axis is not None:
        return None
    if stored.axis not in (None, axis):
        return None
    scale = np.asarray(np.float32(stored.scale), np.float64)
    zero = np.asarray(stored.zero, np.int64)
    if zero.any():
        shape = [channels if d == axis and zero.ndim else 1 for d in range(weight.ndim)]
        weight = (weight.astype(np.int64) - zero.reshape(shape)).astype(np.int16)
    rows = np.moveaxis(weight, axis, 0).reshape(channels, -1).astype(np.int64)
    level, padded = source.grid.zero, transposed
    args: dict[str, Any] = {"input": Ref(source.name), "weight": weight}
    if op.target != "aten.linear.default":
        args |= _window(op, weight)
        # An even window with padding="same" is padded behind the image only.
        padded = padded or op.args["padding"] == "same" or any(args["padding"])
    less = None
    if level and padded:
        args["zero_input"] = level
    elif level:
        less = rows.sum(1) * level
    magnitudes = np.abs(rows).sum(1)
    most = max(_largest(source), 1 << source.grid.bits)
    kind, unit = op.target.split(".")[1], np.asarray(scale * source.grid.step)
    return Product(f"quantized.{kind}", args, unit, int(magnitudes.max()) * most, bias, less)


def _window(op: Operator, weight: Array) -> dict[str, Any]:
    """The arguments of a convolution, each a list."""
    dims = weight.ndim - 2
    listed = {key: op.args[key] for key in ("stride", "dilation", "padding")}
    for key, value in listed.items():
        if isinstance(value, str):
            listed[key] = named_padding(value, weight.shape[2:], _each(listed["dilation"], dims))
        else:
            listed[key] = _each(value, dims)
    return {**listed, "groups": op.args["groups"]}


def _each(value: Any, count: int) -> list[int]:
    whole = list(value) if isinstance(value, (list, tuple)) else [value]
    return whole * count if len(whole) == 1 else whole
