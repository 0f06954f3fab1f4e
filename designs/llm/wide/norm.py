"""The residual and the norms: x += delta, statistics in the same pass, then the result as int8."""

import allo
from allo.ir.types import Stream, UInt, float32, int8

from ..constants import ROUND
from ..stage import pipelined


def normalise[D, V, LOG_V, PARTS, LOG_PARTS, NORMS, TERMS](
    embedded: "Stream[float32[V], 4]",
    deltas: "Stream[float32[V], 4]",
    tables: "Stream[UInt(32 * TERMS * V), 4]",
    eps: float32,
    small: "Stream[UInt(8 * V), 4]",
):
    """The norms of a step: the first of what is embedded, every other after adding a delta to it.

    Sum and sum of squares of a row of V elements are trees; rows add up in ``PARTS`` sums that take
    turns, which a tree joins. With two ``TERMS`` these are layer norms, and a word of ``tables`` holds V
    pairs of float32, the gain lower and the shift; with one they are root-mean-square norms, which
    subtract nothing, and the word holds V gains. ``eps`` is added to the mean square.
    """
    x: float32[D // V, V]
    for n in range(NORMS):
        part: float32[PARTS] = 0.0
        square: float32[PARTS] = 0.0
        for rt in range(D // V // PARTS):
            for lt in range(PARTS):
                node: float32[V]
                power: float32[V]
                if n == 0:
                    first: float32[V] = embedded.get()
                    for v in range(V):
                        node[v] = first[v]
                else:
                    delta: float32[V] = deltas.get()
                    for w in range(V):
                        node[w] = x[rt * PARTS + lt, w] + delta[w]
                for u in range(V):
                    x[rt * PARTS + lt, u] = node[u]
                    power[u] = node[u] * node[u]
                with allo.meta_for(LOG_V) as level:  # noqa: SIM117
                    with allo.meta_for(V >> (level + 1)) as i:
                        power[i] = power[2 * i] + power[2 * i + 1]
                        with allo.meta_if(TERMS == 2):
                            node[i] = node[2 * i] + node[2 * i + 1]
                with allo.meta_if(TERMS == 2):
                    part[lt] = part[lt] + node[0]
                square[lt] = square[lt] + power[0]
        with allo.meta_for(LOG_PARTS) as level:  # noqa: SIM117
            with allo.meta_for(PARTS >> (level + 1)) as i:
                square[i] = square[2 * i] + square[2 * i + 1]
                with allo.meta_if(TERMS == 2):
                    part[i] = part[2 * i] + part[2 * i + 1]
        mean: float32 = part[0] * (1.0 / D)
        variance: float32 = square[0] * (1.0 / D)
        with allo.meta_if(TERMS == 2):
            variance = max(variance - mean * mean, 0.0)
        rstd: float32 = allo.rsqrt(variance + eps)
        for row in range(D // V):
            table: UInt(32 * TERMS * V) = tables.get()
            packed: UInt(8 * V) = 0
            for e in range(V):
                gain_bits: UInt(32) = table[32 * TERMS * e : 32 * TERMS * e + 32]
                gain: float32 = gain_bits.bitcast()
                wide: float32 = x[row, e]
                with allo.meta_if(TERMS == 2):
                    shift_bits: UInt(32) = table[64 * e + 32 : 64 * e + 64]
                    shift: float32 = shift_bits.bitcast()
                    wide = ((wide - mean) * rstd) * gain + shift
                with allo.meta_else():
                    wide = (wide * rstd) * gain
                clamped: float32 = min(max(wide, -127.0), 127.0)
                level8: int8 = (clamped + ROUND) - ROUND
                packed[8 * e : 8 * e + 8] = level8
            small.put(packed)


schedule_normalise = pipelined("lt row", "node power first delta part square", x=2)
