"""Convolution and pooling over NCHW images, with stride and zero padding."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import int32

from .._checks import reaches
from .._defaults import scheduled_by


def conv2d[
    Ty,
    B: int32,
    Cin: int32,
    Cout: int32,
    H: int32,
    W: int32,
    Kh: int32,
    Kw: int32,
    Oh: int32,
    Ow: int32,
    Sh: int32,
    Sw: int32,
    Pd0: int32,
    Pd1: int32,
](inp: Ty[B, Cin, H, W], kernel: Ty[Cout, Cin, Kh, Kw], bias: Ty[Cout]) -> Ty[B, Cout, Oh, Ow]:
    """Two-dimensional convolution, stride ``Sh × Sw``, padding ``Pd0 × Pd1`` of zeros.

    Each row of outputs accumulates in a buffer. Where no window can leave the image, nothing asks
    whether it does.
    """
    Z: Ty[B, Cout, Oh, Ow]
    row: Ty[Ow]
    for b, co, oh in allo.grid(B, Cout, Oh, name="conv"):
        for o0 in range(Ow):
            row[o0] = bias[co]
        for ci, kh, kw, ow in allo.grid(Cin, Kh, Kw, Ow, name="product"):
            with allo.meta_if(
                Pd0 == 0 and Pd1 == 0 and reaches(Oh, Sh, Kh) <= H and reaches(Ow, Sw, Kw) <= W
            ):
                row[ow] += inp[b, ci, oh * Sh + kh, ow * Sw + kw] * kernel[co, ci, kh, kw]
            with allo.meta_else():
                if (
                    oh * Sh + kh >= Pd0
                    and oh * Sh + kh < H + Pd0
                    and ow * Sw + kw >= Pd1
                    and ow * Sw + kw < W + Pd1
                ):
                    row[ow] += (
                        inp[b, ci, oh * Sh + kh - Pd0, ow * Sw + kw - Pd1] * kernel[co, ci, kh, kw]
                    )
        for o1 in range(Ow):
            Z[b, co, oh, o1] = row[o1]
    return Z


def maxpool2d[
    Ty,
    B: int32,
    C: int32,
    H: int32,
    W: int32,
    K: int32,
    Oh: int32,
    Ow: int32,
    S: int32,
    Pd: int32,
](inp: Ty[B, C, H, W]) -> Ty[B, C, Oh, Ow]:
    """The greatest element of each ``K × K`` window; padding never wins."""
    Z: Ty[B, C, Oh, Ow]
    for b, c, oh, ow in allo.grid(B, C, Oh, Ow, name="maxpool"):
        best: Ty = 0
        empty: int32 = 1
        for kh, kw in allo.grid(K, K, name="window"):
            if (
                oh * S + kh >= Pd
                and oh * S + kh < H + Pd
                and ow * S + kw >= Pd
                and ow * S + kw < W + Pd
            ):
                x: Ty = inp[b, c, oh * S + kh - Pd, ow * S + kw - Pd]
                if empty == 1 or x > best:
                    best = x
                empty = 0
        Z[b, c, oh, ow] = best
    return Z


def avgpool2d[
    Ty,
    B: int32,
    C: int32,
    H: int32,
    W: int32,
    K: int32,
    Oh: int32,
    Ow: int32,
    S: int32,
    Pd: int32,
](inp: Ty[B, C, H, W]) -> Ty[B, C, Oh, Ow]:
    """The sum of each ``K × K`` window over ``K · K``; padding counts as zeros."""
    Z: Ty[B, C, Oh, Ow]
    for b, c, oh, ow in allo.grid(B, C, Oh, Ow, name="avgpool"):
        acc: Ty = 0
        for kh, kw in allo.reduction(K, K):
            if (
                oh * S + kh >= Pd
                and oh * S + kh < H + Pd
                and ow * S + kw >= Pd
                and ow * S + kw < W + Pd
            ):
                acc += inp[b, c, oh * S + kh - Pd, ow * S + kw - Pd]
        Z[b, c, oh, ow] = acc / (K * K)
    return Z


def schedule_conv2d(s: Schedule) -> Schedule:
    """Pipeline each row's loops; its outputs accumulate side by side, so additions do not wait."""
    for loop in ("o0", "ow", "o1"):
        s.pipeline(f"{s.top_func_name}:{loop}")
    return s


def schedule_maxpool2d(s: Schedule) -> Schedule:
    """Pipeline the innermost loop of the window."""
    s.pipeline(f"{s.top_func_name}:kw")
    return s


def schedule_avgpool2d(s: Schedule) -> Schedule:
    """Pipeline the innermost loop of the window."""
    return schedule_maxpool2d(s)


scheduled_by(conv2d, schedule_conv2d)
scheduled_by(maxpool2d, schedule_maxpool2d)
scheduled_by(avgpool2d, schedule_avgpool2d)
