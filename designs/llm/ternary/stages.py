# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of the linear engine with ternary weights: activations spread with their sum, and are added."""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, int8, int32

from ..stage import Kernel, Loops, Stage
from ..wide.stages.linear import CALL
from ..wide.stages.sizes import Sizes
from .elements import multiply_trits, schedule_multiply_trits


def spreading(z: Sizes) -> Stage:
    """Widens activations to words of the elements, each with the sum of its job's so far."""
    C, V, K, LAYERS, STEPS, JOBS = (
        z.wide.channels, z.wide.vector, z.wide.activations, z.layers, z.steps, z.jobs,
    )  # fmt: skip
    D, INNER, FFN, DEPTH, MORE = z.d, z.inner, z.ffn, _depth(z), z.more

    @df.part()
    def part(
        normed: Stream[UInt(8 * V), 4], attended: Stream[UInt(8 * V), 4],
        bent: Stream[UInt(8 * V), 4], inputs: Stream[UInt(8 * K + MORE), DEPTH][C],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def spreading():
            for step in range(STEPS):
                for job in range(JOBS):
                    kind: int32 = 0 if job == 4 * LAYERS else job & 3
                    narrow: int32 = D // V
                    if kind == 1:
                        narrow = INNER // V
                    elif kind == 3:
                        narrow = FFN // V
                    wide_word: UInt(8 * K) = 0
                    piece: UInt(8) = 0
                    total: int32 = 0
                    for word in range(narrow):
                        part: UInt(8 * K) = 0
                        if kind == 1:
                            part = attended.get()
                        elif kind == 3:
                            part = bent.get()
                        else:
                            part = normed.get()
                        wide_word = (wide_word >> (8 * V)) | (part << (8 * (K - V)))
                        for v in range(V):
                            level: int8 = part[8 * v : 8 * v + 8]
                            total += level
                        whole: UInt(8 * K + MORE) = wide_word
                        whole[8 * K : 8 * K + MORE] = total
                        if piece == K // V - 1:
                            with allo.meta_for(C) as c:
                                inputs[c].put(whole)
                        piece = 0 if piece == K // V - 1 else piece + 1

    def delay(loops: Loops) -> float:
        return loops.depth("spreading_0", "word") + CALL

    return Stage(part, loops=("spreading:word",), delay=delay)


def multiplying(z: Sizes) -> Stage:
    """One element a channel: its outputs of every job, a word of weights a cycle."""
    C, B, K, STEPS, DEPTH, MORE = (
        z.wide.channels, z.wide.word, z.wide.activations, z.steps, _depth(z), z.more,
    )  # fmt: skip
    sizes = K, B, C, z.d, z.qkv, z.inner, z.up, z.ffn, z.layers, z.outputs // C
    kernel = Kernel(multiply_trits, sizes, schedule_multiply_trits, z.kind)
    ELEMENT = kernel.template

    @df.part()
    def part(
        words: Stream[UInt(8 * B), z.wide.ahead][C], inputs: Stream[UInt(8 * K + MORE), DEPTH][C],
        sums: Stream[int32, 4][C],
    ):  # fmt: skip
        @df.kernel(mapping=[C])
        def element():
            c = df.get_pid()
            for step in range(STEPS):
                multiply_trits[*ELEMENT](words[c], inputs[c], sums[c])

    return Stage(part, (kernel,), delay=lambda loops: loops.depth(kernel.name, "mac"))


def _depth(z: Sizes) -> int:
    """Words of activations that wait for an element: those of the longest job."""
    return (z.ffn if z.device is None else max(z.d, z.ffn)) // z.wide.activations
