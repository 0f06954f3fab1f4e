# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of the linear engine: weights come, activations spread, sums are gathered and rescaled."""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int8, int16, int32

from ...stage import Kernel, Loops, Stage
from ..linear import fetch, multiply, rescale, schedule_fetch, schedule_multiply, schedule_rescale
from ..nibbles import lane_bits, multiply_nibbles, schedule_multiply_nibbles
from ..parameters import channel_size
from ..tokens.nibbles import multiply_offsets, schedule_multiply_offsets
from .sizes import Sizes

HOP = 4
"""Words that a stream over the border of a region holds."""
CALL = 3
"""Cycles in which a loop that a job enters starts, and hands its first word on."""


def fetched(bits: int, words: int, name: str) -> Kernel:
    """A loader of so many words."""
    return Kernel(fetch, (bits, words), schedule_fetch, name)


def loading(z: Sizes) -> Stage:
    """One loader a channel: reads its weights ahead of their use, as far as ``ahead`` words."""
    C, L, PREFETCH = z.wide.channels, z.wide.word, z.wide.ahead
    WORDS = channel_size(z.model, z.wide)
    kernel = fetched(8 * L, WORDS, "weights")
    FETCH = kernel.template

    @df.part()
    def part(weights: UInt(8 * L)[C, WORDS], words: Stream[UInt(8 * L), PREFETCH][C]):
        @df.kernel(mapping=[C], args=[weights])
        def loader(memory: UInt(8 * L)[C, WORDS]):
            c = df.get_pid()
            fetch[*FETCH](memory[c], words[c])

    return Stage(part, (kernel,), banks={"weights": 1})


def factors_loading(bits: int, words: int) -> Stage:
    """The loader of factors and biases of the sums."""
    kernel = fetched(bits, words, "affine")
    FETCH = kernel.template

    @df.part()
    def part(affine: UInt(bits)[words], affines: Stream[UInt(bits), 64]):
        @df.kernel(mapping=[1], args=[affine])
        def affine_loader(memory: UInt(bits)[words]):
            fetch[*FETCH](memory, affines)

    return Stage(part, (kernel,))


def gains_loading(z: Sizes) -> Stage:
    """The loader of gains and shifts of the norms."""
    BITS, WORDS = 32 * z.terms[1] * z.wide.vector, z.norms * z.rows
    kernel = fetched(BITS, WORDS, "gain")
    FETCH = kernel.template

    @df.part()
    def part(norm_table: UInt(BITS)[WORDS], gains: Stream[UInt(BITS), 64]):
        @df.kernel(mapping=[1], args=[norm_table])
        def norm_loader(memory: UInt(BITS)[WORDS]):
            fetch[*FETCH](memory, gains)

    return Stage(part, (kernel,))


