# ruff: noqa: B007  (loops have names for the schedule)
"""Attention: several heads at once, one key a cycle each, on the width of a head.

``pack``   quantises q, k and v, V elements at once, and joins them to words of a head.
``score``  one a unit: keeps the new keys, and multiplies the queries with all keys. The peak of a
           head follows its scores.
``mix``    one a unit: exponents of scores below their peak, and the values weighted by these.
``divide`` divides by the sum of the weights, and quantises V elements at once.

While a unit mixes one head it scores the next, and the scores of a layer are under way while the
linear engine still works on the values. A unit has ``H`` heads of keys and values of every layer, and ``G``
queries share each.
"""

import allo
from allo.ir.types import Stream, UInt, float32, int8, int32, uint8

from ..constants import ROUND
from ..stage import pipelined


def pack[QKV, HD, V, LAYERS](
    results: "Stream[float32[V], 4]",
    words: "Stream[UInt(8 * HD), 4]",
):
    """``QKV`` elements a layer, as words of a head: queries, then keys, then values."""
    word: UInt(8 * HD) = 0
    piece: UInt(8) = 0
    for out in range(LAYERS * (QKV // V)):
        block: float32[V] = results.get()
        packed: UInt(8 * HD) = 0
        for v in range(V):
            clamped: float32 = min(max(block[v], -127.0), 127.0)
            level: int8 = (clamped + ROUND) - ROUND
            packed[8 * (HD - V + v) : 8 * (HD - V + v) + 8] = level
        joined: UInt(8 * HD) = (word >> (8 * V)) | packed
        word = joined
        if piece == HD // V - 1:
            words.put(joined)
        piece = 0 if piece == HD // V - 1 else piece + 1


def score[HD, H, G, CTX, LAYERS](
    asked: "Stream[UInt(8 * HD), 4]",
    start: int32,
    keys: "UInt(8 * HD)[LAYERS * H * CTX]",
    scores: "Stream[int32, 4]",
    peaks: "Stream[int32, 4]",
):
    """Scores of one token at position ``start``, head by head, each head's peak behind them."""
    queries: UInt(8 * HD)[H * G]
    for layer in range(LAYERS):
        for hq in range(H * G):
            queries[hq] = asked.get()
        for hk in range(H):
            keys[(layer * H + hk) * CTX + start] = asked.get()
        row: int32 = layer * H * CTX
        h: UInt(8) = 0
        g: UInt(8) = 0
        j: UInt(16) = 0
        best: int32 = 0
        last: UInt(16) = start
        total: int32 = (start + 1) * (H * G)
        for key in range(total):
            query: UInt(8 * HD) = queries[h]
            word: UInt(8 * HD) = keys[row + j]
            dot: int32 = 0
            for c in range(HD):
                left: int8 = query[8 * c : 8 * c + 8]
                right: int8 = word[8 * c : 8 * c + 8]
                dot += left * right
            scores.put(dot)
            peak: int32 = dot if j == 0 else max(best, dot)
            best = peak
            if j == last:
                peaks.put(peak)
            h = h + 1 if j == last else h
            row = row + CTX if j == last and g == G - 1 else row
            g = (0 if g == G - 1 else g + 1) if j == last else g
            j = 0 if j == last else j + 1


def mix[HD, H, G, CTX, LAYERS](
    given: "Stream[UInt(8 * HD), 4]",
    scores: "Stream[int32, 4]",
    peaks: "Stream[int32, 4]",
    start: int32,
    factors: "float32[LAYERS]",
    values: "UInt(8 * HD)[LAYERS * H * CTX]",
    sums: "Stream[int32[HD], 2]",
    totals: "Stream[int32, 2]",
):
    """Values weighted by softmax in steps of 1 / 255, and the sum of the weights, of each head."""
    for layer in range(LAYERS):
        for hv in range(H):
            values[(layer * H + hv) * CTX + start] = given.get()
        factor: float32 = factors[layer]
        row: int32 = layer * H * CTX
        g: UInt(8) = 0
        j: UInt(16) = 0
        best: int32 = 0
        sum: int32 = 0
        acc: int32[HD] = 0
        last: UInt(16) = start
        total: int32 = (start + 1) * (H * G)
        for key in range(total):
            if j == 0:
                best = peaks.get()
            below: float32 = scores.get() - best
            weight: float32 = allo.exp(below * factor)
            level: int32 = (weight * 255.0 + ROUND) - ROUND
            share: uint8 = level
            word: UInt(8 * HD) = values[row + j]
            after_sum: int32 = level + (0 if j == 0 else sum)
            sum = after_sum
            out: int32[HD]
            for c in range(HD):
                value: int8 = word[8 * c : 8 * c + 8]
                after: int32 = share * value + (0 if j == 0 else acc[c])
                acc[c] = after
                out[c] = after
            if j == last:
                sums.put(out)
                totals.put(after_sum)
            row = row + CTX if j == last and g == G - 1 else row
            g = (0 if g == G - 1 else g + 1) if j == last else g
            j = 0 if j == last else j + 1


def divide[HD, V, HEADS, LAYERS](
    sums: "Stream[int32[HD], 2]",
    totals: "Stream[int32, 2]",
    factors: "float32[LAYERS]",
    small: "Stream[UInt(8 * V), 4]",
):
    """Every head's weighted values over the sum of its weights, quantised, V at once."""
    for layer in range(LAYERS):
        held: int32[HD] = 0
        inverse: float32 = 0.0
        piece: UInt(8) = 0
        for out in range(HEADS * (HD // V)):
            if piece == 0:
                head: int32[HD] = sums.get()
                count: float32 = totals.get()
                inverse = factors[layer] / count
                for c in range(HD):
                    held[c] = head[c]
            else:
                for m in range(HD - V):
                    held[m] = held[m + V]
            packed: UInt(8 * V) = 0
            for v in range(V):
                mixed: float32 = held[v]
                wide: float32 = mixed * inverse
                clamped: float32 = min(max(wide, -127.0), 127.0)
                level: int8 = (clamped + ROUND) - ROUND
                packed[8 * v : 8 * v + 8] = level
            small.put(packed)
            piece = 0 if piece == HD // V - 1 else piece + 1


schedule_pack = pipelined("out", "block")
schedule_score = pipelined("hq hk key")
schedule_mix = pipelined("hv key", "acc out")
schedule_divide = pipelined("out", "held head")
