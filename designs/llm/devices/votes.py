"""The token that the logits prefer, where every device has a part of the vocabulary.

A vote is a token in the lower half of a word and its logit in the upper half. The largest logit wins; of
equal ones, the lowest token.
"""

from allo.ir.types import Stream, UInt, float32, int32

from ..stage import pipelined

LOWEST = -3.0e38
"""Below all logits."""


def say[V, OUTPUTS, VOCAB, STEPS](
    said: "Stream[float32[V], 4]",
    first: int32,
    step: int32,
    memory: "UInt(32 * V)[STEPS * OUTPUTS // V]",
    vote: "Stream[UInt(64), 2]",
):
    """Write the logits of tokens ``first``, ``first + 1`` … of a step, and vote for the largest."""
    best: float32[V] = LOWEST
    place: int32[V] = 0
    for out in range(OUTPUTS // V):
        block: float32[V] = said.get()
        word: UInt(32 * V) = 0
        for v in range(V):
            bits: UInt(32) = block[v].bitcast()
            word[32 * v : 32 * v + 32] = bits
            at: int32 = first + out * V + v
            if block[v] > best[v] and at < VOCAB:
                best[v] = block[v]
                place[v] = at
        memory[step * (OUTPUTS // V) + out] = word
    top: float32 = LOWEST
    winner: int32 = 0
    for lane in range(V):
        same: bool = best[lane] == top and place[lane] < winner
        if best[lane] > top or same:
            top = best[lane]
            winner = place[lane]
    ballot: UInt(64) = 0
    top_bits: UInt(32) = top.bitcast()
    ballot[0:32] = winner
    ballot[32:64] = top_bits
    vote.put(ballot)


def elect[P](
    vote: "Stream[UInt(64), 2]", ring_out: "Stream[UInt(64), 4]", ring_in: "Stream[UInt(64), 4]"
) -> UInt(32):
    """The winner of the votes of P devices, which every one of them finds."""
    own: UInt(64) = vote.get()
    ring_out.put(own)
    winner: int32 = own[0:32]
    top_bits: UInt(32) = own[32:64]
    top: float32 = top_bits.bitcast()
    for hop in range(P - 1):
        theirs: UInt(64) = ring_in.get()
        if hop < P - 2:
            ring_out.put(theirs)
        place: int32 = theirs[0:32]
        bits: UInt(32) = theirs[32:64]
        value: float32 = bits.bitcast()
        if value > top or (value == top and place < winner):
            top = value
            winner = place
    return winner


schedule_say = pipelined("out", "block best place")
