# ruff: noqa: B007  (loops have names for the schedule)
"""Sums of the elements as results, multiplied by the step of the token."""

import allo
from allo.ir.types import Stream, UInt, float32, int32

from ...stage import pipelined


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


schedule_rescale_tokens = pipelined("out", "acc result")
