# ruff: noqa: B007  (loops have names for the schedule)
"""SwiGLU: SiLU of V gates times V others, quantised for the last feed-forward layer."""

import allo
from allo.ir.types import Stream, UInt, float32, int8

from ...constants import ROUND
from ...stage import pipelined


def part[WORDS, V](
    hidden: "Stream[float32[V], 4]",
    gates: "Stream[float32[V], 4]",
    others: "Stream[float32[V], 4]",
):
    """Give words of V elements to one stream and the other by turns."""
    for word in range(WORDS):
        block: float32[V] = hidden.get()
        if word & 1 == 0:
            gates.put(block)
        else:
            others.put(block)


def gate[FFN, V, LAYERS](
    gates: "Stream[float32[V], 4]",
    others: "Stream[float32[V], 4]",
    factors: "float32[LAYERS]",
    small: "Stream[UInt(8 * V), 4]",
):
    """``small = round(silu(gates) * others * factor)``, within -127 … 127, of every layer."""
    for layer in range(LAYERS):
        for out in range(FFN // V):
            block: float32[V] = gates.get()
            other: float32[V] = others.get()
            packed: UInt(8 * V) = 0
            for v in range(V):
                a: float32 = block[v]
                silu: float32 = a / (1.0 + allo.exp(-a))
                wide: float32 = (silu * other[v]) * factors[layer]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                level: int8 = (clamped + ROUND) - ROUND
                packed[8 * v : 8 * v + 8] = level
            small.put(packed)


schedule_part = pipelined("word", "block")
schedule_gate = pipelined("out", "block other")
