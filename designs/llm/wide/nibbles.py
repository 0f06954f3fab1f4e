# ruff: noqa: B007  (loops have names for the schedule)
"""Four-bit weights: a processing element that takes two of them from every byte of its channel.

A word of L bytes holds L weights of one output in the low halves of its bytes. In the high halves are those
of the channel's next output, by the same inputs. So a byte is two weights by one activation, which are one
product: the high weight stands ``LANE`` bits above the low one, and the sums of both come out side by side.
Two words, 2L inputs, have one step for each of both outputs. In front of every L words of a job stands a
word with their steps, a byte each.

The last job, the logits, has int8 weights and no steps: a byte is sixteen times its signed upper half and its
lower half, by one activation as well.
"""

from allo.ir.types import Int, Stream, UInt, int8, int32

from ..stage import pipelined


def multiply_nibbles[L, C, D, QKV, UP, FFN, LAYERS, OUTS, LANE](
    words: "Stream[UInt(8 * L), 2]",
    inputs: "Stream[UInt(8 * L), 2]",
    sums: "Stream[int32, 2]",
):
    """One processing element: its channel's outputs of every job, 2L weights of four bits a cycle.

    ``QKV`` and ``UP`` are the outputs of a layer's first and third job, and ``OUTS`` those of the last job
    that lie on a channel; they take L weights a cycle. ``LANE`` is :func:`lane_bits`.
    """
    x: UInt(8 * L)[max(D, FFN) // L]
    for job in range(4 * LAYERS + 1):
        kind: int32 = job & 3
        whole: UInt(1) = 1 if job == 4 * LAYERS else 0
        of_layer: int32 = QKV if kind == 0 else (UP if kind == 2 else D)
        outs: int32 = OUTS if whole == 1 else of_layer // (2 * C)
        groups: int32 = FFN // L if (kind == 3 and whole == 0) else D // L
        for fill in range(groups):
            x[fill] = inputs.get()
        last: UInt(16) = groups - 1
        count: int32 = outs * groups
        total: int32 = count if whole == 1 else count + (count + (L - 1)) // L
        until: UInt(8) = 0
        is_next: UInt(1) = 1 - whole
        steps: UInt(8 * L) = 0
        at: UInt(16) = 0
        low_acc: int32 = 0
        high_acc: int32 = 0
        held: int32 = 0
        is_held: UInt(1) = 0
        for mac in range(total):
            weights: UInt(8 * L) = words.get()
            group: UInt(8 * L) = x[at]
            both: Int(2 * LANE + 2) = 0
            for p in range(L):
                bits: UInt(4) = weights[8 * p : 8 * p + 4]
                signed: Int(4) = weights[8 * p : 8 * p + 4]
                low: Int(5) = bits if whole == 1 else signed
                high: Int(4) = weights[8 * p + 4 : 8 * p + 8]
                above: Int(LANE + 5) = high
                pair: Int(LANE + 5) = (above << LANE) + low
                value: int8 = group[8 * p : 8 * p + 8]
                both += pair * value
            low_sum: Int(LANE) = both[0:LANE]
            high_bits: Int(LANE) = both[LANE : 2 * LANE]
            borrow: UInt(1) = both[LANE - 1 : LANE]
            high_sum: int32 = high_bits + borrow
            low_step: int8 = 1 if whole == 1 else steps[0:8]
            high_step: int8 = 16 if whole == 1 else steps[8:16]
            low_dot: int32 = low_sum * low_step
            high_dot: int32 = high_sum * high_step
            dot: int32 = low_dot + (high_dot if whole == 1 else 0)
            is_steps: UInt(1) = is_next
            is_next = 1 if (whole == 0 and is_steps == 0 and until == 1) else 0
            low_after: int32 = dot + (0 if at == 0 else low_acc)
            high_after: int32 = high_dot + (0 if at == 0 else high_acc)
            low_acc = low_acc if is_steps == 1 else low_after
            high_acc = high_acc if is_steps == 1 else high_after
            following: UInt(8 * L) = (steps >> 16) if (until & 1) == 1 else steps
            steps = weights if is_steps == 1 else following
            until = L if is_steps == 1 else until - 1
            # The high output of a pair is said in the cycle behind the low one.
            ends: UInt(1) = 1 if (is_steps == 0 and at == last) else 0
            if ends == 1 or is_held == 1:
                sums.put(held if is_held == 1 else low_after)
            is_held = ends & (1 - whole)
            held = high_after
            if is_steps == 0:
                at = 0 if at == last else at + 1
        if whole == 0:
            sums.put(held)


def lane_bits(lanes: int) -> int:
    """Bits that hold the sum of so many products of a low half, 0 to 15 or -8 to 7, and an int8."""
    return 11 + lanes.bit_length()


schedule_multiply_nibbles = pipelined("fill mac")
