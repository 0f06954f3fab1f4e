"""Levels in NumPy: what ``allo.models.operators.levels`` computes, from code of its own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from allo.dialects.rounding import quantised

from ..graph import Operator
from .arithmetic import Array

Arguments = dict[str, Any]

_DECODED = {"self": "zero_left", "other": "zero_right", "input": "zero_input"}


def decoded(args: Arguments) -> Arguments:
    """Operands as the integers that their levels stand for; of two signs, as a half of their product."""
    if args.get("agreeing"):  # a ^ b ^ 1 = ((2a - 1)(2b - 1) + 1) / 2: exact halves in float64
        left, right = (args[key].astype(np.float64) for key in ("self", "other"))
        # Sums of (2a - 1)(b - 1/2) + 1/2: the half is carried by one more row and column of ones.
        left = np.concatenate([2 * left - 1, np.ones((*left.shape[:-1], 1))], -1)
        depth = right.shape[-2]
        halves = np.full((*right.shape[:-2], 1, right.shape[-1]), depth / 2)
        right = np.concatenate([right - 0.5, halves], -2)
        return {**args, "self": left, "other": right, "zero_left": 0, "zero_right": 0}
    found = dict(args)
    if args.get("signs"):
        found["weight"] = args["weight"].astype(np.int64) * 2 - 1
    for name, key in _DECODED.items():
        if key in args:
            factor, shift, _ = args[key]
            found[name] = args[name].astype(np.int64) * factor + shift
            found[key] = 0
    return found


def _whole(array: Array, op: Operator) -> Array:
    meta = op.metas[0]
    kind = meta.dtype if meta else "int64"
    return array.astype(np.float32) if kind == "float32" else array.astype(np.int64)


def _spread(array: Any, args: Arguments, rank: int, extra: int = 0) -> Array:
    """Parameters of the varying axes, with an extent of 1 along the others."""
    shape, given = [1] * rank, np.shape(array)
    for k, axis in enumerate(args["axes"]):
        shape[axis] = given[k]
    return np.asarray(array).reshape(*shape, *given[len(given) - extra :])


def _thresholds(args: Arguments, op: Operator) -> Array:
    x = args["input"]
    table = _spread(args["table"][..., : args["count"]], args, x.ndim, 1)
    reached = np.zeros(x.shape, np.int64)
    for k in range(args["count"]):
        reached += x >= table[..., k]
    if args.get("falling") is not None:
        falls = _spread(args["falling"], args, x.ndim)
        reached = np.where(falls == 1, args["count"] - reached, reached)
    return _whole(reached + args["first"], op)


def _table(args: Arguments, op: Operator) -> Array:
    x = args["input"].astype(np.int64) - args["low"]
    table = np.broadcast_to(
        _spread(args["table"], args, x.ndim, 1), (*x.shape, args["table"].shape[-1])
    )
    return _whole(np.take_along_axis(table, x[..., None], -1)[..., 0], op)


def _lookup(args: Arguments, op: Operator) -> Array:
    read = args["self"].astype(np.int64)[:, args["places"]] - args["low"]
    address = (read << (np.arange(read.shape[-1]) * args["bits"])).sum(-1)
    rows = np.arange(len(args["table"]))
    return _whole(args["table"][rows, address], op)


def _dense(args: Arguments, op: Operator) -> Array:
    weights = args["other"].astype(np.int64)
    if "zero_right" in args:
        weights = weights * args["zero_right"][0] + args["zero_right"][1]
    total = args["self"].astype(np.int64) @ weights + args["addends"].astype(np.int64)
    levels = total >> args["shift"]
    if args["even"]:
        levels -= (levels & 1) * (total == levels << args["shift"])
    return _whole(np.clip(levels, args["low"], args["high"]), op)


def _scaled(args: Arguments, op: Operator) -> Array:
    x = args["input"].astype(np.float32)
    parts = []
    for key in ("scale", "offset"):
        value = args[key]
        parts.append(_spread(value, args, x.ndim) if np.ndim(value) else np.float32(value))
    return np.asarray(x * np.float32(parts[0]) + np.float32(parts[1]), np.float32)


def _add(args: Arguments, op: Operator) -> Array:
    left, right = (args[key].astype(np.int64) for key in ("self", "other"))
    return np.asarray(left * args["first"] + right * args["second"])


def _product(args: Arguments, op: Operator) -> Array:
    found = decoded(args)
    return np.asarray(found["self"].astype(np.int64) * found["other"].astype(np.int64))


def _sum(args: Arguments, op: Operator) -> Array:
    return np.asarray(
        args["self"].astype(np.int64).sum(tuple(args["dim"]), keepdims=args["keepdim"])
    )


def _bits(args: Arguments, op: Operator) -> Array:
    """Fixed point as users give it, in floats: what the boundary makes of each."""
    x = args["input"]
    raw = [quantised(Fraction(float(v)), args["type"], is_float=True) for v in x.reshape(-1)]
    return np.array(raw, np.int64).reshape(x.shape)


def _shift(args: Arguments, op: Operator) -> Array:
    return np.asarray(args["input"].astype(np.int64) >> args["count"])


def _im2col(args: Arguments, op: Operator) -> Array:
    """The windows of each place, rows before columns before channels."""
    shape = op.metas[0].shape if op.metas[0] else ()
    height, width = shape[1:3]
    span = (
        max(args["self"].shape[1:3]) + max(shape) + 1
    )  # more than any window needs behind the image
    top, left = args["padding"]
    around = ((0, 0), (top, span), (left, span), (0, 0))
    x = np.pad(args["self"], around, constant_values=args["value"])
    taken = []
    (down, right), (row, column) = args["stride"], args["dilation"]
    for i, j in np.ndindex(*args["kernel_size"]):
        rows, columns = i * row + down * np.arange(height), j * column + right * np.arange(width)
        taken.append(x[:, rows][:, :, columns])
    return np.concatenate(taken, -1)


LEVELS: dict[str, Callable[[Arguments, Operator], Any]] = {
    "levels.thresholds": _thresholds,
    "levels.table": _table,
    "levels.lookup": _lookup,
    "levels.dense": _dense,
    "levels.scaled": _scaled,
    "levels.add": _add,
    "levels.mul": _product,
    "levels.sum": _sum,
    "levels.bits": _bits,
    "levels.shift": _shift,
    "levels.im2col": _im2col,
}
