# ruff: noqa: B007  (loops have names for the schedule)
"""Attention with keys and values in external memory, which are read once, and ahead of their use.

``keep``        one for the keys and one for the values of each unit: streams what earlier tokens left, layer
                by layer, as far ahead as the stream behind it is deep; then it writes the new ones. Where
                the channels of the weights hold the cache, :mod:`.serve` does that.
``score_ahead`` multiplies ``K`` keys with all ``G`` queries that share them, a cycle.
``weigh_ahead`` makes weights of softmax of their scores.
``mix_ahead``   weights ``K`` values for all ``G`` queries, a cycle.

A word of the stream holds ``K`` positions of a head, position j in place j mod K; the last word of a head
may be filled in part. The newest key and value of each head are used directly, so **nothing that a step
writes is read back in it**.
Once the new keys of a layer are there, ``keep`` reads those of the next one, while the elements have the
other jobs of the layer. The arithmetic is that of :mod:`..heads`.
"""

import allo
from allo.customize import Schedule
from allo.ir.types import Int, Stream, UInt, float32, int8, int32

from ...stage import pipelined


def keep[HD, H, K, CTX, LAYERS](
    memory: "UInt(8 * HD)[LAYERS * H * CTX]",
    start: int32,
    new: "Stream[UInt(8 * HD), 4]",
    words: "Stream[UInt(8 * HD * K), 4]",
):
    """The words of all positions before ``start``, ``K`` together, head by head; then the new ones."""
    for layer in range(LAYERS):
        row: int32 = layer * H * CTX
        j: UInt(20) = 0
        place: UInt(8) = 0
        joined: UInt(8 * HD * K) = 0
        last: UInt(20) = start - 1
        total: UInt(24) = start * H
        for old in range(total):
            word: UInt(8 * HD) = memory[row + j]
            with allo.meta_for(K) as k:
                if place == k:
                    joined[8 * HD * k : 8 * HD * k + 8 * HD] = word
            if place == K - 1 or j == last:
                words.put(joined)
            place = 0 if place == K - 1 or j == last else place + 1
            row = row + CTX if j == last else row
            j = 0 if j == last else j + 1
        for head in range(H):
            memory[(layer * H + head) * CTX + start] = new.get()


