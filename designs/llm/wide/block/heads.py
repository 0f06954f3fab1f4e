# ruff: noqa: B007  (loops have names for the schedule)
"""Attention of blocks: every head of a unit, every token of the block, the keys that the token sees.

A token scans the keys of its sequence up to its own, and leaves out those of the last 32 whose bit of its
mask is 0 (:mod:`.rows`). With ``WHOLE``, as in an encoder, every token sees all keys of the step: queries,
keys and values of all blocks come first, and the memories hold those of one layer.

``pack_block``  quantises q, k and v, and joins the output groups of a head, token by token.
``score_block`` keeps the block's keys, then multiplies each query with the keys it may see.
``mix_block``   keeps the block's values, and weights the values of the keys by softmax.

A unit has ``H`` heads of keys and values, and ``G`` queries share each. They come head by head, and each head
token by token; they are scored, and leave, token by token, the ``G`` of a token behind each other.
"""

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, float32, int8, int32, uint8

from ...constants import ROUND
from ...stage import pipelined

LEAST = -(2**31)
"""The score of a key that a token does not see."""


def pack_block[QKV, HD, V, C, LAYERS, B](
    results: "Stream[float32[V], 4]",
    count: int32,
    waves: int32,
    words: "Stream[UInt(8 * HD), 4]",
    layers: "UInt(8)",
):
    """``QKV`` elements a layer and token: queries, keys and values, a word for each head and token."""
    groups: UInt(8 * C)[HD // C, B]
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS if LAYERS > 0 else layers):
        left: int32 = count
        for wave in range(last_wave + 1):
            last: UInt(8) = min(left, B) - 1
            left = left - B
            total: UInt(24) = QKV // V * (last + 1)
            word: UInt(8 * C) = 0
            piece: UInt(8) = 0
            token: UInt(8) = 0
            group: UInt(8) = 0
            for out in range(total):
                block: float32[V] = results.get()
                packed: UInt(8 * C) = 0
                for v in range(V):
                    clamped: float32 = min(max(block[v], -127.0), 127.0)
                    shifted: float32 = clamped + ROUND
                    bits: UInt(32) = shifted.bitcast()
                    packed[8 * (C - V + v) : 8 * (C - V + v) + 8] = bits[0:8]
                joined: UInt(8 * C) = (word >> (8 * V)) | packed
                word = joined
                if piece == C // V - 1:
                    if group == HD // C - 1:
                        whole: UInt(8 * HD) = 0
                        with allo.meta_for(HD // C - 1) as e:
                            whole[8 * C * e : 8 * C * e + 8 * C] = groups[e, token]
                        whole[8 * (HD - C) : 8 * HD] = joined
                        words.put(whole)
                    else:
                        groups[group, token] = joined
                    if token == last:
                        group = 0 if group == HD // C - 1 else group + 1
                    token = 0 if token == last else token + 1
                piece = 0 if piece == C // V - 1 else piece + 1


def score_block[HD, H, G, ROOM, LAYERS, B, WHOLE](
    asked: "Stream[UInt(8 * HD), 4]",
    plans: "Stream[UInt(80), 4]",
    count: int32,
    waves: int32,
    keys: "UInt(8 * HD)[(LAYERS - WHOLE * (LAYERS - 1)) * H * ROOM]",
    scores: "Stream[int32, 4]",
    peaks: "Stream[int32, 4]",
):
    """Scores of the tokens of each block, head by head; behind each token's its peak.

    ``plans`` has what :func:`.stages.attention.planning` says of a block: how many scores there are but one,
    where each new key goes, and which keys each token scans.
    """
    queries: UInt(8 * HD)[H * G * (B + WHOLE * (ROOM - B))]
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS):
        left: int32 = count
        q: UInt(16) = 0
        with allo.meta_if(WHOLE == 1):
            for before in range(last_wave + 1):
                size: UInt(16) = min(left, B)
                come: UInt(16) = H * size
                for hq in range(come):
                    queries[q + hq] = asked.get()
                for new in range(come):
                    seat: UInt(80) = plans.get()
                    keys[seat[0:32] + seat[32:48]] = asked.get()
                q = q + come
                left = left - B
            left = count
            q = 0
        for wave in range(last_wave + 1):
            n: UInt(16) = min(left, B)
            whole: UInt(80) = plans.get()
            last_key: UInt(31) = whole[0:31]
            with allo.meta_if(WHOLE == 0):
                come: UInt(16) = H * G * n
                with allo.meta_if(G == 1):
                    for hq in range(come):
                        queries[hq] = asked.get()
                with allo.meta_else():
                    place: UInt(16) = 0
                    origin: UInt(16) = 0
                    of_head: UInt(8) = 0
                    nth: UInt(8) = 0
                    for hq in range(come):
                        queries[place] = asked.get()
                        behind: UInt(16) = (place if of_head == G - 1 else origin) + 1
                        place = behind if nth == n - 1 else place + G
                        origin = behind if nth == n - 1 else origin
                        of_head = (
                            (0 if of_head == G - 1 else of_head + 1) if nth == n - 1 else of_head
                        )
                        nth = 0 if nth == n - 1 else nth + 1
                given: UInt(16) = H * n
                for new in range(given):
                    seat: UInt(80) = plans.get()
                    keys[seat[0:32] + seat[32:48]] = asked.get()
                q = 0
            at: UInt(32) = 0
            to_go: UInt(16) = 0
            mask: UInt(32) = 0
            best: int32 = 0
            fresh: UInt(1) = 1
            for key in range(last_key + 1):
                if fresh == 1:
                    plan: UInt(80) = plans.get()
                    at = plan[0:32]
                    to_go = plan[32:48]
                    mask = plan[48:80]
                query: UInt(8 * HD) = queries[q]
                word: UInt(8 * HD) = keys[at]
                dot: int32 = 0
                for c in range(HD):
                    left8: int8 = query[8 * c : 8 * c + 8]
                    right8: int8 = word[8 * c : 8 * c + 8]
                    dot += left8 * right8
                scores.put(dot)
                shifted: UInt(32) = mask >> to_go
                seen: int32 = dot if to_go > 31 or shifted[0] == 1 else LEAST
                peak: int32 = seen if fresh == 1 else max(best, seen)
                best = peak
                if to_go == 0:
                    peaks.put(peak)
                    q = q + 1
                fresh = 1 if to_go == 0 else 0
                at = at + 1
                to_go = to_go - 1
            left = left - B


