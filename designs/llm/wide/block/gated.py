# ruff: noqa: B007  (loops have names for the schedule)
"""SwiGLU of ``count`` tokens: what :mod:`..families.gated` does, in the order in which tokens come."""

import allo
from allo.ir.types import Stream, UInt, float32, int32

from ...constants import ROUND
from ...stage import pipelined


def part_block[UP, V, LAYERS](
    hidden: "Stream[float32[V], 4]",
    count: int32,
    gates: "Stream[float32[V], 4]",
    others: "Stream[float32[V], 4]",
    layers: "UInt(8)",
):
    """Give words of V elements to one stream and the other by turns; a token has ``UP`` in a layer."""
    last_word: UInt(31) = count * ((LAYERS if LAYERS > 0 else layers) * (UP // V)) - 1
    for word in range(last_word + 1):
        block: float32[V] = hidden.get()
        if word & 1 == 0:
            gates.put(block)
        else:
            others.put(block)


def gate_block[FFN, V, LAYERS](
    gates: "Stream[float32[V], 4]",
    others: "Stream[float32[V], 4]",
    factors: "float32[LAYERS]",
    count: int32,
    small: "Stream[UInt(8 * V), 4]",
):
    """``small = round(silu(gates) * others * factor)``, within -127 … 127, of every layer and token."""
    last_out: UInt(31) = count * (FFN // V) - 1
    for layer in range(LAYERS):
        for out in range(last_out + 1):
            block: float32[V] = gates.get()
            other: float32[V] = others.get()
            packed: UInt(8 * V) = 0
            for v in range(V):
                a: float32 = block[v]
                silu: float32 = a / (1.0 + allo.exp(-a))
                wide: float32 = (silu * other[v]) * factors[layer]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                shifted: float32 = clamped + ROUND
                bits: UInt(32) = shifted.bitcast()
                packed[8 * v : 8 * v + 8] = bits[0:8]
            small.put(packed)


schedule_part_block = pipelined("word", "block")
schedule_gate_block = pipelined("out", "block other")
