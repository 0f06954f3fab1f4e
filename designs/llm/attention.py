# ruff: noqa: B007  (loops have names for the schedule)
"""Attention of a query against the KV cache, as kernels with their schedules: scores, mix, division."""

from typing import Any

import allo
from allo.ir.types import Stream, UInt, float32, int8, int32, uint8

from .constants import ROUND
from .stage import pipelined


def split[LAYERS, HEADS, HD, CTX, BLOCK, LANES](
    projected: "Stream[float32, 16]",
    queries: int8[BLOCK, HEADS, HD],
    cache: int8[2, LAYERS, HEADS, CTX, HD],
    layer: int32,
    start: int32,
    rows: int32,
):
    """Quantise what the linear engine gives for q, k and v, and put each to its place."""
    for t in range(3 * HEADS * HD // LANES):
        for b in range(rows):
            for qkv in range(LANES):
                wide: float32 = projected.get()
                clamped: float32 = min(max(wide, -127.0), 127.0)
                value: int8 = (clamped + ROUND) - ROUND
                n: int32 = t * LANES + qkv
                head: int32 = (n % (HEADS * HD)) // HD
                if n < HEADS * HD:
                    queries[b, head, n % HD] = value
                elif n < 2 * HEADS * HD:
                    cache[0, layer, head, start + b, n % HD] = value
                else:
                    cache[1, layer, head, start + b, n % HD] = value


def score[LAYERS, HEADS, HD, CTX, BLOCK, SEEN](
    queries: int8[BLOCK, HEADS, HD],
    cache: int8[2, LAYERS, HEADS, CTX, HD],
    layer: int32,
    b: int32,
    last: int32,
    scores: int32[HEADS, CTX],
    peak: int32[HEADS],
    seen: "int32[SEEN * (LAYERS * BLOCK - 1) + 1, HEADS, CTX]",
):
    """Multiply a query with the keys of every head up to the last one: scores, and the largest."""
    h: int32 = 0
    j: int32 = 0
    best: int32 = 0
    for score in range((last + 1) * HEADS):
        dot: int32 = 0
        for cs in range(HD):
            dot = dot + queries[b, h, cs] * cache[0, layer, h, j, cs]
        scores[h, j] = dot
        with allo.meta_if(SEEN == 1):
            seen[layer * BLOCK + b, h, j] = dot
        best = dot if j == 0 else max(best, dot)
        peak[h] = best
        if j == last:
            j = 0
            h = h + 1
        else:
            j = j + 1


def mix[LAYERS, HEADS, HD, CTX](
    scores: int32[HEADS, CTX],
    peak: int32[HEADS],
    cache: int8[2, LAYERS, HEADS, CTX, HD],
    factors: float32[LAYERS, 3],
    layer: int32,
    last: int32,
    total: int32[HEADS],
    summed: int32[HEADS, HD],
):
    """Weights of softmax in 255 steps, their sum, and the values weighted by them."""
    h: int32 = 0
    j: int32 = 0
    sum: int32 = 0
    acc: int32[HD] = 0
    for mix in range((last + 1) * HEADS):
        below: float32 = scores[h, j] - peak[h]
        weight: float32 = allo.exp(below * factors[layer, 0])
        level: int32 = (weight * 255.0 + ROUND) - ROUND
        sum = level if j == 0 else sum + level
        total[h] = sum
        share: uint8 = level
        for cm in range(HD):
            before: int32 = 0 if j == 0 else acc[cm]
            after: int32 = before + share * cache[1, layer, h, j, cm]
            acc[cm] = after
            summed[h, cm] = after
        if j == last:
            j = 0
            h = h + 1
        else:
            j = j + 1


def divide[LAYERS, HEADS, HD, BLOCK, GROUP, SEEN](
    total: int32[HEADS],
    summed: int32[HEADS, HD],
    factors: float32[LAYERS, 3],
    layer: int32,
    b: int32,
    words: "Stream[UInt(8 * GROUP), 16]",
    seen: "int32[SEEN * (LAYERS * BLOCK - 1) + 1, HEADS, HD]",
):
    """Divide by the sum of the weights, quantise, and send GROUP activations in each word."""
    packed: UInt(8 * GROUP) = 0
    for head in range(HEADS):
        for c in range(HD):
            count: float32 = total[head]
            inverse: float32 = factors[layer, 1] / count
            mixed: float32 = summed[head, c]
            with allo.meta_if(SEEN == 1):
                seen[layer * BLOCK + b, head, c] = summed[head, c]
            wide: float32 = mixed * inverse
            clamped: float32 = min(max(wide, -127.0), 127.0)
            level: int8 = (clamped + ROUND) - ROUND
            packed = packed >> 8
            packed[8 * GROUP - 8 : 8 * GROUP] = level
            if (head * HD + c) % GROUP == GROUP - 1:
                words.put(packed)


schedule_divide = pipelined("c")


def _split_cache(s: Any) -> Any:
    """Keys and values in memories of their own, an element of a head in each."""
    for dim in (1, 5):
        s.partition(f"{s.top_func_name}:cache", dim=dim)
    return s


def schedule_split(s: Any) -> Any:
    """A value of q, k or v a cycle."""
    return pipelined("qkv", queries=3)(_split_cache(s))


def schedule_score(s: Any) -> Any:
    """One key a cycle: a head's width of multipliers."""
    s.unroll("cs")
    return pipelined("score", queries=3)(_split_cache(s))


def schedule_mix(s: Any) -> Any:
    """One value a cycle: a head's width of multipliers and accumulators."""
    s.unroll("cm")
    return pipelined("mix", summed=2, acc=1)(_split_cache(s))