def mix_block[HD, H, G, ROOM, LAYERS, B, WHOLE](
    given: "Stream[UInt(8 * HD), 4]",
    plans: "Stream[UInt(80), 4]",
    scores: "Stream[int32, 4]",
    peaks: "Stream[int32, 4]",
    count: int32,
    waves: int32,
    factors: "float32[LAYERS]",
    values: "UInt(8 * HD)[(LAYERS - WHOLE * (LAYERS - 1)) * H * ROOM]",
    sums: "Stream[UInt(32 * HD), 2]",
    totals: "Stream[int32, 2]",
):
    """Values weighted by softmax in steps of 1 / 255, and the sum of the weights, of each token."""
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS):
        factor: float32 = factors[layer]
        left: int32 = count
        with allo.meta_if(WHOLE == 1):
            for before in range(last_wave + 1):
                size: UInt(16) = min(left, B)
                come: UInt(16) = H * size
                for new in range(come):
                    seat: UInt(80) = plans.get()
                    values[seat[0:32] + seat[32:48]] = given.get()
                left = left - B
            left = count
        for wave in range(last_wave + 1):
            n: UInt(16) = min(left, B)
            whole: UInt(80) = plans.get()
            last_key: UInt(31) = whole[0:31]
            with allo.meta_if(WHOLE == 0):
                come: UInt(16) = H * n
                for new in range(come):
                    seat: UInt(80) = plans.get()
                    values[seat[0:32] + seat[32:48]] = given.get()
            at: UInt(32) = 0
            to_go: UInt(16) = 0
            mask: UInt(32) = 0
            best: int32 = 0
            sum: int32 = 0
            acc: int32[HD] = 0
            fresh: UInt(1) = 1
            for key in range(last_key + 1):
                if fresh == 1:
                    plan: UInt(80) = plans.get()
                    at = plan[0:32]
                    to_go = plan[32:48]
                    mask = plan[48:80]
                    best = peaks.get()
                below: float32 = scores.get() - best
                weight: float32 = allo.exp(below * factor)
                shifted: float32 = weight * 255.0 + ROUND
                bits: UInt(32) = shifted.bitcast()
                among: UInt(32) = mask >> to_go
                share: uint8 = bits[0:8] if to_go > 31 or among[0] == 1 else 0
                word: UInt(8 * HD) = values[at]
                after_sum: int32 = share + (0 if fresh == 1 else sum)
                sum = after_sum
                out: UInt(32 * HD) = 0
                for c in range(HD):
                    value: int8 = word[8 * c : 8 * c + 8]
                    after: int32 = share * value + (0 if fresh == 1 else acc[c])
                    acc[c] = after
                    out[32 * c : 32 * c + 32] = after
                if to_go == 0:
                    sums.put(out)
                    totals.put(after_sum)
                fresh = 1 if to_go == 0 else 0
                at = at + 1
                to_go = to_go - 1
            left = left - B


def schedule_pack_block(s: Schedule, pieces: int) -> Schedule:
    """V elements a cycle.

    Args:
        pieces: ``C // V``. A head's group is stored so many iterations before it is joined, or more.
    """
    if pieces > 1:
        s.dependence("groups", "out", "all", pieces)
    return pipelined("out", "block", groups=1)(s)


schedule_score_block = pipelined("hq new key")


def schedule_mix_block(s: Schedule) -> Schedule:
    """One value of a head's width a cycle; two products of a weight are in one multiplier block."""
    s.bind("mul", "packed", axis="c")
    return pipelined("new key", "acc")(s)
