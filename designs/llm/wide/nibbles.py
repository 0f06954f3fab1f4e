# ruff: noqa: B007  (loops have names for the schedule)
"""Four-bit weights: a processing element that takes two of them from every byte of its channel.

A word of L bytes holds 2L weights of one output, the first L in the low halves of its bytes, and these
share one step. In front of every L words of a job stands a word with their steps, a byte each. The
last job, the logits, has int8 weights and no steps: a byte is sixteen times its signed upper half and its
lower half, so the same multipliers of four bits take it, with one activation for both.
"""

from allo.ir.types import Int, Stream, UInt, int8, int32

from ..stage import pipelined


def multiply_nibbles[L, C, D, QKV, UP, FFN, LAYERS, OUTS](
    words: "Stream[UInt(8 * L), 2]",
    inputs: "Stream[UInt(16 * L), 2]",
    sums: "Stream[int32, 2]",
):
    """One processing element: its channel's outputs of every job, 2L weights of four bits a cycle.

    ``QKV`` and ``UP`` are the outputs of a layer's first and third job, and ``OUTS`` those of the last job
    that lie on a channel; they take L weights a cycle.
    """
    x: UInt(16 * L)[FFN // (2 * L)]
    for job in range(4 * LAYERS + 1):
        kind: int32 = job & 3
        groups: int32 = D // (2 * L)
        outs: int32 = D // C
        whole: UInt(1) = 0
        if job == 4 * LAYERS:
            outs = OUTS
            whole = 1
        elif kind == 0:
            outs = QKV // C
        elif kind == 2:
            outs = UP // C
        elif kind == 3:
            groups = FFN // (2 * L)
        for fill in range(groups):
            x[fill] = inputs.get()
        pieces: int32 = 2 * groups if whole == 1 else groups
        last: UInt(16) = pieces - 1
        count: int32 = outs * pieces
        total: int32 = count if whole == 1 else count + (count + (L - 1)) // L
        until: UInt(8) = 0
        is_next: UInt(1) = 1 - whole
        steps: UInt(8 * L) = 0
        at: UInt(16) = 0
        acc: int32 = 0
        for mac in range(total):
            weights: UInt(8 * L) = words.get()
            place: UInt(16) = (at >> 1) if whole == 1 else at
            group: UInt(16 * L) = x[place]
            front: UInt(8 * L) = group[0 : 8 * L]
            back: UInt(8 * L) = group[8 * L : 16 * L]
            second: UInt(1) = whole & at
            for_low: UInt(8 * L) = back if second == 1 else front
            for_high: UInt(8 * L) = front if (whole == 1 and second == 0) else back
            low_sum: int32 = 0
            high_sum: int32 = 0
            for p in range(L):
                bits: UInt(4) = weights[8 * p : 8 * p + 4]
                signed: Int(4) = weights[8 * p : 8 * p + 4]
                low: Int(5) = bits if whole == 1 else signed
                high: Int(4) = weights[8 * p + 4 : 8 * p + 8]
                low_value: int8 = for_low[8 * p : 8 * p + 8]
                high_value: int8 = for_high[8 * p : 8 * p + 8]
                low_sum += low * low_value
                high_sum += high * high_value
            step: int8 = 1 if whole == 1 else steps[0:8]
            dot: int32 = (low_sum + ((high_sum << 4) if whole == 1 else high_sum)) * step
            is_steps: UInt(1) = is_next
            is_next = 1 if (whole == 0 and is_steps == 0 and until == 1) else 0
            after: int32 = dot + (0 if at == 0 else acc)
            acc = acc if is_steps == 1 else after
            steps = weights if is_steps == 1 else (steps >> 8)
            until = L if is_steps == 1 else until - 1
            if is_steps == 0:
                if at == last:
                    sums.put(after)
                at = 0 if at == last else at + 1


schedule_multiply_nibbles = pipelined("fill mac")
