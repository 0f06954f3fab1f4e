"""Blocked attention with a streaming softmax: scores of one tile at a time, never of a whole row.

FlashAttention (Dao et al. 2022, arXiv:2205.14135, section 3.1, algorithm 1) keeps of each query the highest
score so far, the sum of the exponentials and the mixed values. A block of keys that raises the
maximum scales the sum and the values down. Values are divided by the sum once, behind the last block
(FlashAttention-2, Dao 2023, arXiv:2307.08691, section 3.1.1). The int8 kernels hold the exponentials of
a tile as integers, so that both products are exact (INT-FlashAttention, Chen et al. 2024,
arXiv:2409.16997, section 3.2).

What a query sees is a function of one line, ``modify(score, head, query, key)``, a template argument.
It is called with each scaled score, and gives the score to use; minus infinity hides the key.
Query ``i`` of ``L`` stands at position ``T - L + i`` of the ``T`` keys.
"""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import ConstExpr, float32, index, int8, int32, uint8

from .._checks import quotient
from .._defaults import pipeline_innermost, scheduled_by

INFINITY = float("inf")
LOWEST = -3.4028234663852886e38
LEVELS = 255
"""The largest exponential of a tile, 1, as an integer in the int8 kernels."""
ROUND = 12582912.0
"""1.5 · 2²³: added and subtracted, it rounds a float32 of less than 2²² to a whole number, halves to even."""


def absorb[In, Dot, Share, BQ: int32, BK: int32, W: int32, LIMIT: int32, modify](
    q: In[BQ, W],
    k: In[BK, W],
    v: In[BK, W],
    highest: float32[BQ],
    total: float32[BQ],
    mixed: float32[BQ, W],
    scale: float32,
    head: int32,
    query: int32,
    key: int32,
    length: int32,
):
    """Take a block of keys and values into the state of a block of queries.

    Args:
        q, k, v: the tiles; rows past the end are zeros.
        highest, total, mixed: the state: highest score, sum of exponentials, weighted values.
        scale: of the dot products.
        head: its number, for ``modify``.
        query, key: positions of the first rows.
        length: how many keys there are.
    """
    dot: Dot[BQ, BK]
    score: float32[BQ, BK]
    factor: float32[BQ]
    before: float32[BQ]
    part: Dot[BQ, W]
    for i0, j0 in allo.grid(BQ, BK, name="dot_init"):
        dot[i0, j0] = 0
    for c, i, j in allo.grid(W, BQ, BK, name="dot"):
        dot[i, j] += q[i, c] * k[j, c]
    for i, j in allo.grid(BQ, BK, name="modify"):
        raw: float32 = dot[i, j]
        modified: float32 = modify(raw * scale, head, query + i, key + j)
        score[i, j] = modified if key + j < length else -INFINITY
    for i1 in range(BQ, name="before"):
        before[i1] = highest[i1]
    for j, i in allo.grid(BK, BQ, name="max"):
        highest[i] = score[i, j] if score[i, j] > highest[i] else highest[i]
    for i2 in range(BQ, name="factor"):
        factor[i2] = allo.exp(before[i2] - highest[i2])
        total[i2] = total[i2] * factor[i2]
    for j, i in allo.grid(BK, BQ, name="exp_sum"):
        weight: float32 = allo.exp(score[i, j] - highest[i])
        with allo.meta_if(LIMIT > 0):
            weight = (weight * LIMIT + ROUND) - ROUND
        score[i, j] = weight
        total[i] += weight
    for i3, c3 in allo.grid(BQ, W, name="mix_init"):
        part[i3, c3] = 0
    for j, i, c in allo.grid(BK, BQ, W, name="mix"):
        share: Share = score[i, j]
        part[i, c] += share * v[j, c]
    for i4, c4 in allo.grid(BQ, W, name="mix_add"):
        added: float32 = part[i4, c4]
        mixed[i4, c4] = mixed[i4, c4] * factor[i4] + added


