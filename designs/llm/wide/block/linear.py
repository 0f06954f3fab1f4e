# ruff: noqa: B007  (loops have names for the schedule)
"""The linear engine for blocks of tokens: R tokens a cycle, and a weight read once for a block.

A step has ``count`` tokens in ``waves`` blocks of B; the last block may be smaller. Every job is done for
one block after the other, so the weights of a layer's job are read once a block. The last job, the
logits, is done for the last ``spoken`` tokens, a block at most; a model without logits does not have it.
Results come output group by output group, C neighbouring outputs at a time, and within a group token by
token.
"""

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, float32, int8, int32

from ...stage import pipelined


def fetch_blocks[L, QKV, OUT, UP, DOWN, LAYERS, LAST, ENTER](
    memory: "UInt(8 * L)[ENTER + LAYERS * (QKV + OUT + UP + DOWN) + LAST]",
    waves: int32,
    words: "Stream[UInt(8 * L), 2]",
):
    """Every word of a channel in order, and those of a layer's job again for every further block.

    ``QKV``, ``OUT``, ``UP`` and ``DOWN`` are the words of a layer's jobs, ``LAST`` those of the logits, and
    ``ENTER`` those of an entrance, which is job -1, or 0.
    """
    base: UInt(31) = 0
    for job in range(0 - min(ENTER, 1), 4 * LAYERS + min(LAST, 1)):
        last_turn: UInt(8) = waves - 1
        last_word: UInt(31) = DOWN - 1
        if job == 4 * LAYERS:
            last_turn = 0
            last_word = LAST - 1
        elif job & 3 == 0:
            last_word = QKV - 1
        elif job & 3 == 1:
            last_word = OUT - 1
        elif job & 3 == 2:
            last_word = UP - 1
        with allo.meta_if(ENTER > 0):
            if job < 0:
                last_word = ENTER - 1
        for turn in range(last_turn + 1):
            for load in range(last_word + 1):
                words.put(memory[base + load])
        base += last_word + 1


