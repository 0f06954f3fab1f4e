# ruff: noqa: B007  (loops have names for the schedule)
"""Attention of a block of queries against the KV cache, as a kernel."""

import allo
from allo.ir.types import float32, int8, int32, uint8

ROUND = 12582912.0
"""Adding and subtracting 1.5 * 2**23 rounds a small float32 to the nearest even integer."""


def attend[LAYERS, HEADS, HD, CTX, BLOCK, KMAX](
    queries: int8[BLOCK, HEADS, HD],
    keys: int8[LAYERS, HEADS, CTX, HD],
    values: int8[LAYERS, HEADS, CTX, HD],
    factors: float32[LAYERS, 3],
    layer: int32,
    start: int32,
    rows: int32,
    small: int8[BLOCK, KMAX],
):
    # Every query of the block against the cache: small = softmax(q k) v, as int8.
    scores: int32[HEADS, CTX]
    levels: uint8[HEADS, CTX]
    peak: int32[HEADS]
    total: int32[HEADS]
    context: int32[HEADS, HD]
    inverse: float32[HEADS]
    for b in range(rows, name="queries"):
        last: int32 = start + b
        h: int32 = 0
        j: int32 = 0
        best: int32 = 0
        for i in range((last + 1) * HEADS, name="score"):
            dot: int32 = 0
            for c in range(HD, name="score_lane"):
                dot = dot + queries[b, h, c] * keys[layer, h, j, c]
            scores[h, j] = dot
            best = dot if j == 0 else max(best, dot)
            peak[h] = best
            if j == last:
                j = 0
                h = h + 1
            else:
                j = j + 1
        he: int32 = 0
        je: int32 = 0
        sum: int32 = 0
        for i in range((last + 1) * HEADS, name="weigh"):
            below: float32 = scores[he, je] - peak[he]
            weight: float32 = allo.exp(below * factors[layer, 0])
            level: int32 = (weight * 255.0 + ROUND) - ROUND
            levels[he, je] = level
            sum = level if je == 0 else sum + level
            total[he] = sum
            if je == last:
                je = 0
                he = he + 1
            else:
                je = je + 1
        hv: int32 = 0
        jv: int32 = 0
        acc: int32[HD] = 0
        for i in range((last + 1) * HEADS, name="mix"):
            share: int32 = levels[hv, jv]
            for c in range(HD, name="mix_lane"):
                before: int32 = 0 if jv == 0 else acc[c]
                after: int32 = before + share * values[layer, hv, jv, c]
                acc[c] = after
                context[hv, c] = after
            if jv == last:
                jv = 0
                hv = hv + 1
            else:
                jv = jv + 1
        for head in range(HEADS, name="invert"):
            count: float32 = total[head]
            inverse[head] = factors[layer, 1] / count
        for head in range(HEADS, name="output"):
            for c in range(HD):
                mixed: float32 = context[head, c]
                wide: float32 = mixed * inverse[head]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                rounded: float32 = (clamped + ROUND) - ROUND
                small[b, head * HD + c] = rounded
