# ruff: noqa: B007  (loops have names for the schedule)
"""GELU and the quotients of attention for ``count`` tokens a layer, V elements at once."""

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, float32, int32

from ...constants import GELU_A, GELU_C, ROUND


def bend_block[FFN, V, LAYERS](
    hidden: "Stream[float32[V], 4]",
    factors: "float32[LAYERS]",
    count: int32,
    small: "Stream[UInt(8 * V), 4]",
):
    """:func:`..activation.bend` of ``count`` tokens, in the order in which they come."""
    for layer in range(LAYERS):
        for out in range(count * (FFN // V)):
            block: float32[V] = hidden.get()
            packed: UInt(8 * V) = 0
            for v in range(V):
                a: float32 = block[v]
                cube: float32 = (a * a) * a
                inner: float32 = (a + cube * GELU_A) * GELU_C
                bent: float32 = (0.5 * a) * (1.0 + allo.tanh(inner))
                wide: float32 = bent * factors[layer]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                shifted: float32 = clamped + ROUND
                bits: UInt(32) = shifted.bitcast()
                packed[8 * v : 8 * v + 8] = bits[0:8]
            small.put(packed)


def divide_block[HD, V, HEADS, LAYERS](
    sums: "Stream[UInt(32 * HD), 2]",
    totals: "Stream[int32, 2]",
    factors: "float32[LAYERS]",
    count: int32,
    small: "Stream[UInt(8 * V), 4]",
):
    """:func:`..heads.divide` of every head of ``count`` tokens, in the order in which they come."""
    for layer in range(LAYERS):
        held: int32[HD] = 0
        inverse: float32 = 0.0
        piece: UInt(8) = 0
        for out in range(count * (HEADS * (HD // V))):
            if piece == 0:
                head: UInt(32 * HD) = sums.get()
                total: float32 = totals.get()
                inverse = factors[layer] / total
                for c in range(HD):
                    held[c] = head[32 * c : 32 * c + 32]
            else:
                for m in range(HD - V):
                    held[m] = held[m + V]
            packed: UInt(8 * V) = 0
            for v in range(V):
                mixed: float32 = held[v]
                wide: float32 = mixed * inverse
                clamped: float32 = min(max(wide, -127.0), 127.0)
                shifted: float32 = clamped + ROUND
                bits: UInt(32) = shifted.bitcast()
                packed[8 * v : 8 * v + 8] = bits[0:8]
            small.put(packed)
            piece = 0 if piece == HD // V - 1 else piece + 1


def schedule_divide_block(s: Schedule) -> Schedule:
    """V elements a cycle."""
    s.partition(s.held)
    s.pipeline("out")
    return s