def attend[
    Ty,
    In,
    Dot,
    Share,
    T: int32,
    D: int32,
    BQ: int32,
    BK: int32,
    W: int32,
    LIMIT: int32,
    CACHE: int32,
    modify,
](
    q: In[BQ, W],
    K: Ty[T, D],
    V: Ty[T, D],
    total: float32[BQ],
    mixed: float32[BQ, W],
    scale: float32,
    head: index,
    query: int32,
    length: index,
):
    """One block of queries of one head against the first ``length`` keys, block by block.

    ``CACHE`` is 1 where ``length`` is known only when the kernel runs, and 0 where it is ``T``.
    """
    k: In[BK, W]
    v: In[BK, W]
    highest: float32[BQ]
    for i, c in allo.grid(BQ, W, name="state_init"):
        highest[i] = LOWEST
        total[i] = 0
        mixed[i, c] = 0
    with allo.meta_if(CACHE == 1):
        for t in range((length + BK - 1) // BK, name="keys"):
            for j, c in allo.grid(BK, W, name="load"):
                if t * BK + j < length:
                    k[j, c] = K[t * BK + j, head * W + c]
                    v[j, c] = V[t * BK + j, head * W + c]
                else:
                    k[j, c] = 0
                    v[j, c] = 0
            absorb[In, Dot, Share, BQ, BK, W, LIMIT, modify](
                q, k, v, highest, total, mixed, scale, head, query, t * BK, length
            )
    with allo.meta_else():
        for t in range((T + BK - 1) // BK, name="keys"):
            for j, c in allo.grid(BK, W, name="load"):
                if t * BK + j < T:
                    k[j, c] = K[t * BK + j, head * W + c]
                    v[j, c] = V[t * BK + j, head * W + c]
                else:
                    k[j, c] = 0
                    v[j, c] = 0
            absorb[In, Dot, Share, BQ, BK, W, LIMIT, modify](
                q, k, v, highest, total, mixed, scale, head, query, t * BK, T
            )


def flash_attention[Ty, H: int32, L: int32, T: int32, D: int32, BQ: int32, BK: int32, modify](
    Q: Ty[L, D], K: Ty[T, D], V: Ty[T, D]
) -> Ty[L, D]:
    """For each of ``H`` heads ``softmax(modify(Q Kᵀ / sqrt(D // H))) V``, in tiles of ``BQ × BK``.

    Neither ``L`` nor ``T`` has to be a multiple of a block. Sums are float32 whatever ``Ty`` is, and a query
    that sees no key gives zeros.
    """
    W: ConstExpr[int32] = quotient(D, H)
    Z: Ty[L, D]
    q: float32[BQ, W]
    total: float32[BQ]
    mixed: float32[BQ, W]
    width: float32 = W
    scale: float32 = 1.0 / allo.sqrt(width)
    for h, b in allo.grid(H, (L + BQ - 1) // BQ, name="tiles"):
        for i, c in allo.grid(BQ, W, name="queries"):
            if b * BQ + i < L:
                q[i, c] = Q[b * BQ + i, h * W + c]
            else:
                q[i, c] = 0
        attend[Ty, float32, float32, float32, T, D, BQ, BK, W, 0, 0, modify](
            q, K, V, total, mixed, scale, h, T - L + b * BQ, T
        )
        for i, c in allo.grid(BQ, W, name="quotient"):
            if b * BQ + i < L:
                Z[b * BQ + i, h * W + c] = mixed[i, c] / total[i] if total[i] > 0 else 0
    return Z


def flash_attention_int8[H: int32, L: int32, T: int32, D: int32, BQ: int32, BK: int32, modify](
    Q: int8[L, D], K: int8[T, D], V: int8[T, D], scale: float32, gain: float32
) -> int8[L, D]:
    """:func:`flash_attention` of integers, whose products and sums are exact.

    Args:
        scale: of the dot products: the scales of queries and keys over ``sqrt(D // H)``.
        gain: the scale of the values over that of the result.
    """
    W: ConstExpr[int32] = quotient(D, H)
    Z: int8[L, D]
    q: int8[BQ, W]
    total: float32[BQ]
    mixed: float32[BQ, W]
    for h, b in allo.grid(H, (L + BQ - 1) // BQ, name="tiles"):
        for i, c in allo.grid(BQ, W, name="queries"):
            if b * BQ + i < L:
                q[i, c] = Q[b * BQ + i, h * W + c]
            else:
                q[i, c] = 0
        attend[int8, int8, int32, uint8, T, D, BQ, BK, W, LEVELS, 0, modify](
            q, K, V, total, mixed, scale, h, T - L + b * BQ, T
        )
        for i, c in allo.grid(BQ, W, name="quotient"):
            if b * BQ + i < L:
                value: float32 = mixed[i, c] / total[i] * gain if total[i] > 0 else 0
                clamped: float32 = min(max(value, -127.0), 127.0)
                Z[b * BQ + i, h * W + c] = (clamped + ROUND) - ROUND
    return Z


def flash_decode[Ty, H: int32, T: int32, D: int32, BK: int32, modify](
    q: Ty[D], K: Ty[T, D], V: Ty[T, D], length: index
) -> Ty[D]:
    """One query, at ``length - 1``, against a cache whose first ``length`` (1 … T) rows are valid."""
    W: ConstExpr[int32] = quotient(D, H)
    Z: Ty[D]
    row: float32[1, W]
    total: float32[1]
    mixed: float32[1, W]
    width: float32 = W
    scale: float32 = 1.0 / allo.sqrt(width)
    for h in range(H, name="heads"):
        for c in range(W, name="query"):
            row[0, c] = q[h * W + c]
        attend[Ty, float32, float32, float32, T, D, 1, BK, W, 0, 1, modify](
            row, K, V, total, mixed, scale, h, length - 1, length
        )
        for c1 in range(W, name="quotient"):
            Z[h * W + c1] = mixed[0, c1] / total[0] if total[0] > 0 else 0
    return Z


def flash_decode_int8[H: int32, T: int32, D: int32, BK: int32, modify](
    q: int8[D], K: int8[T, D], V: int8[T, D], length: index, scale: float32, gain: float32
) -> int8[D]:
    """:func:`flash_decode` of integers; ``scale`` and ``gain`` as in :func:`flash_attention_int8`."""
    W: ConstExpr[int32] = quotient(D, H)
    Z: int8[D]
    row: int8[1, W]
    total: float32[1]
    mixed: float32[1, W]
    for h in range(H, name="heads"):
        for c in range(W, name="query"):
            row[0, c] = q[h * W + c]
        attend[int8, int8, int32, uint8, T, D, 1, BK, W, LEVELS, 1, modify](
            row, K, V, total, mixed, scale, h, length - 1, length
        )
        for c1 in range(W, name="quotient"):
            value: float32 = mixed[0, c1] / total[0] * gain if total[0] > 0 else 0
            clamped: float32 = min(max(value, -127.0), 127.0)
            Z[h * W + c1] = (clamped + ROUND) - ROUND
    return Z


def schedule_flash(s: Schedule) -> Schedule:
    """Pipeline the innermost loop of every nest, with the modification inside; sums run side by side."""
    kernels = ("absorb", "attend", s.top_func_name)
    for function in s.func_args:
        if function.startswith(kernels):
            pipeline_innermost(s, function)
        else:
            s.inline(function)
    return s


scheduled_by(flash_attention, schedule_flash)
scheduled_by(flash_attention_int8, schedule_flash)
scheduled_by(flash_decode, schedule_flash)
scheduled_by(flash_decode_int8, schedule_flash)