def score_ahead[HD, H, G, K, LAYERS, SCORE, KEPT, BITS, GROUP](
    asked: "Stream[UInt(8 * HD), 4]",
    start: int32,
    keys: "Stream[UInt(KEPT * K), 4]",
    new: "Stream[UInt(KEPT), 4]",
    scores: "Stream[Int(SCORE)[G * K], 4]",
    peaks: "Stream[Int(SCORE)[G], 4]",
):
    """Scores of one token at position ``start``, head by head, the peaks of its queries behind them.

    A key has ``KEPT`` bits: elements of ``BITS``, and of four bits above them a step for every ``GROUP``.
    """
    queries: UInt(8 * HD * G)[H]
    newest: UInt(KEPT)[H]
    for layer in range(LAYERS):
        several: UInt(8 * HD * G) = 0
        share: UInt(8) = 0
        asking: UInt(8) = 0
        for hq in range(H * G):
            query: UInt(8 * HD) = asked.get()
            with allo.meta_for(G) as g:
                if share == g:
                    several[8 * HD * g : 8 * HD * g + 8 * HD] = query
            if share == G - 1:
                queries[asking] = several
            asking = asking + 1 if share == G - 1 else asking
            share = 0 if share == G - 1 else share + 1
        for hk in range(H):
            came: UInt(8 * HD) = asked.get()
            fresh: UInt(KEPT) = came[0:KEPT]
            newest[hk] = fresh
            new.put(fresh)
        h: UInt(8) = 0
        j: UInt(20) = 0
        best: Int(SCORE)[G] = 0
        position: UInt(20) = start
        last: UInt(20) = position // K
        own: UInt(8) = position % K
        total: UInt(24) = (last + 1) * H
        for key in range(total):
            heads: UInt(8 * HD * G) = queries[h]
            word: UInt(KEPT * K) = 0
            if j != last or own != 0:
                word = keys.get()
            with allo.meta_for(K) as k:
                if j == last and own == k:
                    word[KEPT * k : KEPT * k + KEPT] = newest[h]
            dots: Int(SCORE)[G * K]
            peaked: Int(SCORE)[G]
            with allo.meta_for(G) as g:
                peak: int32 = 0
                with allo.meta_for(K) as k:
                    dot: int32 = 0
                    held: UInt(KEPT) = word[KEPT * k : KEPT * k + KEPT]
                    with allo.meta_for(HD // GROUP) as part:
                        some: int32 = 0
                        for c in range(GROUP * part, GROUP * part + GROUP):
                            at: int8 = heads[8 * (HD * g + c) : 8 * (HD * g + c) + 8]
                            right: Int(BITS) = held[BITS * c : BITS * c + BITS]
                            some += at * right
                        with allo.meta_if(BITS == 4):
                            step: UInt(5) = held[4 * HD + 8 * part : 4 * HD + 8 * part + 5]
                            dot += some * step
                        with allo.meta_else():
                            dot += some
                    dots[g * K + k] = dot
                    with allo.meta_if(k == 0):
                        peak = dot
                    with allo.meta_else():
                        if j != last or k <= own:
                            peak = max(peak, dot)
                peak = peak if j == 0 else max(best[g], peak)
                best[g] = peak
                peaked[g] = peak
            scores.put(dots)
            if j == last:
                peaks.put(peaked)
            h = h + 1 if j == last else h
            j = 0 if j == last else j + 1


def weigh_ahead[G, K, H, LAYERS, SCORE](
    scores: "Stream[Int(SCORE)[G * K], 4]",
    peaks: "Stream[Int(SCORE)[G], 4]",
    start: int32,
    factors: "float32[LAYERS]",
    shares: "Stream[UInt(8 * G * K), 2]",
    totals: "Stream[UInt(32 * G), 2]",
):
    """Weights of softmax in steps of 1 / 255, and their sum, of each query of a head.

    255 times a weight is rounded to the nearest whole number, after float32 has rounded the product: both in
    the bits of the weight, which are right for all weights from 0 to 1.
    """
    for layer in range(LAYERS):
        factor: float32 = factors[layer]
        j: UInt(20) = 0
        best: Int(SCORE)[G] = 0
        sum: int32[G] = 0
        position: UInt(20) = start
        last: UInt(20) = position // K
        own: UInt(8) = position % K
        total: UInt(24) = (last + 1) * H
        for key in range(total):
            if j == 0:
                highest: Int(SCORE)[G] = peaks.get()
                for q in range(G):
                    best[q] = highest[q]
            dots: Int(SCORE)[G * K] = scores.get()
            levels: UInt(8 * G * K) = 0
            weighed: UInt(32 * G) = 0
            with allo.meta_for(G) as g:
                level_sum: int32 = 0
                with allo.meta_for(K) as k:
                    below: float32 = dots[g * K + k] - best[g]
                    weight: float32 = allo.exp(below * factor)
                    bits: UInt(32) = weight.bitcast()
                    whole: UInt(32) = bits[0:23] + 8388608
                    product: UInt(32) = (whole << 8) - whole
                    is_large: UInt(1) = product[31:32]
                    normal: UInt(32) = product if is_large == 1 else product << 1
                    odd: UInt(1) = 1 if (normal[0:7] != 0 or normal[8:9] == 1) else 0
                    up: UInt(1) = normal[7:8] & odd
                    rounded: UInt(33) = normal[8:32] + up
                    exponent: Int(10) = bits[23:31]
                    left: Int(10) = exponent + is_large - 119
                    by: UInt(4) = left[0:4]
                    moved: UInt(33) = rounded << by
                    rest: UInt(1) = 1 if (moved[0:23] != 0 or moved[24:25] == 1) else 0
                    more: UInt(1) = moved[23:24] & rest
                    nearest: UInt(8) = moved[24:32] + more
                    if left >= 0 and (j != last or k <= own):
                        level_sum += nearest
                        levels[8 * (g * K + k) : 8 * (g * K + k) + 8] = nearest
                after_sum: int32 = level_sum + (0 if j == 0 else sum[g])
                sum[g] = after_sum
                weighed[32 * g : 32 * g + 32] = after_sum
            shares.put(levels)
            if j == last:
                totals.put(weighed)
            j = 0 if j == last else j + 1


def mix_ahead[HD, H, G, K, V, LAYERS, ACC, KEPT, BITS, GROUP, LANE](
    given: "Stream[UInt(8 * HD), 4]",
    shares: "Stream[UInt(8 * G * K), 2]",
    start: int32,
    values: "Stream[UInt(KEPT * K), 4]",
    new: "Stream[UInt(KEPT), 4]",
    sums: "Stream[UInt(32 * V), 4]",
):
    """Values times their weights, summed for each query of a head; then these sums, V of them a cycle.

    A value is as a key of :func:`score_ahead`. Two levels of four bits that share a step are one product, the
    second ``LANE`` bits above the first.
    The sums move on by V places in each of those cycles, and what comes behind the last one is zero: so
    all are zero when the next head begins.
    """
    newest: UInt(KEPT)[H]
    for layer in range(LAYERS):
        for hv in range(H):
            came: UInt(8 * HD) = given.get()
            fresh: UInt(KEPT) = came[0:KEPT]
            newest[hv] = fresh
            new.put(fresh)
        h: UInt(8) = 0
        j: UInt(20) = 0
        acc: Int(ACC)[G * HD + V] = 0
        position: UInt(20) = start
        last: UInt(20) = position // K
        own: UInt(8) = position % K
        ends: UInt(20) = last + G * HD // V
        total: UInt(24) = (ends + 1) * H
        for key in range(total):
            weights: UInt(8 * G * K) = 0
            if j <= last:
                weights = shares.get()
            word: UInt(KEPT * K) = 0
            if j < last or (j == last and own != 0):
                word = values.get()
            with allo.meta_for(K) as k:
                if j == last and own == k:
                    word[KEPT * k : KEPT * k + KEPT] = newest[h]
            out: UInt(32 * V) = 0
            for v in range(V):
                one: int32 = acc[v]
                out[32 * v : 32 * v + 32] = one
            with allo.meta_for(G) as g, allo.meta_for(HD // GROUP) as part:
                with allo.meta_if(BITS == 8):
                    for c in range(HD):
                        after: int32 = acc[g * HD + c + V] if j > last else acc[g * HD + c]
                        with allo.meta_for(K) as k:
                            share: UInt(8) = weights[8 * (g * K + k) : 8 * (g * K + k) + 8]
                            value: int8 = word[8 * (HD * k + c) : 8 * (HD * k + c) + 8]
                            after += share * value
                        acc[g * HD + c] = after
                with allo.meta_else():
                    for m in range(GROUP * part // 2, GROUP * (part + 1) // 2):
                        both: Int(2 * LANE + 2) = 0
                        with allo.meta_for(K) as k:
                            above: UInt(KEPT - 4 * HD) = word[KEPT * k + 4 * HD : KEPT * k + KEPT]
                            step: UInt(5) = above[8 * part : 8 * part + 5]
                            plain: UInt(8) = weights[8 * (g * K + k) : 8 * (g * K + k) + 8]
                            low: Int(4) = word[KEPT * k + 8 * m : KEPT * k + 8 * m + 4]
                            upper: Int(4) = word[KEPT * k + 8 * m + 4 : KEPT * k + 8 * m + 8]
                            high: Int(LANE + 5) = upper
                            pair: Int(LANE + 5) = (high << LANE) + low
                            both += (plain * step) * pair
                        low_sum: Int(LANE) = both[0:LANE]
                        high_sum: Int(LANE) = both[LANE : 2 * LANE]
                        borrow: UInt(1) = both[LANE - 1 : LANE]
                        first: int32 = acc[g * HD + 2 * m + V] if j > last else acc[g * HD + 2 * m]
                        then: int32 = (
                            acc[g * HD + 2 * m + 1 + V] if j > last else acc[g * HD + 2 * m + 1]
                        )
                        acc[g * HD + 2 * m] = first + low_sum
                        acc[g * HD + 2 * m + 1] = then + high_sum + borrow
            if j > last:
                sums.put(out)
            h = h + 1 if j == ends else h
            j = 0 if j == ends else j + 1


schedule_keep = pipelined("old head")


def schedule_score_ahead(s: Schedule, shared: bool) -> Schedule:
    """A word of keys a cycle. Products that share a query's element or a key's are in one multiplier block.

    Args:
        shared: whether a unit takes several queries or keys at once, so that any do.
    """
    if shared:
        s.bind("mul", "packed", axis="key")
    return pipelined("hq hk key", "best dots peaked")(s)


def schedule_mix_ahead(s: Schedule, shared: bool) -> Schedule:
    """A word of values a cycle; see :func:`schedule_score_ahead`."""
    if shared:
        s.bind("mul", "packed", axis="key")
    return pipelined("hv key", "acc")(s)


schedule_weigh_ahead = pipelined("key", "best sum dots highest")


def score_bits(width: int) -> int:
    """Bits that hold a score of a head of a width."""
    return (width << 14).bit_length() + 1


def weighed_bits(keys: int) -> int:
    """Bits that hold so many weights of up to 255 times a step of up to 19 and a level of up to 7."""
    return (keys * 255 * 133).bit_length() + 1


def sum_bits(context: int) -> int:
    """Bits that hold so many weights of up to 255 times a value, as long as 32 do.

    A value is an int8, or a level of up to 7 times a step of up to 19.
    """
    return min(32, (context * 255 * 133).bit_length() + 1)
