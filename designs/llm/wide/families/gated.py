# ruff: noqa: B007  (loops have names for the schedule)
"""SwiGLU: SiLU of V gates times V others, quantised for the last feed-forward layer."""

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, float32, int8

from ...constants import ROUND


def gate[FFN, V, LAYERS](
    hidden: "Stream[float32[V], 4]",
    factors: "float32[LAYERS]",
    small: "Stream[UInt(8 * V), 4]",
):
    """``small = round(silu(gate) * up * factor)``, within -127 … 127, of every layer.

    V gates and the V elements that they multiply come by turns.
    """
    for layer in range(LAYERS):
        for out in range(FFN // V):
            gates: float32[V] = hidden.get()
            others: float32[V] = hidden.get()
            packed: UInt(8 * V) = 0
            for v in range(V):
                a: float32 = gates[v]
                silu: float32 = a / (1.0 + allo.exp(-a))
                wide: float32 = (silu * others[v]) * factors[layer]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                level: int8 = (clamped + ROUND) - ROUND
                packed[8 * v : 8 * v + 8] = level
            small.put(packed)


def schedule_gate(s: Schedule, interval: int) -> Schedule:
    """V elements every ``interval`` cycles, at least 2: units are shared within the interval."""
    s.partition(s.gates)
    s.partition(s.others)
    s.pipeline("out", initiation_interval=interval)
    return s
