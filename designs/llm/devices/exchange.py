# ruff: noqa: B007  (loops have names for the schedule)
"""What a device does for its links: sums of all shares of a layer, the residual for the next stage.

``embed``         makes the residual of a token, for the first stage.
``reduce_shares`` sends a device's partial sums round the ring of devices that share its layers, and adds
                  those of all others to them. Sums are int32, so their order does not matter.
``keep``          adds up the residual beside the norms, and hands it on behind the last layer of a stage.
"""

from allo.ir.types import Stream, UInt, float32, int32

from ..stage import pipelined


def embed[D, V, VOCAB, CTX](
    token_rows: "UInt(32 * V)[VOCAB * (D // V)]",
    position_rows: "UInt(32 * V)[CTX * (D // V)]",
    token: int32,
    position: int32,
    residual: "Stream[UInt(32 * V), 4]",
):
    """The token's row and the position's row, added, as words of V float32."""
    for row in range(D // V):
        left: UInt(32 * V) = token_rows[token * (D // V) + row]
        right: UInt(32 * V) = position_rows[position * (D // V) + row]
        word: UInt(32 * V) = 0
        for v in range(V):
            a_bits: UInt(32) = left[32 * v : 32 * v + 32]
            b_bits: UInt(32) = right[32 * v : 32 * v + 32]
            a: float32 = a_bits.bitcast()
            b: float32 = b_bits.bitcast()
            both: float32 = a + b
            bits: UInt(32) = both.bitcast()
            word[32 * v : 32 * v + 32] = bits
        residual.put(word)


def reduce_shares[V, D, INNER, FFN, LAYERS, OUTPUTS, P](
    partial: "Stream[int32[V], 4]",
    ring_out: "Stream[UInt(32 * V), 4]",
    ring_in: "Stream[UInt(32 * V), 4]",
    whole: "Stream[int32[V], 4]",
):
    """Sums of the jobs of a step: of the second and fourth of a layer, those of all P shares added.

    The others have outputs of their own on every device, and pass.
    """
    total: int32[D // V, V]
    for job in range(4 * LAYERS + min(OUTPUTS, 1)):
        kind: int32 = job & 3
        if kind == 0 or kind == 2:
            words: int32 = FFN // V
            if job == 4 * LAYERS:
                words = OUTPUTS // V
            elif kind == 0:
                words = 3 * INNER // V
            for passed in range(words):
                own: int32[V] = partial.get()
                whole.put(own)
        else:
            for sent in range(D // V):
                mine: int32[V] = partial.get()
                bits: UInt(32 * V) = 0
                for v in range(V):
                    total[sent, v] = mine[v]
                    bits[32 * v : 32 * v + 32] = mine[v]
                ring_out.put(bits)
            for hop in range(P - 2):
                for added in range(D // V):
                    word: UInt(32 * V) = ring_in.get()
                    ring_out.put(word)
                    for w in range(V):
                        theirs: int32 = word[32 * w : 32 * w + 32]
                        total[added, w] = total[added, w] + theirs
            for last in range(D // V):
                final: UInt(32 * V) = ring_in.get()
                joined: int32[V]
                for u in range(V):
                    other: int32 = final[32 * u : 32 * u + 32]
                    joined[u] = total[last, u] + other
                whole.put(joined)


def keep[D, V, LAYERS](
    entered: "Stream[float32[V], 4]",
    changes: "Stream[float32[V], 4]",
    normed: "Stream[float32[V], 4]",
    leaving: "Stream[UInt(32 * V), 4]",
):
    """``x += change`` twice a layer; all changes but the last go on to the norms, and x behind it leaves."""
    x: float32[D // V, V]
    for first in range(D // V):
        start: float32[V] = entered.get()
        for u in range(V):
            x[first, u] = start[u]
    for n in range(2 * LAYERS - 1):
        for row in range(D // V):
            change: float32[V] = changes.get()
            normed.put(change)
            for v in range(V):
                x[row, v] = x[row, v] + change[v]
    for out in range(D // V):
        last: float32[V] = changes.get()
        word: UInt(32 * V) = 0
        for w in range(V):
            result: float32 = x[out, w] + last[w]
            bits: UInt(32) = result.bitcast()
            word[32 * w : 32 * w + 32] = bits
        leaving.put(word)


schedule_embed = pipelined("row")
schedule_reduce = pipelined("passed sent added last", "own mine joined", total=2)
schedule_keep = pipelined("first row out", "start change last", x=2)
