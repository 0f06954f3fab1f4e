# ruff: noqa: B007  (loops have names for the schedule)
"""Attention of a block of queries against the KV cache, as a kernel."""

import allo
from allo.ir.types import float32, int8, int32, uint8

from .constants import ROUND


def attend[LAYERS, HEADS, HD, CTX, BLOCK, KMAX, SEEN](
    queries: int8[BLOCK, HEADS, HD],
    keys: int8[LAYERS, HEADS, CTX, HD],
    values: int8[LAYERS, HEADS, CTX, HD],
    factors: float32[LAYERS, 3],
    layer: int32,
    start: int32,
    rows: int32,
    small: int8[BLOCK, KMAX],
    scores_seen: "int32[SEEN * (LAYERS * BLOCK - 1) + 1, HEADS, CTX]",
    sums_seen: "int32[SEEN * (LAYERS * BLOCK - 1) + 1, HEADS, HD]",
):
    """Attend from every query of the block to the cache: small = softmax(q k) v, as int8."""
    scores: int32[HEADS, CTX]
    peak: int32[HEADS]
    total: int32[HEADS]
    summed: int32[HEADS, HD]
    inverse: float32[HEADS]
    for b in range(rows):
        last: int32 = start + b
        h: int32 = 0
        j: int32 = 0
        best: int32 = 0
        for score in range((last + 1) * HEADS):
            dot: int32 = 0
            for cs in range(HD):
                dot = dot + queries[b, h, cs] * keys[layer, h, j, cs]
            scores[h, j] = dot
            with allo.meta_if(SEEN == 1):
                scores_seen[layer * BLOCK + b, h, j] = dot
            best = dot if j == 0 else max(best, dot)
            peak[h] = best
            if j == last:
                j = 0
                h = h + 1
            else:
                j = j + 1
        hm: int32 = 0
        jm: int32 = 0
        sum: int32 = 0
        acc: int32[HD] = 0
        for mix in range((last + 1) * HEADS):
            below: float32 = scores[hm, jm] - peak[hm]
            weight: float32 = allo.exp(below * factors[layer, 0])
            level: int32 = (weight * 255.0 + ROUND) - ROUND
            sum = level if jm == 0 else sum + level
            total[hm] = sum
            share: uint8 = level
            for cm in range(HD):
                before: int32 = 0 if jm == 0 else acc[cm]
                after: int32 = before + share * values[layer, hm, jm, cm]
                acc[cm] = after
                summed[hm, cm] = after
            if jm == last:
                jm = 0
                hm = hm + 1
            else:
                jm = jm + 1
        for hi in range(HEADS):
            count: float32 = total[hi]
            inverse[hi] = factors[layer, 1] / count
        for head in range(HEADS):
            for c in range(HD):
                mixed: float32 = summed[head, c]
                with allo.meta_if(SEEN == 1):
                    sums_seen[layer * BLOCK + b, head, c] = summed[head, c]
                wide: float32 = mixed * inverse[head]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                rounded: float32 = (clamped + ROUND) - ROUND
                small[b, head * HD + c] = rounded