def spreading(z: Sizes) -> Stage:
    """Widens activations to words of the elements, and gives every element each word."""
    C, V, K, LAYERS, STEPS, JOBS = (
        z.wide.channels, z.wide.vector, z.wide.activations, z.layers, z.steps, z.jobs,
    )  # fmt: skip
    D, INNER, FFN, ROOM, ALONE = z.d, z.inner, z.ffn, max(z.d, z.ffn), z.device is None
    DEPTH, EXTRA, MORE = (FFN if ALONE else ROOM) // K, z.extra, z.more
    if z.wide.regions:
        C, DEPTH = len(z.wide.regions), HOP
    HALF = max(MORE // 2, 1)

    @df.part()
    def part(
        normed: Stream[UInt(8 * V + EXTRA), 4], attended: Stream[UInt(8 * V), 4],
        bent: Stream[UInt(8 * V + EXTRA), 4], inputs: Stream[UInt(8 * K + MORE), DEPTH][C],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def spreading():
            for step in range(STEPS):
                for job in range(JOBS):
                    kind: int32 = job & 3
                    narrow: int32 = D // V
                    with allo.meta_if(ALONE):
                        if job == 4 * LAYERS:
                            kind = 0
                        elif kind == 3:
                            narrow = FFN // V
                    with allo.meta_else():
                        if kind == 1:
                            narrow = INNER // V
                        elif kind == 3:
                            narrow = FFN // V
                    wide_word: UInt(8 * K) = 0
                    piece: UInt(8) = 0
                    front: UInt(HALF) = 0
                    summed: int16 = 0
                    for word in range(narrow):
                        part: UInt(8 * K + EXTRA) = 0
                        if kind == 1:
                            part = attended.get()
                        elif kind == 3:
                            part = bent.get()
                        else:
                            part = normed.get()
                        with allo.meta_if(EXTRA == 0):
                            joined: UInt(8 * K) = (wide_word >> (8 * V)) | (part << (8 * (K - V)))
                            wide_word = joined
                            if piece == K // V - 1:
                                with allo.meta_for(C) as c:
                                    inputs[c].put(joined)
                        with allo.meta_else():
                            levels: UInt(8 * V) = part[0 : 8 * V]
                            behind: UInt(8 * K) = levels
                            wide_word = (wide_word >> (8 * V)) | (behind << (8 * (K - V)))
                            whole: UInt(8 * K + MORE) = wide_word
                            with allo.meta_if(MORE == EXTRA):
                                whole[8 * K : 8 * K + EXTRA] = part[8 * V : 8 * V + EXTRA]
                            with allo.meta_else():
                                # Of each half, by how much its levels are finer, and their sum.
                                tally: int16 = 0
                                for v in range(V):
                                    level: int8 = levels[8 * v : 8 * v + 8]
                                    tally += level
                                starts: UInt(1) = 1 if piece % (K // V // 2) == 0 else 0
                                summed = tally + (0 if starts == 1 else summed)
                                half: UInt(HALF) = 0
                                half[0:EXTRA] = part[8 * V : 8 * V + EXTRA]
                                half[EXTRA:HALF] = summed
                                front = half if piece < K // V // 2 else front
                                whole[8 * K : 8 * K + HALF] = front
                                whole[8 * K + HALF : 8 * K + MORE] = half
                            if piece == K // V - 1:
                                with allo.meta_for(C) as c:
                                    inputs[c].put(whole)
                        piece = 0 if piece == K // V - 1 else piece + 1

    def delay(loops: Loops) -> float:
        return loops.depth("spreading_0", "word") + CALL

    return Stage(part, loops=("spreading:word",), delay=delay)


def multiplying(z: Sizes) -> Stage:
    """One element a channel: its outputs of every job, a word of weights a cycle."""
    C, L, K, STEPS, DEPTH = (
        z.wide.channels, z.wide.lanes, z.wide.activations, z.steps,
        (z.ffn if z.device is None else max(z.d, z.ffn)) // z.wide.activations,
    )  # fmt: skip
    NIBBLES, OFFSETS, MORE = z.wide.bits == 4, z.wide.group > 0, z.more
    jobs = z.up, z.ffn, z.layers, z.outputs // C
    if OFFSETS:
        own = L, C, z.d, z.qkv, z.inner, *jobs, z.shift
        kernel = Kernel(multiply_offsets, own, schedule_multiply_offsets, z.kind)
    elif NIBBLES:
        pairs = L, C, z.d, z.qkv, *jobs, lane_bits(L)
        kernel = Kernel(multiply_nibbles, pairs, schedule_multiply_nibbles)
    else:
        sizes = L, C, z.d, z.qkv, z.inner, *jobs, z.extra, z.shift
        kernel = Kernel(multiply, sizes, schedule_multiply, z.kind)
    ELEMENT = kernel.template

    @df.part()
    def part(
        words: Stream[UInt(8 * L), z.wide.ahead][C], inputs: Stream[UInt(8 * K + MORE), DEPTH][C],
        sums: Stream[int32, 4][C],
    ):  # fmt: skip
        @df.kernel(mapping=[C])
        def element():
            c = df.get_pid()
            for step in range(STEPS):
                with allo.meta_if(OFFSETS):
                    multiply_offsets[*ELEMENT](words[c], inputs[c], sums[c])
                with allo.meta_elif(NIBBLES):
                    multiply_nibbles[*ELEMENT](words[c], inputs[c], sums[c])
                with allo.meta_else():
                    multiply[*ELEMENT](words[c], inputs[c], sums[c])

    return Stage(part, (kernel,), delay=lambda loops: loops.depth(kernel.name, "mac"))


def gathering(z: Sizes) -> Stage:
    """Joins the elements' sums to words of V."""
    C, V, SPANS, PLACED = z.wide.channels, z.wide.vector, z.wide.spans(), bool(z.wide.regions)
    HELD, ALL, R = max(C, V), z.steps * z.sums, len(SPANS)
    SUMS = Stream[UInt(32 * max(z.wide.regions)), HOP] if PLACED else Stream[int32, 4]

    @df.part()
    def part(sums: SUMS[R], gathered: Stream[int32[V], 4]):
        @df.kernel(mapping=[1])
        def gather():
            held: int32[HELD] = 0
            piece: UInt(8) = 0
            with allo.meta_if(C >= V):
                for word in range(ALL // V):
                    if piece == 0:
                        with allo.meta_if(PLACED):  # noqa: SIM117
                            with allo.meta_for(R) as r:
                                near: UInt(32 * C) = sums[r].get()
                                with allo.meta_for(SPANS[r][1] - SPANS[r][0]) as c:
                                    held[SPANS[r][0] + c] = near[32 * c : 32 * c + 32]
                        with allo.meta_else():  # noqa: SIM117
                            with allo.meta_for(C) as c:
                                held[c] = sums[c].get()
                    else:
                        for m in range(C - V):
                            held[m] = held[m + V]
                    block: int32[V]
                    for v in range(V):
                        block[v] = held[v]
                    gathered.put(block)
                    piece = 0 if piece == C // V - 1 else piece + 1
            with allo.meta_else():
                for word in range(ALL // C):
                    for m in range(V - C):
                        held[m] = held[m + C]
                    with allo.meta_for(C) as c:
                        held[V - C + c] = sums[c].get()
                    if piece == V // C - 1:
                        block: int32[V]
                        for v in range(V):
                            block[v] = held[v]
                        gathered.put(block)
                    piece = 0 if piece == V // C - 1 else piece + 1

    def delay(loops: Loops) -> float:
        return max(1, C // V) + loops.depth("gather_0", "word")

    return Stage(
        part, loops=("gather:word",), registers=("gather:held", "gather:block"), delay=delay
    )


def rescaling(z: Sizes) -> Stage:
    """Applies factors and biases, and sends the results where those of their job go."""
    V, STEPS, TERMS = z.wide.vector, z.steps, z.terms[0]
    AHEAD, BENT = z.tables_ahead, z.bending
    kernel = Kernel(
        rescale,
        (V, z.d, z.qkv, z.up, z.layers, z.outputs, TERMS),
        lambda s: schedule_rescale(s, z.wide.rescale_interval),
        z.kind,
    )
    RESCALE = kernel.template

    @df.part()
    def part(
        gathered: Stream[int32[V], 4], affines: Stream[UInt(32 * TERMS * V), AHEAD],
        projected: Stream[float32[V], 4], deltas: Stream[float32[V], 4],
        hidden: Stream[float32[V], BENT], said: Stream[float32[V], 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def rescaling():
            for step in range(STEPS):
                rescale[*RESCALE](gathered, affines, projected, deltas, hidden, said)

    return Stage(part, (kernel,), delay=lambda loops: loops.depth(kernel.name, "out") + CALL)
