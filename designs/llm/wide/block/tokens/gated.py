# ruff: noqa: B007  (loops have names for the schedule)
"""SwiGLU of blocks whose results have a step for each token and a shift for each block of activations.

The results of a token come in groups, between those of the others, and its largest is known at the end of the
block. Until then the products wait in a stream, in the order in which they came, and leave in it.
"""

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, float32, int8, int32

from ....constants import ROUND
from ....stage import pipelined


def multiply_gates[FFN, V, LOG_V, RUN, LAYERS, B, BLOCK](
    gates: "Stream[float32[V], 4]",
    others: "Stream[float32[V], 4]",
    count: int32,
    waves: int32,
    products: "Stream[float32[V], 4]",
    peaks: "Stream[int32, 4]",
    tops: "Stream[int32, 4]",
    layers: "UInt(8)",
):
    """``silu(gates) * others``, and the largest of each block of activations and of each token, as bits.

    Words come in runs: ``RUN`` of a token, then as many of each other token of the block, and so on. Of
    each ``BLOCK`` activations of a token ``peaks`` has the largest when they have come, and ``tops``, at the
    end, that of each token.
    """
    heres: int32[B]
    most: int32[B]
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS if LAYERS > 0 else layers):
        left: int32 = count
        for wave in range(last_wave + 1):
            last: UInt(8) = min(left, B) - 1
            left = left - B
            last_out: UInt(31) = (last + 1) * (FFN // V) - 1
            token: UInt(8) = 0
            piece: UInt(8) = 0
            group: UInt(16) = 0
            for out in range(last_out + 1):
                block: float32[V] = gates.get()
                other: float32[V] = others.get()
                product: float32[V]
                bits: int32[V]
                for v in range(V):
                    a: float32 = block[v]
                    silu: float32 = a / (1.0 + allo.exp(-a))
                    wide: float32 = silu * other[v]
                    product[v] = wide
                    wide_bits: UInt(32) = wide.bitcast()
                    bits[v] = wide_bits[0:31]
                products.put(product)
                with allo.meta_for(LOG_V) as level:  # noqa: SIM117
                    with allo.meta_for(V >> (level + 1)) as i:
                        bits[i] = max(bits[2 * i], bits[2 * i + 1])
                at: UInt(16) = group + piece
                in_block: UInt(16) = at % (BLOCK // V)
                here: int32 = max(bits[0], 0 if in_block == 0 else heres[token])
                heres[token] = here
                so_far: int32 = max(bits[0], 0 if at == 0 else most[token])
                most[token] = so_far
                if in_block == BLOCK // V - 1:
                    peaks.put(here)
                if at == FFN // V - 1:
                    tops.put(so_far)
                if piece == RUN - 1:
                    group = group + RUN if token == last else group
                    token = 0 if token == last else token + 1
                piece = 0 if piece == RUN - 1 else piece + 1


def quantise_gates[FFN, V, RUN, LAYERS, B, BLOCK, MOST, W](
    products: "Stream[float32[V], 4]",
    peaks: "Stream[int32, 4]",
    tops: "Stream[int32, 4]",
    lane: int32,
    count: int32,
    waves: int32,
    small: "Stream[UInt(8 * V + 4), 4]",
    steps: "Stream[float32, 4]",
    layers: "UInt(8)",
):
    """What :func:`multiply_gates` gives, quantised in its order; ``steps`` has the step of each token.

    These are tokens ``lane``, ``lane + W`` … of every block.
    """
    finers: UInt(4)[FFN // BLOCK * (B // W)]
    bounds: UInt(32)[B // W]
    inverses: UInt(32)[B // W]
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS if LAYERS > 0 else layers):
        left: int32 = count
        for wave in range(last_wave + 1):
            mine: int32 = (min(left, B) + (W - 1) - lane) // W
            last: UInt(8) = mine - 1
            left = left - B
            for first in range(mine):
                top_bits: UInt(32) = tops.get()
                found: float32 = top_bits.bitcast()
                peak: float32 = max(found, 1e-30)
                inverse: float32 = 127.0 / peak
                bounds[first] = peak.bitcast()
                inverses[first] = inverse.bitcast()
                steps.put(peak * (1.0 / 127.0))
            all_peaks: UInt(16) = mine * (FFN // BLOCK)
            of: UInt(8) = 0
            for whole in range(all_peaks):
                below: UInt(32) = (bounds[of] - peaks.get()) >> 23
                finers[whole] = min(below, MOST)
                of = 0 if of == last else of + 1
            all_outs: UInt(24) = mine * (FFN // V)
            token: UInt(8) = 0
            piece: UInt(8) = 0
            group: UInt(16) = 0
            for out in range(all_outs):
                product: float32[V] = products.get()
                of_block: UInt(16) = (group + piece) // (BLOCK // V)
                finer: UInt(4) = finers[of_block * mine + token]
                raised: UInt(32) = finer
                factor_bits: UInt(32) = inverses[token] + (raised << 23)
                factor: float32 = factor_bits.bitcast()
                packed: UInt(8 * V + 4) = 0
                for e in range(V):
                    clamped: float32 = min(max(product[e] * factor, -127.0), 127.0)
                    level8: int8 = (clamped + ROUND) - ROUND
                    packed[8 * e : 8 * e + 8] = level8
                packed[8 * V : 8 * V + 4] = finer
                small.put(packed)
                if piece == RUN - 1:
                    group = group + RUN if token == last else group
                    token = 0 if token == last else token + 1
                piece = 0 if piece == RUN - 1 else piece + 1


def schedule_multiply_gates(s: Schedule, interval: int) -> Schedule:
    """A word every ``interval`` cycles."""
    return pipelined("out", "block other product bits heres most")(s, interval)


schedule_quantise_gates = pipelined("first whole out", "product bounds inverses")
