# ruff: noqa: B007  (loops have names for the schedule)
"""Attention of blocks: every head of a unit, every token of the block, all keys up to the token's own.

With ``WHOLE``, as in an encoder, every token sees all keys of the step: queries, keys and values of all
blocks come first, and the memories hold those of one layer.

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


def pack_block[QKV, HD, V, C, LAYERS, B](
    results: "Stream[float32[V], 4]",
    count: int32,
    waves: int32,
    words: "Stream[UInt(8 * HD), 4]",
):
    """``QKV`` elements a layer and token: queries, keys and values, a word for each head and token."""
    groups: UInt(8 * C)[HD // C, B]
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS):
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


def score_block[HD, H, G, CTX, LAYERS, B, WHOLE](asked: "Stream[UInt(8 * HD), 4]", start: int32,
    count: int32, waves: int32, keys: "UInt(8 * HD)[(LAYERS - WHOLE * (LAYERS - 1)) * H * CTX]",
    scores: "Stream[int32, 4]", peaks: "Stream[int32, 4]",
):  # fmt: skip
    """Scores of the tokens at ``start`` … of each block, head by head; behind each token's its peak."""
    queries: UInt(8 * HD)[H * G * (B + WHOLE * (CTX - B))]
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS):
        left: int32 = count
        first: int32 = start
        q: UInt(16) = 0
        with allo.meta_if(WHOLE == 1):
            for before in range(last_wave + 1):
                size: UInt(16) = min(left, B)
                come: UInt(16) = H * size
                for hq in range(come):
                    queries[q + hq] = asked.get()
                for hk in range(H):
                    for tk in range(size):
                        keys[hk * CTX + first + tk] = asked.get()
                q = q + come
                left = left - B
                first = first + B
            left = count
            q = 0
        for wave in range(last_wave + 1):
            last: UInt(8) = min(left, B) - 1
            n: UInt(16) = last + 1
            row: int32 = 0
            j: UInt(16) = 0
            token: UInt(8) = 0
            to_go: UInt(16) = 0
            end: UInt(16) = 0
            again: UInt(16) = 0
            following: UInt(16) = 0
            turn: UInt(8) = 0
            best: int32 = 0
            last_key: UInt(31) = 0
            with allo.meta_if(WHOLE == 1):
                to_go = count - 1
                following = count - 1
                last_key = H * n * count - 1
            with allo.meta_else():
                come: UInt(16) = H * G * (last + 1)
                with allo.meta_if(G == 1):
                    for hq in range(come):
                        queries[hq] = asked.get()
                with allo.meta_else():
                    at: UInt(16) = 0
                    origin: UInt(16) = 0
                    of_head: UInt(8) = 0
                    nth: UInt(8) = 0
                    for hq in range(come):
                        queries[at] = asked.get()
                        behind: UInt(16) = (at if of_head == G - 1 else origin) + 1
                        at = behind if nth == last else at + G
                        origin = behind if nth == last else origin
                        of_head = (
                            (0 if of_head == G - 1 else of_head + 1) if nth == last else of_head
                        )
                        nth = 0 if nth == last else nth + 1
                for hk in range(H):
                    for tk in range(n):
                        keys[(layer * H + hk) * CTX + first + tk] = asked.get()
                row = layer * H * CTX
                q = 0
                to_go = first
                end = first + n - 1
                again = first
                following = first if n == 1 or G > 1 else first + 1
                turn = G > 1
                last_key = H * G * (n * first + (n * (n + 1)) // 2) - 1
            for key in range(last_key + 1):
                upcoming: UInt(16) = following
                query: UInt(8 * HD) = queries[q]
                word: UInt(8 * HD) = keys[row + j]
                dot: int32 = 0
                for c in range(HD):
                    left8: int8 = query[8 * c : 8 * c + 8]
                    right8: int8 = word[8 * c : 8 * c + 8]
                    dot += left8 * right8
                scores.put(dot)
                peak: int32 = dot if j == 0 else max(best, dot)
                best = peak
                if to_go == 0:
                    peaks.put(peak)
                    q = q + 1
                    with allo.meta_if(WHOLE == 1):
                        row = row + CTX if token == last else row
                        token = 0 if token == last else token + 1
                    with allo.meta_elif(G == 1):
                        row = row + CTX if following == again else row
                        following = again if following == end else following + 1
                    with allo.meta_else():
                        row = row + CTX if following == again and turn == 0 else row
                        behind_it: UInt(16) = again if following == end else following + 1
                        following = behind_it if turn == G - 1 else following
                        turn = 0 if turn == G - 1 else turn + 1
                j = 0 if to_go == 0 else j + 1
                to_go = upcoming if to_go == 0 else to_go - 1
            left = left - B
            first = first + B


def mix_block[HD, H, G, CTX, LAYERS, B, WHOLE](
    given: "Stream[UInt(8 * HD), 4]", scores: "Stream[int32, 4]", peaks: "Stream[int32, 4]",
    start: int32, count: int32, waves: int32, factors: "float32[LAYERS]",
    values: "UInt(8 * HD)[(LAYERS - WHOLE * (LAYERS - 1)) * H * CTX]",
    sums: "Stream[UInt(32 * HD), 2]", totals: "Stream[int32, 2]",
):  # fmt: skip
    """Values weighted by softmax in steps of 1 / 255, and the sum of the weights, of each token."""
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS):
        factor: float32 = factors[layer]
        left: int32 = count
        first: int32 = start
        with allo.meta_if(WHOLE == 1):
            for before in range(last_wave + 1):
                size: UInt(16) = min(left, B)
                for hv in range(H):
                    for tv in range(size):
                        values[hv * CTX + first + tv] = given.get()
                left = left - B
                first = first + B
            left = count
        for wave in range(last_wave + 1):
            last: UInt(8) = min(left, B) - 1
            n: UInt(16) = last + 1
            row: int32 = 0
            j: UInt(16) = 0
            token: UInt(8) = 0
            to_go: UInt(16) = 0
            end: UInt(16) = 0
            again: UInt(16) = 0
            following: UInt(16) = 0
            turn: UInt(8) = 0
            best: int32 = 0
            sum: int32 = 0
            acc: int32[HD] = 0
            last_key: UInt(31) = 0
            with allo.meta_if(WHOLE == 1):
                to_go = count - 1
                following = count - 1
                last_key = H * n * count - 1
            with allo.meta_else():
                for hv in range(H):
                    for tv in range(n):
                        values[(layer * H + hv) * CTX + first + tv] = given.get()
                row = layer * H * CTX
                to_go = first
                end = first + n - 1
                again = first
                following = first if n == 1 or G > 1 else first + 1
                turn = G > 1
                last_key = H * G * (n * first + (n * (n + 1)) // 2) - 1
            for key in range(last_key + 1):
                upcoming: UInt(16) = following
                if j == 0:
                    best = peaks.get()
                below: float32 = scores.get() - best
                weight: float32 = allo.exp(below * factor)
                shifted: float32 = weight * 255.0 + ROUND
                bits: UInt(32) = shifted.bitcast()
                share: uint8 = bits[0:8]
                word: UInt(8 * HD) = values[row + j]
                after_sum: int32 = share + (0 if j == 0 else sum)
                sum = after_sum
                out: UInt(32 * HD) = 0
                for c in range(HD):
                    value: int8 = word[8 * c : 8 * c + 8]
                    after: int32 = share * value + (0 if j == 0 else acc[c])
                    acc[c] = after
                    out[32 * c : 32 * c + 32] = after
                if to_go == 0:
                    sums.put(out)
                    totals.put(after_sum)
                    with allo.meta_if(WHOLE == 1):
                        row = row + CTX if token == last else row
                        token = 0 if token == last else token + 1
                    with allo.meta_elif(G == 1):
                        row = row + CTX if following == again else row
                        following = again if following == end else following + 1
                    with allo.meta_else():
                        row = row + CTX if following == again and turn == 0 else row
                        behind_it: UInt(16) = again if following == end else following + 1
                        following = behind_it if turn == G - 1 else following
                        turn = 0 if turn == G - 1 else turn + 1
                j = 0 if to_go == 0 else j + 1
                to_go = upcoming if to_go == 0 else to_go - 1
            left = left - B
            first = first + B


def schedule_pack_block(s: Schedule, pieces: int) -> Schedule:
    """V elements a cycle.

    Args:
        pieces: ``C // V``. A head's group is stored so many iterations before it is joined, or more.
    """
    if pieces > 1:
        s.dependence("groups", "out", "all", pieces)
    return pipelined("out", "block", groups=1)(s)


schedule_score_block = pipelined("hq tk key")


def schedule_mix_block(s: Schedule) -> Schedule:
    """One value of a head's width a cycle; two products of a weight are in one multiplier block."""
    s.bind("mul", "packed", axis="c")
    return pipelined("tv key", "acc")(s)
