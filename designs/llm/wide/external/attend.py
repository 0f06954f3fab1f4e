# ruff: noqa: B007  (loops have names for the schedule)
"""Attention with keys and values in external memory, which are read ahead of their use.

``keep``        one for the keys and one for the values of each unit: streams what earlier tokens left, layer
                by layer, as far ahead as the stream behind it is deep; then it writes the new ones.
``score_ahead`` is :func:`..heads.score`, and ``mix_ahead`` is :func:`..heads.mix`, with keys and values from
                such a stream. The newest of each head is used directly, so **nothing that a step writes
                is read back in it**.

Once the new keys of a layer are there, ``keep`` reads those of the next one, while the elements have the
other jobs of the layer. Where ``G`` queries share a head of keys, these are read for each of them.
"""

import allo
from allo.ir.types import Stream, UInt, float32, int8, int32, uint8

from ...constants import ROUND
from ...stage import pipelined


def keep[HD, H, G, CTX, LAYERS](
    memory: "UInt(8 * HD)[LAYERS * H * CTX]",
    start: int32,
    new: "Stream[UInt(8 * HD), 4]",
    words: "Stream[UInt(8 * HD), 4]",
):
    """The words of all positions before ``start``, head by head, ``G`` times each; then the new ones."""
    for layer in range(LAYERS):
        row: int32 = layer * H * CTX
        g: UInt(8) = 0
        j: UInt(16) = 0
        last: UInt(16) = start - 1
        total: UInt(20) = start * (H * G)
        for old in range(total):
            words.put(memory[row + j])
            row = row + CTX if j == last and g == G - 1 else row
            g = (0 if g == G - 1 else g + 1) if j == last else g
            j = 0 if j == last else j + 1
        for head in range(H):
            memory[(layer * H + head) * CTX + start] = new.get()


def score_ahead[HD, H, G, LAYERS](
    asked: "Stream[UInt(8 * HD), 4]",
    start: int32,
    keys: "Stream[UInt(8 * HD), 4]",
    new: "Stream[UInt(8 * HD), 4]",
    scores: "Stream[int32, 4]",
    peaks: "Stream[int32, 4]",
):
    """Scores of one token at position ``start``, head by head, each head's peak behind them."""
    queries: UInt(8 * HD)[H * G]
    newest: UInt(8 * HD)[H]
    for layer in range(LAYERS):
        for hq in range(H * G):
            queries[hq] = asked.get()
        for hk in range(H):
            fresh: UInt(8 * HD) = asked.get()
            newest[hk] = fresh
            new.put(fresh)
        h: UInt(8) = 0
        head: UInt(8) = 0
        g: UInt(8) = 0
        j: UInt(16) = 0
        best: int32 = 0
        last: UInt(16) = start
        total: int32 = (start + 1) * (H * G)
        for key in range(total):
            query: UInt(8 * HD) = queries[h]
            word: UInt(8 * HD) = newest[head]
            if j != last:
                word = keys.get()
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
            head = head + 1 if j == last and g == G - 1 else head
            g = (0 if g == G - 1 else g + 1) if j == last else g
            j = 0 if j == last else j + 1


def mix_ahead[HD, H, G, LAYERS](
    given: "Stream[UInt(8 * HD), 4]",
    scores: "Stream[int32, 4]",
    peaks: "Stream[int32, 4]",
    start: int32,
    factors: "float32[LAYERS]",
    values: "Stream[UInt(8 * HD), 4]",
    new: "Stream[UInt(8 * HD), 4]",
    sums: "Stream[int32[HD], 2]",
    totals: "Stream[int32, 2]",
):
    """Values weighted by softmax in steps of 1 / 255, and the sum of the weights, of each head."""
    newest: UInt(8 * HD)[H]
    for layer in range(LAYERS):
        for hv in range(H):
            fresh: UInt(8 * HD) = given.get()
            newest[hv] = fresh
            new.put(fresh)
        factor: float32 = factors[layer]
        head: UInt(8) = 0
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
            word: UInt(8 * HD) = newest[head]
            if j != last:
                word = values.get()
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
            head = head + 1 if j == last and g == G - 1 else head
            g = (0 if g == G - 1 else g + 1) if j == last else g
            j = 0 if j == last else j + 1


schedule_keep = pipelined("old head")
schedule_score_ahead = pipelined("hq hk key")
schedule_mix_ahead = pipelined("hv key", "acc out")