def multiply_block[L, C, D, QKV, UP, FFN, LAYERS, OUTS, R, B, EXTRA, MOST, ENTERS](
    words: "Stream[UInt(8 * L), 2]",
    inputs: "Stream[UInt((8 * L + EXTRA) * R), 2]",
    count: int32, waves: int32, spoken: int32,
    sums: "Stream[UInt(32 * R), 2]",
    layers: "UInt(8)", enters: "UInt(1)", last_outs: "UInt(16)",
):  # fmt: skip
    """One processing element: L weights of its channel with R tokens a cycle.

    The first R tokens of a block take each word from the channel, and the others one that was kept.
    ``QKV`` and ``UP`` are the outputs of a layer's first and third job, and ``OUTS`` those of the last job
    that lie on a channel; with 0 there is no such job. ``EXTRA`` bits for each token above a word of
    activations say by how much its levels are finer, 0 to ``MOST``, and its sum is shifted by what is left.
    With ``ENTERS`` a job of D outputs and inputs goes before the layers, job -1. Where ``LAYERS`` is 0, the
    call says how many layers there are, whether that job is, and how many outputs of the last one. Where L
    does not divide the inputs of an output, the last of its words ends with weights of zero.
    """
    kept: UInt(8 * L)[(max(D, FFN) + L - 1) // L]
    for job in range(
        0 - (ENTERS if LAYERS > 0 else enters),
        4 * (LAYERS if LAYERS > 0 else layers) + min(OUTS, 1),
    ):
        kind: int32 = job & 3
        groups: UInt(16) = (D + L - 1) // L
        outs: UInt(24) = D // C
        last_pass: UInt(8) = waves - 1
        if job == 4 * (LAYERS if LAYERS > 0 else layers):
            outs = OUTS if LAYERS > 0 else last_outs
            last_pass = 0
        elif kind == 0:
            outs = QKV // C
        elif kind == 2:
            outs = UP // C
        elif kind == 3:
            groups = (FFN + L - 1) // L
        with allo.meta_if(ENTERS):
            if job < 0:
                groups = (D + L - 1) // L
        left: int32 = count
        for wave in range(last_pass + 1):
            last_token: UInt(8) = (
                spoken - 1 if job == 4 * (LAYERS if LAYERS > 0 else layers) else min(left, B) - 1
            )
            left = left - B
            last_round: UInt(8) = (last_token * (65536 // R + 1)) >> 16
            last_mac: UInt(31) = outs * (last_round + 1) * groups - 1
            last: UInt(16) = groups - 1
            at: UInt(16) = 0
            turn: UInt(8) = 0
            fresh: UInt(1) = 1
            acc: int32[R] = 0
            for mac in range(last_mac + 1):
                weights: UInt(8 * L) = 0
                if fresh == 1:
                    weights = words.get()
                    kept[at] = weights
                else:
                    weights = kept[at]
                tokens: UInt((8 * L + EXTRA) * R) = inputs.get()
                out: UInt(32 * R) = 0
                for r in range(R):
                    dot: int32 = 0
                    for p in range(L):
                        weight: int8 = weights[8 * p : 8 * p + 8]
                        value: int8 = tokens[8 * (L * r + p) : 8 * (L * r + p) + 8]
                        dot += weight * value
                    with allo.meta_if(EXTRA > 0):
                        finer: UInt(4) = tokens[
                            8 * L * R + EXTRA * r : 8 * L * R + EXTRA * r + EXTRA
                        ]
                        dot = dot << (MOST - finer)
                    after: int32 = dot + (0 if at == 0 else acc[r])
                    acc[r] = after
                    out[32 * r : 32 * r + 32] = after
                if at == last:
                    sums.put(out)
                    fresh = 1 if turn == last_round else 0
                    turn = 0 if turn == last_round else turn + 1
                at = 0 if at == last else at + 1


def rescale_block[V, C, D, QKV, UP, LAYERS, OUTPUTS, TERMS, B](
    sums: "Stream[int32[V], 4]",
    tables: "Stream[UInt(32 * TERMS * V), 4]",
    count: int32,
    waves: int32,
    spoken: int32,
    mixed: "Stream[float32[V], 4]",
    deltas: "Stream[float32[V], 4]",
    hidden: "Stream[float32[V], 4]",
    logits: "Stream[float32[V], 4]",
):
    """Apply factor and bias to V outputs at once, and send them where their job's outputs go.

    A word of ``tables`` holds V pairs of float32, the factor lower, or with ``TERMS`` of 1 the factors
    alone. The first token of a step takes it, and it is kept for the others; of the logits those of a group,
    whose tokens come one after the other.
    """
    kept: UInt(32 * TERMS * V)[max(D, QKV, UP) // C, C // V]
    for job in range(4 * LAYERS + min(OUTPUTS, 1)):
        kind: int32 = job & 3
        words: UInt(24) = D // V
        last_pass: UInt(8) = waves - 1
        if job == 4 * LAYERS:
            words = OUTPUTS // V
            kind = 4
            last_pass = 0
        elif kind == 0:
            words = QKV // V
        elif kind == 2:
            words = UP // V
        left: int32 = count
        for wave in range(last_pass + 1):
            last: UInt(8) = spoken - 1 if kind == 4 else min(left, B) - 1
            left = left - B
            last_out: UInt(31) = words * (last + 1) - 1
            group: UInt(16) = 0
            piece: UInt(8) = 0
            token: UInt(8) = 0
            first: UInt(1) = 1 if wave == 0 else 0
            fresh: UInt(1) = first
            step: UInt(1) = 0 if kind == 4 else 1
            for out in range(last_out + 1):
                acc: int32[V] = sums.get()
                table: UInt(32 * TERMS * V) = 0
                if fresh == 1:
                    table = tables.get()
                    kept[group, piece] = table
                else:
                    table = kept[group, piece]
                result: float32[V]
                for v in range(V):
                    factor_bits: UInt(32) = table[32 * TERMS * v : 32 * TERMS * v + 32]
                    factor: float32 = factor_bits.bitcast()
                    wide: float32 = acc[v]
                    with allo.meta_if(TERMS == 2):
                        bias_bits: UInt(32) = table[64 * v + 32 : 64 * v + 64]
                        bias: float32 = bias_bits.bitcast()
                        result[v] = wide * factor + bias
                    with allo.meta_else():
                        result[v] = wide * factor
                if kind == 0:
                    mixed.put(result)
                elif kind == 2:
                    hidden.put(result)
                elif kind == 4:
                    logits.put(result)
                else:
                    deltas.put(result)
                if piece == C // V - 1:
                    group = group + step if token == last else group
                    fresh = first if token == last else 0
                    token = 0 if token == last else token + 1
                piece = 0 if piece == C // V - 1 else piece + 1


schedule_fetch_blocks = pipelined("load")


def schedule_multiply_block(s: Schedule, groups: int, rows: int) -> Schedule:
    """L weights with R tokens a cycle; two products of a weight are in one multiplier block.

    Args:
        groups: words of the shortest output, after which a kept word is asked for again.
        rows: R; the tokens of a single row share no weight.
    """
    if rows > 1:
        s.bind("mul", "packed", axis="mac")
    if groups > 1:
        s.dependence("kept", "mac", "all", groups)
    return pipelined("mac", "acc")(s)


def schedule_rescale_block(s: Schedule, interval: int, pieces: int) -> Schedule:
    """V outputs every ``interval`` cycles.

    Args:
        pieces: ``C // V``, after which a kept word is asked for again.
    """
    if pieces > 1:
        s.dependence("kept", "out", "all", pieces)
    return pipelined("out", "acc result")(s, interval)
