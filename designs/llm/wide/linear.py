# ruff: noqa: B007  (loops have names for the schedule)
"""The linear engine: one processing element beside each memory channel, and what joins them.

A processing element takes ``L`` weights of one output a cycle. Channel c of C holds the outputs
c, C + c, 2C + c …, so that the elements end C neighbouring outputs together. A step has five jobs
a time: of every layer q, k and v together, the projection, both feed-forward layers, and behind the
last layer the logits.
"""

import allo
from allo.ir.types import Stream, UInt, float32, int8, int32

from ..stage import pipelined


def fetch[BITS, WORDS](memory: "UInt(BITS)[WORDS]", words: "Stream[UInt(BITS), 2]"):
    """Every word of a memory, in order, as far ahead of its use as the stream is deep."""
    for load in range(WORDS):
        words.put(memory[load])


def multiply[L, C, D, QKV, INNER, UP, FFN, LAYERS, OUTS, EXTRA, MOST](
    words: "Stream[UInt(8 * L), 2]",
    inputs: "Stream[UInt(8 * L + EXTRA), 2]",
    sums: "Stream[int32, 2]",
):
    """One processing element: its channel's outputs of every job, L weights a cycle.

    ``QKV`` and ``UP`` are the outputs of a layer's first and third job, ``INNER`` and ``FFN`` the inputs of
    the second and fourth, and ``OUTS`` the outputs of the last job that lie on a channel; with 0 there is
    no such job. With ``EXTRA`` bits above a word of activations, these say by how much its levels are finer,
    0 to ``MOST``, and its sum is shifted by what is left.
    """
    x: UInt(8 * L + EXTRA)[max(D, FFN) // L]
    for job in range(4 * LAYERS + min(OUTS, 1)):
        kind: int32 = job & 3
        groups: int32 = D // L
        outs: int32 = D // C
        if job == 4 * LAYERS:
            outs = OUTS
        elif kind == 0:
            outs = QKV // C
        elif kind == 1:
            groups = INNER // L
        elif kind == 2:
            outs = UP // C
        elif kind == 3:
            groups = FFN // L
        for fill in range(groups):
            x[fill] = inputs.get()
        last: UInt(16) = groups - 1
        total: int32 = outs * groups
        at: UInt(16) = 0
        acc: int32 = 0
        for mac in range(total):
            weights: UInt(8 * L) = words.get()
            group: UInt(8 * L + EXTRA) = x[at]
            dot: int32 = 0
            for p in range(L):
                weight: int8 = weights[8 * p : 8 * p + 8]
                value: int8 = group[8 * p : 8 * p + 8]
                dot += weight * value
            with allo.meta_if(EXTRA > 0):
                finer: UInt(4) = group[8 * L : 8 * L + EXTRA]
                dot = dot << (MOST - finer)
            after: int32 = dot + (0 if at == 0 else acc)
            acc = after
            if at == last:
                sums.put(after)
            at = 0 if at == last else at + 1


def rescale[V, D, QKV, UP, LAYERS, OUTPUTS, TERMS](
    sums: "Stream[int32[V], 4]",
    tables: "Stream[UInt(32 * TERMS * V), 4]",
    mixed: "Stream[float32[V], 4]",
    deltas: "Stream[float32[V], 4]",
    hidden: "Stream[float32[V], 4]",
    logits: "Stream[float32[V], 4]",
):
    """Apply factor and bias to V outputs at once, and send them where their job's outputs go.

    A word of ``tables`` holds V pairs of float32, the factor lower, or with ``TERMS`` of 1 the factors
    alone. ``QKV``, ``UP`` and ``OUTPUTS`` are the outputs of a layer's first and third job, and of the last,
    which 0 leaves out.
    """
    for job in range(4 * LAYERS + min(OUTPUTS, 1)):
        kind: int32 = job & 3
        words: int32 = D // V
        if job == 4 * LAYERS:
            words = OUTPUTS // V
            kind = 4
        elif kind == 0:
            words = QKV // V
        elif kind == 2:
            words = UP // V
        for out in range(words):
            acc: int32[V] = sums.get()
            table: UInt(32 * TERMS * V) = tables.get()
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


schedule_fetch = pipelined("load")
schedule_multiply = pipelined("fill mac")
schedule_rescale = pipelined("out", "acc result")
