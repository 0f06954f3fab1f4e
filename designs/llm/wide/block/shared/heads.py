# ruff: noqa: B007  (loops have names for the schedule)
"""Attention of blocks where queries share a key: of T tokens of a sequence, and of the G heads of a group.

A unit has ``G * T`` lanes, and a key meets the queries of all of them in a cycle. Tokens of a block are taken
T at a time, in a pass for each run of them that is of one sequence. A pass scans the keys up to the last
token's, and the mask of each token says which it sees: bit b is of the entry b before the last token's.

``score_shared``  hands on the block's keys, then multiplies the queries of a pass with the keys it scans.
``mix_shared``    hands on the block's values, and weights those of the keys by softmax in each lane.

Keys and values come from the processes that keep them (:mod:`.kept`).

Scores, order of the sums and what leaves are those of :mod:`..heads`.
"""

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, float32, int8, int32, uint8

from ....constants import ROUND
from ....stage import pipelined
from ..heads import LEAST


def score_shared[HD, H, G, LAYERS, B, T, LOG_T](
    asked: "Stream[UInt(8 * HD), 4]",
    plans: "Stream[UInt(32 + T * (32 + T)), 4]",
    count: int32,
    waves: int32,
    new: "Stream[UInt(8 * HD), 4]",
    keys: "Stream[UInt(8 * HD), 4]",
    scores: "Stream[int32[G * T], 4]",
    peaks: "Stream[int32[G * T], 4]",
    layers: "UInt(8)",
):
    """Scores of the tokens of each block, head by head and pass by pass; behind each pass the peaks.

    ``plans`` has what :func:`.stages.planning` says of a block: how many keys are scanned but one, and of
    each pass how many but one, its row of queries, and the tokens' masks.
    """
    queries: UInt(8 * HD)[G * T, H * ((B + T - 1) // T)]
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS if LAYERS > 0 else layers):
        left: int32 = count
        for wave in range(last_wave + 1):
            n: UInt(16) = min(left, B)
            left = left - B
            whole: UInt(32 + T * (32 + T)) = plans.get()
            last_key: UInt(31) = whole[0:31]
            come: UInt(16) = H * G * n
            nth: UInt(8) = 0
            of_head: UInt(8) = 0
            head_row: UInt(16) = 0
            for hq in range(come):
                lane: UInt(8) = (nth & (T - 1)) * G + of_head
                queries[lane, head_row + (nth >> LOG_T)] = asked.get()
                if nth == n - 1:
                    head_row = head_row + (B + T - 1) // T if of_head == G - 1 else head_row
                    of_head = 0 if of_head == G - 1 else of_head + 1
                nth = 0 if nth == n - 1 else nth + 1
            given: UInt(16) = H * n
            for fresh_key in range(given):
                new.put(asked.get())
            to_go: UInt(16) = 0
            row: UInt(16) = 0
            masks: UInt(T * (32 + T)) = 0
            best: int32[G * T] = 0
            fresh: UInt(1) = 1
            for key in range(last_key + 1):
                if fresh == 1:
                    plan: UInt(32 + T * (32 + T)) = plans.get()
                    to_go = plan[0:16]
                    row = plan[16:32]
                    masks = plan[32 : 32 + T * (32 + T)]
                word: UInt(8 * HD) = keys.get()
                dots: int32[G * T]
                tops: int32[G * T]
                for q in range(G * T):
                    query: UInt(8 * HD) = queries[q, row]
                    dot: int32 = 0
                    for c in range(HD):
                        left8: int8 = query[8 * c : 8 * c + 8]
                        right8: int8 = word[8 * c : 8 * c + 8]
                        dot += left8 * right8
                    dots[q] = dot
                    mask: UInt(31 + T) = masks[(32 + T) * (q // G) : (32 + T) * (q // G) + 31 + T]
                    shifted: UInt(31 + T) = mask >> to_go
                    seen: int32 = dot if to_go > 30 + T or shifted[0] == 1 else LEAST
                    peak: int32 = seen if fresh == 1 else max(best[q], seen)
                    best[q] = peak
                    tops[q] = peak
                scores.put(dots)
                if to_go == 0:
                    peaks.put(tops)
                fresh = 1 if to_go == 0 else 0
                to_go = to_go - 1


def mix_shared[HD, H, G, LAYERS, HELD, B, T](
    given: "Stream[UInt(8 * HD), 4]",
    plans: "Stream[UInt(32 + T * (32 + T)), 4]",
    scores: "Stream[int32[G * T], 4]",
    peaks: "Stream[int32[G * T], 4]",
    count: int32,
    waves: int32,
    factors: "float32[HELD]",
    new: "Stream[UInt(8 * HD), 4]",
    values: "Stream[UInt(8 * HD), 4]",
    passes: "Stream[UInt(32 * (HD + 1) * G * T + T), 2]",
    layers: "UInt(8)",
    first_layer: "UInt(8)",
):
    """Values weighted by softmax in steps of 1 / 255, and above them the sum of the weights, of each lane.

    The last T bits of a pass say which of its tokens there are.
    """
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS if LAYERS > 0 else layers):
        factor: float32 = factors[layer if LAYERS > 0 else first_layer + layer]
        left: int32 = count
        for wave in range(last_wave + 1):
            n: UInt(16) = min(left, B)
            left = left - B
            whole: UInt(32 + T * (32 + T)) = plans.get()
            last_key: UInt(31) = whole[0:31]
            come: UInt(16) = H * n
            for fresh_value in range(come):
                new.put(given.get())
            to_go: UInt(16) = 0
            masks: UInt(T * (32 + T)) = 0
            best: int32[G * T] = 0
            sum: int32[G * T] = 0
            acc: int32[G * T, HD] = 0
            fresh: UInt(1) = 1
            for key in range(last_key + 1):
                if fresh == 1:
                    plan: UInt(32 + T * (32 + T)) = plans.get()
                    to_go = plan[0:16]
                    masks = plan[32 : 32 + T * (32 + T)]
                    tops: int32[G * T] = peaks.get()
                    for b in range(G * T):
                        best[b] = tops[b]
                dots: int32[G * T] = scores.get()
                word: UInt(8 * HD) = values.get()
                out: UInt(32 * (HD + 1) * G * T + T) = 0
                for q in range(G * T):
                    below: float32 = dots[q] - best[q]
                    weight: float32 = allo.exp(below * factor)
                    rounded: float32 = weight * 255.0 + ROUND
                    bits: UInt(32) = rounded.bitcast()
                    mask: UInt(31 + T) = masks[(32 + T) * (q // G) : (32 + T) * (q // G) + 31 + T]
                    among: UInt(31 + T) = mask >> to_go
                    share: uint8 = bits[0:8] if to_go > 30 + T or among[0] == 1 else 0
                    after_sum: int32 = share + (0 if fresh == 1 else sum[q])
                    sum[q] = after_sum
                    for c in range(HD):
                        value: int8 = word[8 * c : 8 * c + 8]
                        after: int32 = share * value + (0 if fresh == 1 else acc[q, c])
                        acc[q, c] = after
                        out[32 * ((HD + 1) * q + c) : 32 * ((HD + 1) * q + c) + 32] = after
                    out[32 * ((HD + 1) * q + HD) : 32 * ((HD + 1) * q + HD) + 32] = after_sum
                with allo.meta_for(T) as t:
                    there: UInt(1) = masks[(32 + T) * t + 31 + T : (32 + T) * (t + 1)]
                    out[32 * (HD + 1) * G * T + t : 32 * (HD + 1) * G * T + t + 1] = there
                if to_go == 0:
                    passes.put(out)
                fresh = 1 if to_go == 0 else 0
                to_go = to_go - 1


def schedule_score_shared(s: Schedule) -> Schedule:
    """A key a cycle; two products of a key's element are in one multiplier block."""
    s.bind("mul", "packed", axis="key")
    return pipelined("hq fresh_key key", "dots tops best", queries=1)(s)


def schedule_mix_shared(s: Schedule) -> Schedule:
    """A value a cycle; two products of a weight are in one multiplier block."""
    s.bind("mul", "packed", axis="c")
    return pipelined("fresh_value key", "best sum acc dots tops")(s)
