# ruff: noqa: B007  (loops have names for the schedule)
"""Of ``count`` tokens, V elements at once: embeddings, GELU or ReLU, quotients of attention, what is said."""

import allo
from allo.ir.types import Stream, UInt, float32, int32

from ...constants import GELU_A, GELU_C, HALF_ROOT, ROUND
from ...stage import pipelined


def look_up[D, V, VOCAB, MOST](
    tokens: "int32[MOST]",
    token_rows: "UInt(32 * V)[VOCAB * D // V]",
    count: int32,
    embedded: "Stream[float32[V], 4]",
):
    """The rows of ``count`` tokens, where positions are not added."""
    for one in range(count):
        token: int32 = tokens[one]
        for row in range(D // V):
            word: UInt(32 * V) = token_rows[token * (D // V) + row]
            block: float32[V]
            for v in range(V):
                bits: UInt(32) = word[32 * v : 32 * v + 32]
                block[v] = bits.bitcast()
            embedded.put(block)


def embed_block[D, V, CTX, VOCAB, MOST](
    tokens: "int32[MOST]",
    token_rows: "UInt(32 * V)[VOCAB * D // V]",
    position_rows: "UInt(32 * V)[CTX * D // V]",
    positions: "int32[MOST]",
    count: int32,
    embedded: "Stream[float32[V], 4]",
):
    """The rows of ``count`` tokens and of their positions, added."""
    for one in range(count):
        token: int32 = tokens[one]
        position: int32 = positions[one]
        for row in range(D // V):
            left: UInt(32 * V) = token_rows[token * (D // V) + row]
            right: UInt(32 * V) = position_rows[position * (D // V) + row]
            both: float32[V]
            for v in range(V):
                a_bits: UInt(32) = left[32 * v : 32 * v + 32]
                b_bits: UInt(32) = right[32 * v : 32 * v + 32]
                a: float32 = a_bits.bitcast()
                b: float32 = b_bits.bitcast()
                both[v] = a + b
            embedded.put(both)


def bend_block[FFN, V, LAYERS, KIND](
    hidden: "Stream[float32[V], 4]",
    factors: "float32[LAYERS]",
    count: int32,
    small: "Stream[UInt(8 * V), 4]",
):
    """:func:`..activation.bend` of ``count`` tokens, in the order in which they come.

    ``KIND`` is 0 for GELU's form with tanh, 1 for GELU as it is defined, and 2 for ReLU.
    """
    last_out: UInt(31) = count * (FFN // V) - 1
    for layer in range(LAYERS):
        for out in range(last_out + 1):
            block: float32[V] = hidden.get()
            packed: UInt(8 * V) = 0
            for v in range(V):
                a: float32 = block[v]
                bent: float32 = 0.0
                with allo.meta_if(KIND == 1):
                    bent = (0.5 * a) * (1.0 + allo.erf(a * HALF_ROOT))
                with allo.meta_elif(KIND == 2):
                    bent = max(a, 0.0)
                with allo.meta_else():
                    cube: float32 = (a * a) * a
                    inner: float32 = (a + cube * GELU_A) * GELU_C
                    bent = (0.5 * a) * (1.0 + allo.tanh(inner))
                wide: float32 = bent * factors[layer]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                shifted: float32 = clamped + ROUND
                bits: UInt(32) = shifted.bitcast()
                packed[8 * v : 8 * v + 8] = bits[0:8]
            small.put(packed)


def divide_block[HD, V, HEADS, LAYERS, HELD](
    sums: "Stream[UInt(32 * HD), 2]",
    totals: "Stream[int32, 2]",
    factors: "float32[HELD]",
    count: int32,
    small: "Stream[UInt(8 * V), 4]",
    layers: "UInt(8)",
    first_layer: "UInt(8)",
):
    """:func:`..heads.divide` of every head of ``count`` tokens, in the order in which they come."""
    last_out: UInt(31) = count * (HEADS * (HD // V)) - 1
    for layer in range(LAYERS if LAYERS > 0 else layers):
        held: int32[HD] = 0
        inverse: float32 = 0.0
        piece: UInt(8) = 0
        for out in range(last_out + 1):
            if piece == 0:
                head: UInt(32 * HD) = sums.get()
                total: float32 = totals.get()
                inverse = factors[layer if LAYERS > 0 else first_layer + layer] / total
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


def say_block[V, WORDS](
    come: "Stream[float32[V], 4]",
    count: int32,
    memory: "UInt(32 * V)[WORDS]",
):
    """Write ``count`` words of V float32."""
    for out in range(count):
        block: float32[V] = come.get()
        word: UInt(32 * V) = 0
        for v in range(V):
            bits: UInt(32) = block[v].bitcast()
            word[32 * v : 32 * v + 32] = bits
        memory[out] = word


schedule_say_block = pipelined("out", "block")
schedule_look_up = pipelined("row", "block")
schedule_embed_block = pipelined("row", "both")
schedule_divide_block = pipelined("out", "held")
