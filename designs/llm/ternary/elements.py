# ruff: noqa: B007  (loops have names for the schedule)
"""Ternary weights: a processing element that adds activations, and has no multiplier.

A word holds K weights of one output, five in a byte (:mod:`.packing`). A weight w is a digit w + 1, so an
activation is added not at all, once or twice, ``sum((w + 1) * x)``, and what is too much is ``sum(x)``. That
is one number for all outputs of a job: it comes beside the last word of activations, and every output begins
with its opposite. So nothing is negated.
"""

from allo.ir.types import Int, Stream, UInt, int8, int32

from ..stage import pipelined

TOTAL = 24
"""Bits of the sum of a job's activations, above a word of them."""


def multiply_trits[K, B, C, D, QKV, INNER, UP, FFN, LAYERS, OUTS](
    words: "Stream[UInt(8 * B), 2]",
    inputs: "Stream[UInt(8 * K + 24), 2]",
    sums: "Stream[int32, 2]",
):
    """One processing element: its channel's outputs of every job, K ternary weights of B bytes a cycle.

    The other sizes are those of :func:`..wide.linear.multiply`; the last job has ternary weights, too.
    """
    x: UInt(8 * K)[max(D, FFN) // K]
    for job in range(4 * LAYERS + min(OUTS, 1)):
        kind: int32 = job & 3
        groups: int32 = D // K
        count: int32 = (D // C) * (INNER // K)
        if job == 4 * LAYERS:
            count = OUTS * (D // K)
        elif kind == 0:
            count = (QKV // C) * (D // K)
        elif kind == 1:
            groups = INNER // K
        elif kind == 2:
            count = (UP // C) * (D // K)
        elif kind == 3:
            groups = FFN // K
            count = (D // C) * (FFN // K)
        total: Int(24) = 0
        for fill in range(groups):
            taken: UInt(8 * K + 24) = inputs.get()
            x[fill] = taken[0 : 8 * K]
            total = taken[8 * K : 8 * K + 24]
        first: int32 = -total
        last: UInt(16) = groups - 1
        at: UInt(16) = 0
        acc: int32 = 0
        for mac in range(count):
            weights: UInt(8 * B) = words.get()
            values: UInt(40 * B) = x[at]
            once: UInt(5 * B) = 0
            twice: UInt(5 * B) = 0
            for b in range(B):
                f: UInt(2) = weights[8 * b : 8 * b + 2]
                own_e: UInt(2) = weights[8 * b + 2 : 8 * b + 4]
                own_c: UInt(1) = weights[8 * b + 4]
                g: UInt(2) = weights[8 * b + 5 : 8 * b + 7]
                h: UInt(1) = weights[8 * b + 7]
                ninth: UInt(1) = 1 if (own_e == 3 and own_c == 1) else 0
                e: UInt(2) = g if ninth == 1 else own_e
                c: UInt(1) = h if ninth == 1 else own_c
                d0: UInt(2) = 2 if e == 3 else (c if f == 3 else f)
                d1: UInt(2) = f if e == 3 else e
                d2: UInt(2) = 2 if (e == 3 or f == 3) else c
                d3: UInt(2) = 2 if ninth == 1 else (h if g == 3 else g)
                d4: UInt(2) = 2 if (ninth == 1 or g == 3) else h
                once[5 * b] = d0[0]
                once[5 * b + 1] = d1[0]
                once[5 * b + 2] = d2[0]
                once[5 * b + 3] = d3[0]
                once[5 * b + 4] = d4[0]
                twice[5 * b] = d0[1]
                twice[5 * b + 1] = d1[1]
                twice[5 * b + 2] = d2[1]
                twice[5 * b + 3] = d3[1]
                twice[5 * b + 4] = d4[1]
            dot: int32 = 0
            for p in range(K):
                value: int8 = values[8 * p : 8 * p + 8]
                single: Int(9) = value if once[p] == 1 else 0
                double: Int(9) = value
                term: Int(9) = (double << 1) if twice[p] == 1 else single
                dot += term
            after: int32 = dot + (first if at == 0 else acc)
            acc = after
            if at == last:
                sums.put(after)
            at = 0 if at == last else at + 1


schedule_multiply_trits = pipelined("fill mac")
