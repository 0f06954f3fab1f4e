# ruff: noqa: B007  (loops have names for the schedule)
"""Rotary positions: queries and keys turned by the angles of their position, V elements a cycle.

The two elements of a pair, i and i + half in the model, stand beside each other here: the rows of the weights
of q and k are filled in that order (:func:`..memories.paired`), and the sums of a score are the same in
any order. So a word of V elements has its pairs whole, and nothing waits for the other half of a head.
"""

from allo.ir.types import Stream, UInt, float32

from ...stage import pipelined


def rotate[TURNED, QKV, HD, V, LAYERS](
    results: "Stream[float32[V], 4]",
    table: "Stream[UInt(32 * V), 4]",
    turned: "Stream[float32[V], 4]",
):
    """Turn the first ``TURNED`` of the ``QKV`` elements of every layer, and pass the others on.

    ``table`` gives the words of one head at the token's position, once a step: cosine and sine of each
    pair, the cosine lower.
    """
    angles: UInt(32 * V)[HD // V]
    for fill in range(HD // V):
        angles[fill] = table.get()
    for layer in range(LAYERS):
        piece: UInt(8) = 0
        for out in range(QKV // V):
            block: float32[V] = results.get()
            word: UInt(32 * V) = angles[piece]
            result: float32[V]
            for p in range(V // 2):
                cosine_bits: UInt(32) = word[64 * p : 64 * p + 32]
                sine_bits: UInt(32) = word[64 * p + 32 : 64 * p + 64]
                cosine: float32 = cosine_bits.bitcast()
                sine: float32 = sine_bits.bitcast()
                low: float32 = block[2 * p]
                high: float32 = block[2 * p + 1]
                to_low: float32 = low * cosine - high * sine
                to_high: float32 = high * cosine + low * sine
                result[2 * p] = to_low if out < TURNED // V else low
                result[2 * p + 1] = to_high if out < TURNED // V else high
            turned.put(result)
            piece = 0 if piece == HD // V - 1 else piece + 1


schedule_rotate = pipelined("fill out", "block result")
