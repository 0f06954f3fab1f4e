# ruff: noqa: B007  (loops have names for the schedule)
"""The k largest logits and their tokens, kept while the logits stream by.

``P`` sorted lists of K registers take one logit a cycle each: a logit is compared with all of its list, and
what is smaller moves down by one place (a systolic insertion sort). List p takes every P-th logit. Behind
the last logit the other lists are inserted into the first one.

**Any data take the same time**, so there is no worst case: V logits need V / P cycles, and P * K cycles
more come at the end. With P at least the outputs that the elements end in a cycle, C * L / D, the stream
of logits never waits (:func:`lists` of the parameters).

Equal logits are ordered by their tokens, the smaller first, and a zero is equal to a negative zero, which
is given as zero. A NaN comes behind all numbers, also behind negative infinity, and is given as the quiet
NaN.
"""

from allo.ir.types import Stream, UInt, float32, index

from ...stage import pipelined

QUIET_NAN = 0x7FC00000


def rank_of(bits: UInt(32)) -> UInt(32):
    """A number that is larger for a larger float32, and 1 for a NaN; 0 is left for an empty place."""
    size: UInt(31) = bits[0:31]
    mirrored: UInt(32) = ~bits
    raised: UInt(32) = bits | 0x80000000
    rank: UInt(32) = mirrored if bits[31] == 1 else raised
    if size == 0:
        rank = 0x80000000
    if size > 0x7F800000:
        rank = 1
    return rank


def value_of(rank: UInt(32)) -> UInt(32):
    """The bits of the float32 that has a rank."""
    mirrored: UInt(32) = ~rank
    size: UInt(32) = rank & 0x7FFFFFFF
    bits: UInt(32) = size if rank[31] == 1 else mirrored
    if rank == 1:
        bits = QUIET_NAN
    return bits


def insert[K](listed: "UInt(64)[K]", key: UInt(64)):
    """Put a key behind those of a sorted list that are larger; the last one leaves."""
    for n in range(K):
        at: index = K - 1 - n
        old: UInt(64) = listed[at]
        if at == 0:
            listed[at] = key if key > old else old
        else:
            up: UInt(64) = listed[at - 1]
            moved: UInt(64) = up if key > up else key
            listed[at] = moved if key > old else old


def keep_largest[V, P, K, VOCAB, WORDS](
    logits: "Stream[float32[V], 4]",
    found: "Stream[UInt(64), 4]",
):
    """The K largest of the first VOCAB logits, largest first: the token in the upper half, the bits below.

    A key is the rank of a logit, and below it the complement of its token.
    """
    lists: UInt(64)[P, K] = 0
    held: float32[V] = 0.0
    token: UInt(32) = 0
    for word in range(WORDS):
        for turn in range(V // P):
            if turn == 0:
                block: float32[V] = logits.get()
                for v in range(V):
                    held[v] = block[v]
            else:
                for m in range(V - P):
                    held[m] = held[m + P]
            for p in range(P):
                bits: UInt(32) = held[p].bitcast()
                place: UInt(32) = token + p
                key: UInt(64) = 0
                if place < VOCAB:
                    key[0:32] = ~place
                    key[32:64] = rank_of(bits)
                insert[K](lists[p], key)
            token = token + P
    for q in range(P - 1):
        for i in range(K):
            first: UInt(64) = lists[q + 1, 0]
            for n in range(K - 1):
                lists[q + 1, n] = lists[q + 1, n + 1]
            insert[K](lists[0], first)
    for out in range(K):
        best: UInt(64) = lists[0, 0]
        rank: UInt(32) = best[32:64]
        below: UInt(32) = best[0:32]
        winner: UInt(64) = value_of(rank)
        winner[32:64] = ~below
        found.put(winner)
        for n in range(K - 1):
            lists[0, n] = lists[0, n + 1]


schedule_keep_largest = pipelined("turn i out", "lists held block")
