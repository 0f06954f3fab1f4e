# ruff: noqa: B007  (loops have names for the schedule)
"""The linear engine over blocks: an element shifts a block's sum, and results are multiplied by the step."""

import allo
from allo.ir.types import Stream, UInt, float32, int8, int32

from ...stage import pipelined


def multiply_blocks[L, C, D, QKV, INNER, UP, FFN, LAYERS, OUTS, MOST](
    words: "Stream[UInt(8 * L), 2]",
    inputs: "Stream[UInt(8 * L + 4), 2]",
    sums: "Stream[int32, 2]",
):
    """:func:`..linear.multiply`, of words that say by how much their levels are finer: 0 to ``MOST``."""
    x: UInt(8 * L + 4)[max(D, FFN) // L]
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
            group: UInt(8 * L + 4) = x[at]
            finer: UInt(4) = group[8 * L : 8 * L + 4]
            dot: int32 = 0
            for p in range(L):
                weight: int8 = weights[8 * p : 8 * p + 8]
                value: int8 = group[8 * p : 8 * p + 8]
                dot += weight * value
            after: int32 = (dot << (MOST - finer)) + (0 if at == 0 else acc)
            acc = after
            if at == last:
                sums.put(after)
            at = 0 if at == last else at + 1


def rescale_tokens[V, D, QKV, UP, LAYERS, OUTPUTS, TERMS](
    sums: "Stream[int32[V], 4]",
    tables: "Stream[UInt(32 * TERMS * V), 4]",
    norm_steps: "Stream[float32, 4]",
    gate_steps: "Stream[float32, 4]",
    mixed: "Stream[float32[V], 4]",
    deltas: "Stream[float32[V], 4]",
    hidden: "Stream[float32[V], 4]",
    logits: "Stream[float32[V], 4]",
):
    """:func:`..linear.rescale`, with the token's step of what the job took: of a norm, of a gate, or 1."""
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
        step: float32 = 1.0
        if kind == 3:
            step = gate_steps.get()
        elif kind != 1:
            step = norm_steps.get()
        for out in range(words):
            acc: int32[V] = sums.get()
            table: UInt(32 * TERMS * V) = tables.get()
            result: float32[V]
            for v in range(V):
                factor_bits: UInt(32) = table[32 * TERMS * v : 32 * TERMS * v + 32]
                factor: float32 = factor_bits.bitcast()
                wide: float32 = acc[v]
                scaled: float32 = (wide * factor) * step
                with allo.meta_if(TERMS == 2):
                    bias_bits: UInt(32) = table[64 * v + 32 : 64 * v + 64]
                    bias: float32 = bias_bits.bitcast()
                    result[v] = scaled + bias
                with allo.meta_else():
                    result[v] = scaled
            if kind == 0:
                mixed.put(result)
            elif kind == 2:
                hidden.put(result)
            elif kind == 4:
                logits.put(result)
            else:
                deltas.put(result)


schedule_multiply_blocks = pipelined("fill mac")
schedule_rescale_tokens = pipelined("out", "acc result")
