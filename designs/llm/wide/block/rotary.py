# ruff: noqa: B007  (loops have names for the schedule)
"""Rotary positions of a block: queries and keys turned by the angles of each token's position.

As in :mod:`..families.rotary`, the two elements of a pair stand beside each other. The angles of all tokens
of a step are kept, for they are asked for in each layer, token by token within a group of C outputs.
"""

from allo.ir.types import Stream, UInt, float32, int32

from ...stage import pipelined


def take_angles[HD, V, CTX, MOST](
    rows: "UInt(32 * V)[CTX * HD // V]",
    positions: "int32[MOST]",
    count: int32,
    angles: "Stream[UInt(32 * V), 4]",
):
    """The words of one head at each of ``count`` positions."""
    for one in range(count):
        first: int32 = positions[one] * (HD // V)
        for word in range(HD // V):
            angles.put(rows[first + word])


def rotate_block[TURNED, QKV, HD, V, C, LAYERS, B, MOST](
    results: "Stream[float32[V], 4]",
    table: "Stream[UInt(32 * V), 4]",
    count: int32,
    waves: int32,
    turned: "Stream[float32[V], 4]",
    layers: "UInt(8)",
):
    """Turn the first ``TURNED`` of the ``QKV`` elements of every layer and token, and pass the others on."""
    angles: UInt(32 * V)[MOST * HD // V]
    last_fill: UInt(31) = count * (HD // V) - 1
    for fill in range(last_fill + 1):
        angles[fill] = table.get()
    last_wave: UInt(8) = waves - 1
    for layer in range(LAYERS if LAYERS > 0 else layers):
        left: int32 = count
        base: UInt(16) = 0
        for wave in range(last_wave + 1):
            last: UInt(8) = min(left, B) - 1
            left = left - B
            total: UInt(24) = QKV // V * (last + 1)
            to_turn: UInt(24) = TURNED // V * (last + 1)
            end: UInt(16) = base + (HD // V - C // V)
            group: UInt(16) = base
            at: UInt(16) = base
            piece: UInt(8) = 0
            token: UInt(8) = 0
            for out in range(total):
                block: float32[V] = results.get()
                word: UInt(32 * V) = angles[at]
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
                    result[2 * p] = to_low if out < to_turn else low
                    result[2 * p + 1] = to_high if out < to_turn else high
                turned.put(result)
                if piece == C // V - 1:
                    following: UInt(16) = base if group == end else group + C // V
                    at = following if token == last else at + (HD // V - C // V + 1)
                    group = following if token == last else group
                    token = 0 if token == last else token + 1
                else:
                    at = at + 1
                piece = 0 if piece == C // V - 1 else piece + 1
            base += (last + 1) * (HD // V)


schedule_take_angles = pipelined("word")


schedule_rotate_block = pipelined("fill out", "block result")
