"""Layer norm and the inference form of batch norm."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import int32

from .._defaults import pipeline_innermost, scheduled_by

#: What :func:`layer_norm` adds to the variance; ``allo.layernorm(…, eps=…)`` puts its own in this place.
EPSILON = 0.00001


def layer_norm[Ty, L: int32, D: int32](X: Ty[L, D], gamma: Ty[D], beta: Ty[D]) -> Ty[L, D]:
    """Normalise each row to mean 0 and variance 1 (eps 1e-5), then ``· gamma + beta``.

    The variance is the mean of squared differences, not a difference of means, so rows far from
    zero keep their digits.
    """
    Z: Ty[L, D]
    mean: Ty[L]
    var: Ty[L]
    for i0 in range(L, name="row_init"):
        mean[i0] = 0
        var[i0] = 0
    for i, j in allo.grid(L, D, name="mean_sum"):
        mean[i] += X[i, j]
    for i1 in range(L, name="mean_scale"):
        mean[i1] = mean[i1] / D
    for i, j in allo.grid(L, D, name="var_sum"):
        d: Ty = X[i, j] - mean[i]
        var[i] += d * d
    for i2 in range(L, name="var_scale"):
        v: Ty = var[i2] / D + EPSILON
        var[i2] = 1.0 / allo.sqrt(v)
    for i, j in allo.grid(L, D, name="norm"):
        Z[i, j] = gamma[j] * (X[i, j] - mean[i]) * var[i] + beta[j]
    return Z


def layer_norm3d[Ty, B: int32, L: int32, D: int32](
    X: Ty[B, L, D], gamma: Ty[D], beta: Ty[D]
) -> Ty[B, L, D]:
    """:func:`layer_norm` of each of ``B`` arrays of rows."""
    Z: Ty[B, L, D]
    mean: Ty[L]
    var: Ty[L]
    for b in range(B, name="batch"):
        for i0 in range(L, name="row_init"):
            mean[i0] = 0
            var[i0] = 0
        for i1, j1 in allo.grid(L, D, name="mean_sum"):
            mean[i1] += X[b, i1, j1]
        for i2 in range(L, name="mean_scale"):
            mean[i2] = mean[i2] / D
        for i3, j3 in allo.grid(L, D, name="var_sum"):
            d: Ty = X[b, i3, j3] - mean[i3]
            var[i3] += d * d
        for i4 in range(L, name="var_scale"):
            v: Ty = var[i4] / D + EPSILON
            var[i4] = 1.0 / allo.sqrt(v)
        for i5, j5 in allo.grid(L, D, name="norm"):
            Z[b, i5, j5] = gamma[j5] * (X[b, i5, j5] - mean[i5]) * var[i5] + beta[j5]
    return Z


def rms_norm[Ty, L: int32, D: int32](X: Ty[L, D], gamma: Ty[D]) -> Ty[L, D]:
    """Scale each row to root mean square 1 (eps 1e-5), then ``· gamma``."""
    Z: Ty[L, D]
    square: Ty[L]
    for i0 in range(L, name="row_init"):
        square[i0] = 0
    for i, j in allo.grid(L, D, name="square_sum"):
        square[i] += X[i, j] * X[i, j]
    for i2 in range(L, name="square_scale"):
        v: Ty = square[i2] / D + 0.00001
        square[i2] = 1.0 / allo.sqrt(v)
    for i, j in allo.grid(L, D, name="norm"):
        Z[i, j] = gamma[j] * (X[i, j] * square[i])
    return Z


def rms_norm3d[Ty, B: int32, L: int32, D: int32](X: Ty[B, L, D], gamma: Ty[D]) -> Ty[B, L, D]:
    """:func:`rms_norm` of each of ``B`` arrays of rows."""
    Z: Ty[B, L, D]
    square: Ty[L]
    for b in range(B, name="batch"):
        for i0 in range(L, name="row_init"):
            square[i0] = 0
        for i1, j1 in allo.grid(L, D, name="square_sum"):
            square[i1] += X[b, i1, j1] * X[b, i1, j1]
        for i2 in range(L, name="square_scale"):
            v: Ty = square[i2] / D + 0.00001
            square[i2] = 1.0 / allo.sqrt(v)
        for i5, j5 in allo.grid(L, D, name="norm"):
            Z[b, i5, j5] = gamma[j5] * (X[b, i5, j5] * square[i5])
    return Z


def batchnorm2d[Ty, B: int32, C: int32, H: int32, W: int32](
    X: Ty[B, C, H, W], gamma: Ty[C], beta: Ty[C], eps: Ty, mean: Ty[C], var: Ty[C]
) -> Ty[B, C, H, W]:
    """``gamma · (x - mean) / sqrt(var + eps) + beta`` of each channel."""
    Z: Ty[B, C, H, W]
    scale: Ty[C]
    for c0 in range(C, name="scale"):
        v: Ty = var[c0] + eps
        scale[c0] = gamma[c0] / allo.sqrt(v)
    for b, c, h, w in allo.grid(B, C, H, W, name="bn"):
        Z[b, c, h, w] = (X[b, c, h, w] - mean[c]) * scale[c] + beta[c]
    return Z


def batchnorm1d_2d[Ty, B: int32, C: int32](
    X: Ty[B, C], gamma: Ty[C], beta: Ty[C], eps: Ty, mean: Ty[C], var: Ty[C]
) -> Ty[B, C]:
    """Batch norm of ``[B, C]``."""
    Z: Ty[B, C]
    scale: Ty[C]
    for c0 in range(C, name="scale"):
        v: Ty = var[c0] + eps
        scale[c0] = gamma[c0] / allo.sqrt(v)
    for b, c in allo.grid(B, C, name="bn"):
        Z[b, c] = (X[b, c] - mean[c]) * scale[c] + beta[c]
    return Z


def batchnorm1d_3d[Ty, B: int32, C: int32, L: int32](
    X: Ty[B, C, L], gamma: Ty[C], beta: Ty[C], eps: Ty, mean: Ty[C], var: Ty[C]
) -> Ty[B, C, L]:
    """Batch norm of ``[B, C, L]``."""
    Z: Ty[B, C, L]
    scale: Ty[C]
    for c0 in range(C, name="scale"):
        v: Ty = var[c0] + eps
        scale[c0] = gamma[c0] / allo.sqrt(v)
    for b, c, l in allo.grid(B, C, L, name="bn"):
        Z[b, c, l] = (X[b, c, l] - mean[c]) * scale[c] + beta[c]
    return Z


def schedule_layernorm(s: Schedule) -> Schedule:
    """Pipeline every nest; the sums run over the rows side by side."""
    loops = s.get_loops(s.top_func_name)
    for name, band in loops:
        if name.endswith("_sum"):
            s.reorder(band["j"], band["i"])
            s.pipeline(band["i"])
        elif name != "norm":
            s.pipeline(next(loop for _, loop in band))
    s.pipeline(loops["norm"]["j"])
    return s


def schedule_layernorm3d(s: Schedule) -> Schedule:
    """As :func:`schedule_layernorm`, in each array."""
    names = [name for name, _ in s.get_loops(s.top_func_name)["batch"]]
    for number in "0123456":
        row, column = f"i{number}", f"j{number}"
        if column in names and number != "5":  # a sum
            s.reorder(f"{s.top_func_name}:{column}", f"{s.top_func_name}:{row}")
        if row in names:
            s.pipeline(f"{s.top_func_name}:{column if number == '5' else row}")
    return s


schedule_batchnorm2d = schedule_batchnorm1d_2d = schedule_batchnorm1d_3d = pipeline_innermost
"""Pipeline the innermost loops."""

scheduled_by(layer_norm, schedule_layernorm)
scheduled_by(rms_norm, schedule_layernorm)
scheduled_by(layer_norm3d, schedule_layernorm3d)
scheduled_by(rms_norm3d, schedule_layernorm3d)
scheduled_by(batchnorm2d, schedule_batchnorm2d)
scheduled_by(batchnorm1d_2d, schedule_batchnorm1d_2d)
scheduled_by(batchnorm1d_3d, schedule_batchnorm1d_3d)
