# ruff: noqa: B007  (loops have names for the schedule)
"""A unit of norms by the root mean square: a step for each token, a shift for each block of activations."""

import allo
from allo.ir.types import Stream, UInt, float32, int8, int32

from ....constants import ROUND
from ....stage import pipelined


def normalise_rows_tokens[D, V, LOG_V, PARTS, LOG_PARTS, LAYERS, B, UNITS, BLOCK, MOST](
    rows: "Stream[float32[V], 4]",
    tables: "Stream[UInt(32 * V), 4]",
    unit: int32,
    count: int32, waves: int32, spoken: int32, eps: float32,
    small: "Stream[UInt(8 * V + 4), 4]",
    steps: "Stream[float32, 4]",
    layers: "UInt(8)",
):  # fmt: skip
    """Tokens ``unit``, ``unit + UNITS`` … of every block, and in ``steps`` the step of each of them.

    One is normed as by :func:`...tokens.norm.normalise_tokens`.
    """
    y: float32[D // V, V]
    gains: UInt(32 * V)[D // V]
    for n in range(2 * (LAYERS if LAYERS > 0 else layers) + 1):
        for fill in range(D // V):
            gains[fill] = tables.get()
        last_pass: UInt(8) = 0 if n == 2 * (LAYERS if LAYERS > 0 else layers) else waves - 1
        left: int32 = spoken if n == 2 * (LAYERS if LAYERS > 0 else layers) else count
        for wave in range(last_pass + 1):
            mine: int32 = (min(left, B) + (UNITS - 1) - unit) // UNITS
            left = left - B
            for token in range(mine):
                square: float32[PARTS] = 0.0
                peaks: int32[D // BLOCK]
                here: int32 = 0
                top: int32 = 0
                for rt in range(D // V // PARTS):
                    for lt in range(PARTS):
                        row: int32 = rt * PARTS + lt
                        power: float32[V]
                        bits: int32[V]
                        got: float32[V] = rows.get()
                        table: UInt(32 * V) = gains[row]
                        for u in range(V):
                            power[u] = got[u] * got[u]
                            gain_bits: UInt(32) = table[32 * u : 32 * u + 32]
                            gain: float32 = gain_bits.bitcast()
                            scaled: float32 = got[u] * gain
                            y[row, u] = scaled
                            scaled_bits: UInt(32) = scaled.bitcast()
                            bits[u] = scaled_bits[0:31]
                        with allo.meta_for(LOG_V) as level:  # noqa: SIM117
                            with allo.meta_for(V >> (level + 1)) as i:
                                power[i] = power[2 * i] + power[2 * i + 1]
                                bits[i] = max(bits[2 * i], bits[2 * i + 1])
                        square[lt] = square[lt] + power[0]
                        starts: UInt(1) = 1 if row % (BLOCK // V) == 0 else 0
                        largest: int32 = max(bits[0], 0 if starts == 1 else here)
                        here = largest
                        peaks[row // (BLOCK // V)] = largest
                        top = max(top, largest)
                with allo.meta_for(LOG_PARTS) as level:  # noqa: SIM117
                    with allo.meta_for(PARTS >> (level + 1)) as i:
                        square[i] = square[2 * i] + square[2 * i + 1]
                mean: float32 = square[0] * (1.0 / D)
                rstd: float32 = allo.rsqrt(mean + eps)
                top_bits: UInt(32) = top
                found: float32 = top_bits.bitcast()
                peak: float32 = max(found, 1e-30)
                inverse: float32 = 127.0 / peak
                inverse_bits: UInt(32) = inverse.bitcast()
                peak_bits: UInt(32) = peak.bitcast()
                steps.put((peak * rstd) * (1.0 / 127.0))
                for out in range(D // V):
                    below: UInt(32) = (peak_bits - peaks[out // (BLOCK // V)]) >> 23
                    finer: UInt(4) = min(below, MOST)
                    raised: UInt(32) = finer
                    factor_bits: UInt(32) = inverse_bits + (raised << 23)
                    factor: float32 = factor_bits.bitcast()
                    packed: UInt(8 * V + 4) = 0
                    for e in range(V):
                        clamped: float32 = min(max(y[out, e] * factor, -127.0), 127.0)
                        level8: int8 = (clamped + ROUND) - ROUND
                        packed[8 * e : 8 * e + 8] = level8
                    packed[8 * V : 8 * V + 4] = finer
                    small.put(packed)


schedule_normalise_rows_tokens = pipelined("fill lt out", "power bits got square", y=2)
