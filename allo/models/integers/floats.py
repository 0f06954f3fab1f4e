"""What stays float32 in a quantised model, in NumPy: each operation in the kernels' order and rounding.

Views and other operators that only move elements are here too; they take any element type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from allo import bitexact

from ..graph import Operator
from .arithmetic import Array

Arguments = dict[str, Any]
_PT2E = "quantized_decomposed"
_FORMS = ("tensor.default", "tensor.tensor", "channel.default")
F32 = np.float32
ROUND = F32(12582912.0)
"""1.5 · 2²³: added and subtracted, it rounds a small float32 to a whole number, halves to even."""


def _shape(op: Operator) -> tuple[int, ...]:
    return op.metas[0].shape if op.metas[0] else ()


def _single(value: Any) -> Any:
    """An operand in float32: a tensor of any type, or a number."""
    return np.asarray(value).astype(F32)


def _second(args: Arguments) -> Any:
    alpha = args.get("alpha", 1)
    return _single(args["other"]) if alpha == 1 else F32(alpha) * _single(args["other"])


def _total(x: Array) -> Array:
    """The sum over the last dimension, one element after the other, which stays."""
    start = np.zeros((*x.shape[:-1], 1), F32)
    sums = np.add.accumulate(np.concatenate([start, x], -1), axis=-1, dtype=F32)
    return np.asarray(sums[..., -1:])


def _normalised(rows: Array, eps: float | None, *, centred: bool) -> Array:
    """Each row, less its mean where it is centred, over the root of its mean square."""
    size = F32(rows.shape[-1])
    if centred:
        rows = rows - _total(rows) / size
    least = F32(np.finfo(F32).eps if eps is None else eps)
    variance = _total(rows * rows) / size + least
    return np.asarray(rows * (F32(1.0) / np.sqrt(variance)))


def _norm(args: Arguments, op: Operator, *, centred: bool) -> Array:
    x = args["input"].astype(F32)
    inner = args["normalized_shape"]
    rows = x.reshape(*x.shape[: x.ndim - len(inner)], -1)
    result = _normalised(rows, args["eps"], centred=centred).reshape(x.shape)
    if args.get("weight") is not None:
        result = result * args["weight"].astype(F32)
    if args.get("bias") is not None:
        result = result + args["bias"].astype(F32)
    return np.asarray(result)


def _group_norm(args: Arguments, op: Operator) -> Array:
    x = args["input"].astype(F32)
    rows = x.reshape(len(x), args["num_groups"], -1)
    result = _normalised(rows, args["eps"], centred=True).reshape(x.shape)
    each = (1, -1, *[1] * (x.ndim - 2))
    if args.get("weight") is not None:
        result = result * args["weight"].astype(F32).reshape(each)
    if args.get("bias") is not None:
        result = result + args["bias"].astype(F32).reshape(each)
    return np.asarray(result)


def _softmax(args: Arguments, op: Operator, *, log: bool = False) -> Array:
    x = np.moveaxis(args["self"].astype(F32), args["dim"], -1)
    with np.errstate(invalid="ignore"):
        below = x - x.max(-1, keepdims=True)
        exponentials = bitexact.exp(below)
        total = _total(exponentials)
        result = below - bitexact.log(total) if log else exponentials / total
    return np.moveaxis(result, -1, args["dim"])


def _relu(args: Arguments, op: Operator) -> Array:
    x = args["self"]
    return np.where(x > 0, x, np.zeros((), x.dtype))


def _slice(args: Arguments, op: Operator) -> Array:
    x, dim = args["self"], args["dim"]
    extent = x.shape[dim]
    start = args["start"] or 0
    start = max(0, start + extent) if start < 0 else min(start, extent)
    count = _shape(op)[dim]
    return np.asarray(np.take(x, start + args["step"] * np.arange(count), dim))


def _parts(args: Arguments, op: Operator) -> list[Array]:
    source = args["self"]
    counts = [meta.shape[args["dim"]] for meta in op.metas if meta]
    return np.split(source, np.cumsum(counts)[:-1], args["dim"])


def _repeat(args: Arguments, op: Operator) -> Array:
    return np.tile(args["self"], args["repeats"])


def _roll(args: Arguments, op: Operator) -> Array:
    return np.roll(args["self"], args["shifts"], tuple(args["dims"]))


def _pixel_shuffle(args: Arguments, op: Operator) -> Array:
    x, factor = args["self"], args["upscale_factor"]
    *batch, channels, height, width = x.shape
    split = x.reshape(*batch, channels // factor**2, factor, factor, height, width)
    return np.asarray(np.einsum("...crshw->...chrws", split)).reshape(_shape(op))


def _nearest(args: Arguments, op: Operator) -> Array:
    x = args["input"] if "input" in args else args["self"]
    for dim in (2, 3):
        x = np.repeat(x, _shape(op)[dim] // x.shape[dim], dim)
    return np.asarray(x)


def _pad(args: Arguments, op: Operator) -> Array:
    x, pads = args["self"], args["pad"]
    around = [(0, 0)] * x.ndim
    for k in range(len(pads) // 2):
        around[x.ndim - 1 - k] = (pads[2 * k], pads[2 * k + 1])
    return np.pad(x, around, constant_values=args.get("value") or 0)


def _reshape(args: Arguments, op: Operator) -> Array:
    return np.asarray(args["self"]).reshape(_shape(op))


def _same(args: Arguments, op: Operator) -> Array:
    return np.asarray(args["self"])


def _along(value: Any, args: Arguments, rank: int) -> Any:
    """A number, or the numbers of channels in the shape that broadcasts along their axis."""
    if np.ndim(value) == 0:
        return value
    return np.asarray(value).reshape([-1 if d == args["axis"] % rank else 1 for d in range(rank)])


def _pt2e_quantize(args: Arguments, op: Operator) -> Array:
    x = args["input"].astype(F32)
    scale = _along(args.get("scale", args.get("scales")), args, x.ndim)
    zero = _along(args.get("zero_point", args.get("zero_points")), args, x.ndim)
    scaled = np.rint(x * np.asarray(1.0 / scale, F32)) + np.asarray(zero, F32)
    levels = np.clip(scaled, F32(args["quant_min"]), F32(args["quant_max"]))
    return np.asarray(levels, op.metas[0].dtype if op.metas[0] else np.int8)


def _pt2e_dequantize(args: Arguments, op: Operator) -> Array:
    x = args["input"]
    scale = _along(args.get("scale", args.get("scales")), args, x.ndim)
    zero = _along(args.get("zero_point", args.get("zero_points")), args, x.ndim)
    centred = x.astype(F32) - np.asarray(0 if zero is None else zero, F32)
    return np.asarray(centred * np.asarray(scale, F32))


FLOAT_OPERATORS: dict[str, Callable[[Arguments, Operator], Any]] = {
    "aten.add.Tensor": lambda a, op: _single(a["self"]) + _second(a),
    "aten.sub.Tensor": lambda a, op: _single(a["self"]) - _second(a),
    "aten.mul.Tensor": lambda a, op: _single(a["self"]) * _single(a["other"]),
    "aten.div.Tensor": lambda a, op: _single(a["self"]) / _single(a["other"]),
    "aten.neg.default": lambda a, op: -a["self"],
    "aten.masked_fill.Scalar": lambda a, op: np.where(a["mask"], F32(a["value"]), a["self"]),
    "aten.where.self": lambda a, op: np.where(
        a["condition"], _single(a["self"]), _single(a["other"])
    ),
    "aten.layer_norm.default": lambda a, op: _norm(a, op, centred=True),
    "aten.rms_norm.default": lambda a, op: _norm(a, op, centred=False),
    "aten.softmax.int": _softmax,
    "aten.log_softmax.int": lambda a, op: _softmax(a, op, log=True),
    "aten.group_norm.default": _group_norm,
    "aten.stack.default": lambda a, op: np.stack(a["tensors"], a["dim"]),
    "aten.repeat.default": _repeat,
    "aten.roll.default": _roll,
    "aten.pixel_shuffle.default": _pixel_shuffle,
    "aten.upsample_nearest2d.vec": _nearest,
    "aten.index_select.default": lambda a, op: np.take(a["self"], a["index"], a["dim"]),
    "aten.embedding.default": lambda a, op: a["weight"][a["indices"]],
    "aten.logical_not.default": lambda a, op: a["self"] == 0,
    "aten.relu.default": _relu,
    "aten.cat.default": lambda a, op: np.concatenate(
        [part for part in a["tensors"] if part.shape != (0,)], a["dim"]
    ),
    "aten.permute.default": lambda a, op: np.transpose(a["self"], a["dims"]),
    "aten.transpose.int": lambda a, op: np.swapaxes(a["self"], a["dim0"], a["dim1"]),
    "aten.t.default": lambda a, op: a["self"].T,
    "aten.unsqueeze.default": _reshape,
    "aten.squeeze.dim": _reshape,
    "aten.squeeze.dims": _reshape,
    "aten.expand.default": lambda a, op: np.broadcast_to(a["self"], _shape(op)),
    "aten.slice.Tensor": _slice,
    "aten.select.int": lambda a, op: np.take(a["self"], a["index"], a["dim"]),
    "aten.split.Tensor": _parts,
    "aten.split_with_sizes.default": _parts,
    "aten.unbind.int": lambda a, op: list(np.moveaxis(a["self"], a["dim"], 0)),
    "aten.flip.default": lambda a, op: np.flip(a["self"], a["dims"]),
    "aten.clone.default": _same,
    "aten.alias.default": _same,
    "aten.view.default": _reshape,
    "aten._unsafe_view.default": _reshape,
    "aten.pad.default": _pad,
    "aten.constant_pad_nd.default": _pad,
    "getitem": lambda a, op: a["0"][a["1"]],
    **{f"{_PT2E}.quantize_per_{form}": _pt2e_quantize for form in _FORMS},
    **{f"{_PT2E}.dequantize_per_{form}": _pt2e_dequantize for form in _FORMS},
}
