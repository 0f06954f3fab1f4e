"""GELU with quantisation after it, as a kernel."""

import allo
from allo.ir.types import Stream, float32, int8, int32

from .constants import GELU_A, GELU_C, ROUND


def bend[LAYERS, FFN, BLOCK, KMAX, LANES](
    results: "Stream[float32, 16]",
    factors: float32[LAYERS, 3],
    layer: int32,
    rows: int32,
    small: int8[BLOCK, KMAX],
):
    """Take the hidden activations in the linear engine's order, and store their GELU in ``small``."""
    for t in range(FFN // LANES):
        for b in range(rows):
            for gelu in range(LANES):
                a: float32 = results.get()
                cube: float32 = (a * a) * a
                inner: float32 = (a + cube * GELU_A) * GELU_C
                bent: float32 = (0.5 * a) * (1.0 + allo.tanh(inner))
                wide: float32 = bent * factors[layer, 2]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                small[b, t * LANES + gelu] = (clamped + ROUND) - ROUND
