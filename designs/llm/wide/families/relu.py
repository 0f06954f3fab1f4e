# ruff: noqa: B007  (loops have names for the schedule)
"""ReLU of V elements at once, quantised for the second feed-forward layer."""

from allo.ir.types import Stream, UInt, float32, int8

from ...constants import ROUND
from ...stage import pipelined


def cut[FFN, V, LAYERS](
    hidden: "Stream[float32[V], 4]",
    factors: "float32[LAYERS]",
    small: "Stream[UInt(8 * V), 4]",
):
    """``small = round(max(hidden, 0) * factor)``, at most 127, of every layer; factors are positive."""
    for layer in range(LAYERS):
        for out in range(FFN // V):
            block: float32[V] = hidden.get()
            packed: UInt(8 * V) = 0
            for v in range(V):
                wide: float32 = block[v] * factors[layer]
                clamped: float32 = min(max(wide, 0.0), 127.0)
                level: int8 = (clamped + ROUND) - ROUND
                packed[8 * v : 8 * v + 8] = level
            small.put(packed)


schedule_cut = pipelined("out", "block")
