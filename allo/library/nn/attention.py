"""Attention: of whole sequences, of one query and of a block of queries against a cache."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import ConstExpr, index, int32

from .._checks import quotient
from .._defaults import pipeline_innermost, scheduled_by
from ..tiles import systolic
from .softmax import softmax


def scaled_dot_product_attention[Ty, H: int32, L: int32, D: int32, M0: int32, M1: int32](
    Q: Ty[L, D], K: Ty[L, D], V: Ty[L, D]
) -> Ty[L, D]:
    """For each of ``H`` heads ``softmax(Q Kᵀ) V`` (no scaling), on systolic tiles of M0 × M1."""
    _width: ConstExpr[int32] = quotient(D, H)
    Z: Ty[L, D]
    for h in range(H):
        q: Ty[L, D // H]
        k: Ty[D // H, L]
        v: Ty[L, D // H]
        for i, j in allo.grid(L, D // H, name="mha_split"):
            q[i, j] = Q[i, h * (D // H) + j]
            k[j, i] = K[i, h * (D // H) + j]
            v[i, j] = V[i, h * (D // H) + j]
        scores: Ty[L, L]
        systolic[Ty, Ty, Ty, L, D // H, L, M0, M1, "QKT"](q, k, scores)
        weights: Ty[L, L] = softmax[Ty, L](scores)
        mixed: Ty[L, D // H]
        systolic[Ty, Ty, Ty, L, L, D // H, M0, M1, "YV"](weights, v, mixed)
        for i, j in allo.grid(L, D // H, name="mha_merge"):
            Z[i, h * (D // H) + j] = mixed[i, j]
    return Z


def attention_decode[Ty, H: int32, T: int32, D: int32](
    q: Ty[D], K: Ty[T, D], V: Ty[T, D], length: index
) -> Ty[D]:
    """One query against a cache of which the first ``length`` (1 … T) rows are valid.

    ``H`` heads of ``D // H``; scores are scaled by ``1 / sqrt(D // H)``.
    """
    _width: ConstExpr[int32] = quotient(D, H)
    Z: Ty[D]
    score: Ty[H, T]
    highest: Ty[H]
    total: Ty[H]
    mixed: Ty[D]
    width: Ty = D // H
    scale: Ty = 1.0 / allo.sqrt(width)
    for t0, h0 in allo.grid(length, H, name="score_init"):
        score[h0, t0] = 0
    for t, j, h in allo.grid(length, D // H, H, name="score"):
        score[h, t] += q[h * (D // H) + j] * K[t, h * (D // H) + j]
    for t, h in allo.grid(length, H, name="score_scale"):
        score[h, t] = score[h, t] * scale
    for h0 in range(H, name="head_init"):
        highest[h0] = score[h0, 0]
        total[h0] = 0
    for t, h in allo.grid(length, H, name="head_max"):
        highest[h] = score[h, t] if score[h, t] > highest[h] else highest[h]
    for t, h in allo.grid(length, H, name="exp_sum"):
        score[h, t] = allo.exp(score[h, t] - highest[h])
        total[h] += score[h, t]
    for d0 in range(D, name="mix_init"):
        mixed[d0] = 0
    for t in range(length, name="mix"):
        for h in range(H):
            for j in range(D // H):
                mixed[h * (D // H) + j] += score[h, t] * V[t, h * (D // H) + j]
    for h in range(H, name="update"):
        for j in range(D // H):
            Z[h * (D // H) + j] = mixed[h * (D // H) + j] / total[h]
    return Z


def attention_block[Ty, H: int32, L: int32, T: int32, D: int32](
    Q: Ty[L, D], K: Ty[T, D], V: Ty[T, D], start: index
) -> Ty[L, D]:
    """A block of ``L`` queries at positions ``start …`` against a cache, with a causal mask.

    Query ``i`` sees the rows ``0 … start + i`` of the cache, which must hold them (its own too).
    """
    Z: Ty[L, D]
    for i in range(L, name="query"):
        q: Ty[D]
        for d0 in range(D):
            q[d0] = Q[i, d0]
        z: Ty[D] = attention_decode[Ty, H, T, D](q, K, V, start + i + 1)
        for d1 in range(D):
            Z[i, d1] = z[d1]
    return Z


def RoPE[Ty, H: int32, L: int32, D: int32](
    X: Ty[L, D], cos: Ty[L, D // H // 2], sin: Ty[L, D // H // 2]
) -> Ty[L, D]:
    """Rotary position embedding of each head, its two halves forming the pairs."""
    _pairs: ConstExpr[int32] = quotient(D, 2 * H)
    Z: Ty[L, D]
    for i, h, j in allo.grid(L, H, D // H // 2, name="rope"):
        a: Ty = X[i, h * (D // H) + j]
        b: Ty = X[i, h * (D // H) + D // H // 2 + j]
        Z[i, h * (D // H) + j] = a * cos[i, j] - b * sin[i, j]
        Z[i, h * (D // H) + D // H // 2 + j] = b * cos[i, j] + a * sin[i, j]
    return Z


def schedule_attention_decode(s: Schedule) -> Schedule:
    """Pipeline the innermost loop of every nest; heads run side by side, so sums do not wait."""
    return pipeline_innermost(s)


scheduled_by(attention_decode, schedule_attention_decode)
