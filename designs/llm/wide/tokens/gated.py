# ruff: noqa: B007  (loops have names for the schedule)
"""SwiGLU whose results have a step for each token and a shift for each block."""

import allo
from allo.ir.types import Stream, UInt, float32, int8, int32

from ...constants import ROUND
from ...stage import pipelined


def gate_tokens[FFN, V, LOG_V, LAYERS, BLOCK, MOST](
    gates: "Stream[float32[V], 4]",
    others: "Stream[float32[V], 4]",
    small: "Stream[UInt(8 * V + 4), 4]",
    steps: "Stream[float32, 4]",
):
    """``silu(gates) * others`` of every layer, kept until its largest is known, then quantised."""
    z: float32[FFN // V, V]
    for layer in range(LAYERS):
        peaks: int32[FFN // BLOCK]
        here: int32 = 0
        top: int32 = 0
        for out in range(FFN // V):
            block: float32[V] = gates.get()
            other: float32[V] = others.get()
            bits: int32[V]
            for v in range(V):
                a: float32 = block[v]
                silu: float32 = a / (1.0 + allo.exp(-a))
                wide: float32 = silu * other[v]
                z[out, v] = wide
                wide_bits: UInt(32) = wide.bitcast()
                bits[v] = wide_bits[0:31]
            with allo.meta_for(LOG_V) as level:  # noqa: SIM117
                with allo.meta_for(V >> (level + 1)) as i:
                    bits[i] = max(bits[2 * i], bits[2 * i + 1])
            starts: UInt(1) = 1 if out % (BLOCK // V) == 0 else 0
            largest: int32 = max(bits[0], 0 if starts == 1 else here)
            here = largest
            peaks[out // (BLOCK // V)] = largest
            top = max(top, largest)
        top_bits: UInt(32) = top
        found: float32 = top_bits.bitcast()
        peak: float32 = max(found, 1e-30)
        inverse: float32 = 127.0 / peak
        inverse_bits: UInt(32) = inverse.bitcast()
        peak_bits: UInt(32) = peak.bitcast()
        steps.put(peak * (1.0 / 127.0))
        for given in range(FFN // V):
            below: UInt(32) = (peak_bits - peaks[given // (BLOCK // V)]) >> 23
            finer: UInt(4) = min(below, MOST)
            raised: UInt(32) = finer
            factor_bits: UInt(32) = inverse_bits + (raised << 23)
            factor: float32 = factor_bits.bitcast()
            packed: UInt(8 * V + 4) = 0
            for e in range(V):
                clamped: float32 = min(max(z[given, e] * factor, -127.0), 127.0)
                level8: int8 = (clamped + ROUND) - ROUND
                packed[8 * e : 8 * e + 8] = level8
            packed[8 * V : 8 * V + 4] = finer
            small.put(packed)


def schedule_gate_tokens(s, interval: int):  # type: ignore[no-untyped-def]
    """The first pass at the interval of the activation, the second at 1."""
    s = pipelined("out", "block other bits", z=2)(s, interval)
    return pipelined("given")(s)
