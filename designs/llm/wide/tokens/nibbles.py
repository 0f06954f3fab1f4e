# ruff: noqa: B007  (loops have names for the schedule)
"""Four-bit weights in groups with a step and an offset, and activations with a step for each token.

A word of L bytes holds 2L weights of one output: a group in the low halves of its bytes, and the next group
in the high halves. Activations come in the same groups, each with a shift and with its sum, which a group's
offset multiplies. In front of every L // 4 words of a layer's job stands a word with their steps and offsets.
The last job, the logits, has int8 weights and no steps: a byte is sixteen times its signed upper half and its
lower half, and so the lower halves have a step of 1 there, and the upper ones of 16.
"""

from allo.ir.types import Int, Stream, UInt, int8, int16, int32

from ...stage import pipelined

MORE = 20
"""Bits beside a group of activations: by how much its levels are finer, lowest, and their sum."""


def multiply_offsets[L, C, D, QKV, INNER, UP, FFN, LAYERS, OUTS, MOST](
    words: "Stream[UInt(8 * L), 2]",
    inputs: "Stream[UInt(16 * L + 40), 2]",
    sums: "Stream[int32, 2]",
):
    """One processing element: its channel's outputs of every job, 2L weights of four bits a cycle.

    The sizes are those of :func:`..linear.multiply`. ``MOST`` is the most by which a group's levels are
    finer; a group's sum is shifted by what is left.
    """
    x: UInt(16 * L + 40)[max(D, FFN) // (2 * L)]
    for job in range(4 * LAYERS + min(OUTS, 1)):
        kind: int32 = job & 3
        whole: UInt(1) = 1 if job == 4 * LAYERS else 0
        of_layer: int32 = QKV // C if kind == 0 else (UP // C if kind == 2 else D // C)
        outs: int32 = OUTS if whole == 1 else of_layer
        wide: int32 = INNER if kind == 1 else (FFN if kind == 3 else D)
        groups: int32 = wide // (2 * L)
        for fill in range(groups):
            x[fill] = inputs.get()
        pieces: int32 = 2 * groups if whole == 1 else groups
        last: UInt(16) = pieces - 1
        count: int32 = outs * pieces
        total: int32 = count if whole == 1 else count + (count + (L // 4 - 1)) // (L // 4)
        until: UInt(8) = 0
        is_next: UInt(1) = 1 - whole
        steps: UInt(8 * L) = 0
        at: UInt(16) = 0
        acc: int32 = 0
        for mac in range(total):
            weights: UInt(8 * L) = words.get()
            place: UInt(16) = (at >> 1) if whole == 1 else at
            taken: UInt(16 * L + 40) = x[place]
            second: UInt(1) = whole & at
            is_back: UInt(1) = 1 if (whole == 0 or second == 1) else 0
            for_low: UInt(8 * L) = taken[8 * L : 16 * L] if second == 1 else taken[0 : 8 * L]
            for_high: UInt(8 * L) = taken[8 * L : 16 * L] if is_back == 1 else taken[0 : 8 * L]
            mores: UInt(40) = taken[16 * L : 16 * L + 40]
            low_more: UInt(20) = mores[20:40] if second == 1 else mores[0:20]
            high_more: UInt(20) = mores[20:40] if is_back == 1 else mores[0:20]
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
            low_step: int8 = 1 if whole == 1 else steps[0:8]
            low_offset: int8 = 0 if whole == 1 else steps[8:16]
            high_step: int8 = 16 if whole == 1 else steps[16:24]
            high_offset: int8 = 0 if whole == 1 else steps[24:32]
            low_finer: UInt(4) = low_more[0:4]
            high_finer: UInt(4) = high_more[0:4]
            low_all: int16 = low_more[4:20]
            high_all: int16 = high_more[4:20]
            low_dot: int32 = low_sum * low_step + low_all * low_offset
            high_dot: int32 = high_sum * high_step + high_all * high_offset
            dot: int32 = (low_dot << (MOST - low_finer)) + (high_dot << (MOST - high_finer))
            is_steps: UInt(1) = is_next
            is_next = 1 if (whole == 0 and is_steps == 0 and until == 1) else 0
            after: int32 = dot + (0 if at == 0 else acc)
            acc = acc if is_steps == 1 else after
            steps = weights if is_steps == 1 else (steps >> 32)
            until = L // 4 if is_steps == 1 else until - 1
            if is_steps == 0:
                if at == last:
                    sums.put(after)
                at = 0 if at == last else at + 1


schedule_multiply_offsets = pipelined("fill mac")
