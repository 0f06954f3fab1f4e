"""The integer graph in NumPy: every bit of what the kernels compute, from code of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Model, Operator
from .arithmetic import Array
from .editing import listed, resolved
from .floats import FLOAT_OPERATORS, ROUND
from .levels import LEVELS, decoded
from .trees import REFERENCE as TREES

Arguments = dict[str, Any]


class Reference:
    """Runs an integer graph on NumPy arrays.

    Args:
        model: the graph.
        otherwise: computes the operators that have no exact form here, such as a softmax over another
            element type; None where there are none.
    """

    def __init__(
        self, model: Model, otherwise: Callable[[Operator, dict[str, Any]], Any] | None = None
    ) -> None:
        self.model = model
        self.otherwise = otherwise
        self.fixed = {name: array for name, (_, array) in model.weights.items()} | model.constants

    def __call__(self, *inputs: Array) -> list[Array]:
        """The results of one call."""
        values: dict[str, Any] = {**self.fixed}
        values |= dict(zip(self.model.inputs, map(np.asarray, inputs), strict=True))
        for op in self.model.operators:
            values[op.name] = self.result(op, values)
        return [np.asarray(values[name]) for name in self.model.outputs]

    def result(self, op: Operator, values: dict[str, Any]) -> Any:
        """The result of one operator, from the values before it."""
        if self.otherwise and op.target not in OPERATORS:
            return self.otherwise(op, values)
        args = {name: resolved(value, values) for name, value in op.args.items()}
        return OPERATORS[op.target](args, op)


# --- sums of integers -----------------------------------------------------------------------------


def _wide(array: Array) -> Array:
    return np.asarray(array).astype(np.int64)


def _requantised(scaled: Array, args: Arguments, op: Operator) -> Array:
    """Integers of sums times their multipliers; halves are rounded up, or to even."""
    shift = args["shift"]
    if args.get("ties") == "even":
        levels = scaled >> shift
        rest, half = scaled - (levels << shift), 1 << (shift - 1)
        levels = levels + ((rest > half) | ((rest == half) & (levels % 2 == 1)))
    else:
        levels = (scaled + (1 << (shift - 1))) >> shift
    levels = np.clip(levels + args.get("zero", 0), args.get("low", -128), args.get("high", 127))
    return np.asarray(levels, op.metas[0].dtype if op.metas[0] else np.int8)


def _ended(sums: Array, args: Arguments, shape: Sequence[int], op: Operator) -> Array:
    """Integers or float32 of sums; factors of channels are given this shape."""
    if op.target.startswith("levels."):  # the sum itself
        return sums
    if "scale" in args:
        scale = np.asarray(args["scale"], np.float32).reshape(shape)
        result: Array = sums.astype(np.float32) * scale
        if args.get("offset") is not None:
            result = result + np.asarray(args["offset"], np.float32).reshape(shape)
        return result
    scaled = sums * _wide(args["multiplier"]).reshape(shape)
    if args.get("addend") is not None:
        scaled = scaled + _wide(args["addend"]).reshape(shape)
    return _requantised(scaled, args, op)


def _biased(sums: Array, args: Arguments, shape: Sequence[int]) -> Array:
    whole = _wide(sums)
    return whole if args.get("bias") is None else whole + _wide(args["bias"]).reshape(shape)


def _less_zero(args: Arguments, key: str, zero: str) -> Array:
    return np.asarray(args[key].astype(np.float64) - args.get(zero, 0))


def _weights(args: Arguments) -> Array:
    """Weights times the factors of their groups, ``[channel, place]``, in float64."""
    rows = args["weight"].reshape(len(args["weight"]), -1).astype(np.float64)
    if args.get("factors") is None:
        return np.asarray(rows)
    factors = np.repeat(args["factors"].astype(np.float64), args["factor_size"], 1)
    return np.asarray(rows * factors[:, : rows.shape[1]])


def _linear(args: Arguments, op: Operator) -> Array:
    # Sums stay below 2 ** 53, so float64 is exact, and far faster than int64.
    sums = args["input"].astype(np.float64) @ _weights(args).T
    return _ended(_biased(sums, args, (-1,)), args, (-1,), op)


def _matmul(args: Arguments, op: Operator) -> Array:
    left, right = _less_zero(args, "self", "zero_left"), _less_zero(args, "other", "zero_right")
    return _ended(_wide(np.matmul(left, right)), args, (), op)


def _convolution(args: Arguments, op: Operator) -> Array:
    source, weight = _less_zero(args, "input", "zero_input"), args["weight"]
    dims = weight.ndim - 2
    image = source if source.ndim == dims + 2 else source[None]
    groups, outs = args["groups"], len(weight) // args["groups"]
    result_shape = _shape(op)[-dims:]
    # What padding="same" adds behind an even window is one more than before it.
    needed = [
        (n - 1) * s + d * (k - 1) + 1
        for n, s, d, k in zip(
            result_shape, args["stride"], args["dilation"], weight.shape[2:], strict=True
        )
    ]
    pads = [
        (p, max(0, total - size - p))
        for p, total, size in zip(args["padding"], needed, image.shape[2:], strict=True)
    ]
    padded = np.pad(image, [(0, 0), (0, 0), *pads])
    rows = _weights(args).reshape(groups, outs, *weight.shape[1:])
    parts = np.split(padded, groups, 1)
    sums = np.zeros((len(image), groups, outs, *result_shape))
    for place in np.ndindex(*weight.shape[2:]):
        window = tuple(
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(
                place, args["dilation"], result_shape, args["stride"], strict=True
            )
        )
        for g, part in enumerate(parts):
            taken = part[(slice(None), slice(None), *window)]
            sums[:, g] += np.einsum(
                "bc...,oc->bo...", taken, rows[(g, slice(None), slice(None), *place)]
            )
    whole = sums.reshape(len(image), groups * outs, *result_shape)
    each = (-1, *[1] * dims)
    return _ended(_biased(whole, args, each), args, each, op).reshape(_shape(op))


def _transposed(args: Arguments, op: Operator) -> Array:
    """Each element of the image times its window, added where the window lies."""
    source, weight = _less_zero(args, "input", "zero_input"), args["weight"].astype(np.float64)
    dims = weight.ndim - 2
    image = source if source.ndim == dims + 2 else source[None]
    groups, outs = args["groups"], weight.shape[1]
    strides, pads, dilations = (listed(args[k], dims) for k in ("stride", "padding", "dilation"))
    shape = _shape(op)[-dims:]
    spans = [
        max((n - 1) * s + d * (k - 1) + 1, p + r)
        for n, s, d, k, p, r in zip(
            image.shape[2:], strides, dilations, weight.shape[2:], pads, shape, strict=True
        )
    ]
    whole = np.zeros((len(image), groups, outs, *spans))
    parts, rows = np.split(image, groups, 1), np.split(weight, groups, 0)
    for place in np.ndindex(*weight.shape[2:]):
        window = tuple(
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(place, dilations, image.shape[2:], strides, strict=True)
        )
        for g in range(groups):
            taken = np.einsum(
                "bc...,co->bo...", parts[g], rows[g][(slice(None), slice(None), *place)]
            )
            whole[:, g][(slice(None), slice(None), *window)] += taken
    cut = tuple(slice(p, p + r) for p, r in zip(pads, shape, strict=True))
    around: tuple[Any, ...] = (..., *cut)
    sums = whole[around].reshape(len(image), groups * outs, *shape)
    each = (-1, *[1] * dims)
    return _ended(_biased(sums, args, each), args, each, op).reshape(_shape(op))


def _quantize(args: Arguments, op: Operator) -> Array:
    scaled = args["input"].astype(np.float32) * np.float32(args["inverse"])
    clamped = np.minimum(np.maximum(scaled, np.float32(-128)), np.float32(127))
    return np.asarray((clamped + ROUND) - ROUND).astype(np.int8)


def _dequantize(args: Arguments, op: Operator) -> Array:
    return np.asarray(args["input"].astype(np.float32) * np.float32(args["scale"]))


def _lookup(args: Arguments, op: Operator) -> Array:
    return np.asarray(args["table"][args["input"].astype(np.int64) + args.get("offset", 128)])


def _add(args: Arguments, op: Operator) -> Array:
    sums = _wide(args["self"]) * args["first"] + _wide(args["other"]) * args["second"]
    return _requantised(sums + args.get("addend", 0), args, op)


def _mul(args: Arguments, op: Operator) -> Array:
    left, right = _less_zero(args, "self", "zero_left"), _less_zero(args, "other", "zero_right")
    return _requantised(_wide(left) * _wide(right) * args["multiplier"], args, op)


def _rescale(args: Arguments, op: Operator) -> Array:
    return _requantised(_wide(args["input"]) * args["multiplier"], args, op)


def _windows(args: Arguments, op: Operator, fill: float) -> Array:
    """The windows of a pool, behind the dimensions of its result."""
    found = re.search(r"(\d)d", op.target)
    dims = int(found[1]) if found else len(args["kernel_size"])
    sizes, pads = listed(args["kernel_size"], dims), listed(args["padding"], dims)
    strides = listed(args["stride"], dims) if args["stride"] else sizes
    dilations = listed(args.get("dilation", 1), dims)
    shape = _shape(op)[-dims:]
    source = args["self"]
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, sizes, strict=True)]
    behind = [
        max(0, (n - 1) * s + span - size - p)
        for n, s, span, size, p in zip(
            shape, strides, spans, source.shape[-dims:], pads, strict=True
        )
    ]
    around = [(0, 0)] * (source.ndim - dims) + list(zip(pads, behind, strict=True))
    padded = np.pad(source, around, constant_values=fill)
    taken = []
    for place in np.ndindex(*sizes):
        window: list[Any] = [
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(place, dilations, shape, strides, strict=True)
        ]
        taken.append(padded[(..., *window)])
    return np.stack(taken, -1)


def _shape(op: Operator) -> tuple[int, ...]:
    return op.metas[0].shape if op.metas[0] else ()


def _max_pool(args: Arguments, op: Operator) -> Array:
    kind = args["self"].dtype
    lowest = np.iinfo(kind).min if kind.kind in "iu" else -np.inf
    return np.asarray(_windows(args, op, lowest).max(-1))


def _avg_pool(args: Arguments, op: Operator) -> Array:
    taken = {**args, "self": _wide(args["self"]) - args.get("zero_input", 0)}
    sums = _windows(taken, op, 0).sum(-1)
    return _requantised(sums * args["multiplier"] + args.get("addend", 0), args, op)


def _mean(args: Arguments, op: Operator) -> Array:
    sums = _wide(args["self"]).sum(tuple(args["dim"])).reshape(_shape(op))
    return _requantised(sums * args["multiplier"] + args.get("addend", 0), args, op)


OPERATORS: dict[str, Callable[[Arguments, Operator], Any]] = {
    **FLOAT_OPERATORS,
    "quantized.linear": _linear,
    "quantized.matmul": _matmul,
    **{f"quantized.conv{n}d": _convolution for n in (1, 2, 3)},
    **{f"quantized.conv_transpose{n}d": _transposed for n in (1, 2)},
    "quantized.quantize": _quantize,
    "quantized.dequantize": _dequantize,
    "quantized.lookup": _lookup,
    "quantized.add": _add,
    "quantized.mul": _mul,
    "quantized.rescale": _rescale,
    "quantized.avg_pool": _avg_pool,
    "quantized.mean": _mean,
    **{f"aten.max_pool{n}d.default": _max_pool for n in (1, 2, 3)},
    **LEVELS,
    **TREES,
    "levels.matmul": lambda args, op: _matmul(decoded(args), op),
    **{f"levels.conv{n}d": lambda args, op: _convolution(decoded(args), op) for n in (1, 2)},
    **{
        f"levels.conv_transpose{n}d": lambda args, op: _transposed(decoded(args), op)
        for n in (1, 2)
    },
    "levels.sum_pool": lambda args, op: _windows(args, op, 0).sum(-1),
}
