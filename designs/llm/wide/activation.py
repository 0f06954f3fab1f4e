# ruff: noqa: B007  (loops have names for the schedule)
"""GELU of V elements at once, quantised for the second feed-forward layer."""

import allo
from allo.ir.types import Stream, UInt, float32, int8

from ..constants import GELU_A, GELU_C, ROUND
from ..stage import pipelined


def bend[FFN, V, LAYERS](
    hidden: "Stream[float32[V], 4]",
    factors: "float32[LAYERS]",
    small: "Stream[UInt(8 * V), 4]",
):
    """``small = round(gelu(hidden) * factor)``, within -127 … 127, of every layer."""
    for layer in range(LAYERS):
        for out in range(FFN // V):
            block: float32[V] = hidden.get()
            packed: UInt(8 * V) = 0
            for v in range(V):
                a: float32 = block[v]
                cube: float32 = (a * a) * a
                inner: float32 = (a + cube * GELU_A) * GELU_C
                bent: float32 = (0.5 * a) * (1.0 + allo.tanh(inner))
                wide: float32 = bent * factors[layer]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                level: int8 = (clamped + ROUND) - ROUND
                packed[8 * v : 8 * v + 8] = level
            small.put(packed)


schedule_bend = pipelined("out", "block")
