# ruff: noqa: B007  (loops have names for the schedule)
"""Sums of the elements as results, multiplied by the step of the token that they belong to."""

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, float32, int32

from ....stage import pipelined


def rescale_block_tokens[V, C, D, QKV, UP, LAYERS, OUTPUTS, TERMS, B, ENTERS](
    sums: "Stream[int32[V], 4]",
    tables: "Stream[UInt(32 * TERMS * V), 4]",
    norm_steps: "Stream[float32, 4]", gate_steps: "Stream[float32, 4]",
    count: int32, waves: int32, spoken: int32,
    mixed: "Stream[float32[V], 4]",
    deltas: "Stream[float32[V], 4]",
    hidden: "Stream[float32[V], 4]", logits: "Stream[float32[V], 4]",
    layers: "UInt(8)", enters: "UInt(1)", last_outs: "UInt(16)",
):  # fmt: skip
    """:func:`..linear.rescale_block`, with a token's step of what the job took; an entrance's is a gate's."""
    steps: float32[B]
    kept: UInt(32 * TERMS * V)[max(D, QKV, UP) // C, C // V]
    for job in range(
        0 - (ENTERS if LAYERS > 0 else enters),
        4 * (LAYERS if LAYERS > 0 else layers) + min(OUTPUTS, 1),
    ):
        kind: int32 = job & 3
        words: UInt(24) = D // V
        last_pass: UInt(8) = waves - 1
        if job == 4 * (LAYERS if LAYERS > 0 else layers):
            words = OUTPUTS // V if LAYERS > 0 else last_outs * (C // V)
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
            for come in range(last + 1):
                step_of: float32 = 1.0
                if kind == 3:
                    step_of = gate_steps.get()
                elif kind != 1:
                    step_of = norm_steps.get()
                steps[come] = step_of
            first: UInt(1) = 1 if wave == 0 else 0
            fresh: UInt(1) = first
            onward: UInt(1) = 0 if kind == 4 else 1
            for out in range(last_out + 1):
                acc: int32[V] = sums.get()
                step: float32 = steps[token]
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
                if piece == C // V - 1:
                    group = group + onward if token == last else group
                    fresh = first if token == last else 0
                    token = 0 if token == last else token + 1
                piece = 0 if piece == C // V - 1 else piece + 1


def schedule_rescale_block_tokens(s: Schedule, interval: int, pieces: int) -> Schedule:
    """V outputs every ``interval`` cycles.

    Args:
        pieces: ``C // V``, after which a kept word is asked for again.
    """
    if pieces > 1:
        s.dependence("kept", "out", "all", pieces)
    s = pipelined("come")(s)
    return pipelined("out", "acc result steps")(s, interval)
