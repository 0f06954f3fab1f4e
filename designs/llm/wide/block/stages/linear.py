# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of the linear engine for blocks: weights are read once a block, and meet R tokens at a time."""

from typing import Any

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ....stage import Kernel, Stage
from ...parameters import channel_size, job_words
from ..linear import (
    fetch_blocks,
    multiply_block,
    rescale_block,
    schedule_fetch_blocks,
    schedule_multiply_block,
    schedule_rescale_block,
)
from .sizes import BlockSizes


def loading(z: BlockSizes) -> Stage:
    """One loader a channel, which reads a job again for every block."""
    m, C, L, PREFETCH = z.model, z.wide.channels, z.wide.lanes, z.wide.prefetch
    WORDS, (jobs, last) = z.entering + channel_size(m, z.wide), job_words(m, z.wide)
    kernel = Kernel(fetch_blocks, (L, *jobs, m.layers, last, z.entering), schedule_fetch_blocks)
    FETCH = kernel.template

    @df.part()
    def part(waves: int32, weights: UInt(8 * L)[C, WORDS], words: Stream[UInt(8 * L), PREFETCH][C]):
        @df.kernel(mapping=[C], args=[weights])
        def loader(memory: UInt(8 * L)[C, WORDS]):
            c = df.get_pid()
            fetch_blocks[*FETCH](memory[c], waves, words[c])

    return Stage(part, (kernel,), banks={"weights": 1})


def spreading(z: BlockSizes) -> Stage:
    """Gives the words of R tokens, for each output of a job again."""
    C, B, R, WORD = z.wide.channels, z.block.tokens, z.block.rows, z.word
    D, QKV, UP, FFN, HAS_HEAD = z.model.d, z.qkv, z.up, z.model.ffn, 1 - z.encoder
    OF_D, OF_FFN = z.words(D), z.words(FFN)
    ROUNDS, INVERSE, KEPT = z.rounds, z.inverse, B // R * max(OF_D, OF_FFN)
    ENTERS = z.enters
    groups = min(OF_D, OF_FFN)

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, normed_words: Stream[UInt(WORD), ROUNDS * OF_D],
        attended_words: Stream[UInt(WORD), ROUNDS * OF_D],
        bent_words: Stream[UInt(WORD), ROUNDS * OF_FFN], spread: Stream[UInt(WORD), 2],
        layers: UInt(8), enters: UInt(1), last_outs: UInt(16),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def spreading():
            kept: UInt(WORD)[KEPT]
            for job in range(0 - enters, 4 * layers + HAS_HEAD):
                kind: int32 = job & 3
                last_pass: UInt(8) = waves - 1
                left: int32 = count
                groups: UInt(16) = OF_D
                outs: UInt(24) = D // C
                if job == 4 * layers:
                    last_pass = 0
                    left = spoken
                    outs = last_outs
                elif kind == 0:
                    outs = QKV // C
                elif kind == 2:
                    outs = UP // C
                elif kind == 3:
                    groups = OF_FFN
                with allo.meta_if(ENTERS):
                    if job < 0:
                        groups = OF_D
                        kind = 0
                for wave in range(last_pass + 1):
                    last_token: UInt(8) = min(left, B) - 1
                    left = left - B
                    span: UInt(24) = (((last_token * INVERSE) >> 16) + 1) * groups
                    last: UInt(16) = span - 1
                    last_word: UInt(31) = span * outs - 1
                    at: UInt(16) = 0
                    fresh: UInt(1) = 1
                    for word in range(last_word + 1):
                        joined: UInt(WORD) = 0
                        if fresh == 1:
                            if kind == 1:
                                joined = attended_words.get()
                            elif kind == 3:
                                joined = bent_words.get()
                            else:
                                joined = normed_words.get()
                            kept[at] = joined
                        else:
                            joined = kept[at]
                        spread.put(joined)
                        fresh = 0 if at == last else fresh
                        at = 0 if at == last else at + 1

    def keep(s: Any) -> None:
        """What a pass over the outputs keeps, the next takes; a pass is the whole of a block's words."""
        if groups > 1:
            s.dependence("spreading_0:kept", "spreading_0:word", "all", groups)

    return Stage(part, loops=("spreading:word",), also=keep)


def casting(z: BlockSizes) -> Stage:
    """Gives every element each word, by way of groups of elements."""
    C, R, B, G, WORD = z.wide.channels, z.block.rows, z.block.tokens, z.groups, z.word
    OF_D, INVERSE, ENTERING, A_LAYER = (
        z.words(z.model.d), z.inverse, z.entering, sum(job_words(z.model, z.wide)[0]),
    )  # fmt: skip

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, spread: Stream[UInt(WORD), 2],
        inputs: Stream[UInt(WORD), 2][C], layers: UInt(8), enters: UInt(1), last_outs: UInt(16),
    ):  # fmt: skip
        cast: Stream[UInt(WORD), 2][G]

        @df.kernel(mapping=[1])
        def casting():
            last_wave: UInt(8) = waves - 1
            last_token: UInt(8) = count - last_wave * B - 1
            rounds: UInt(16) = last_wave * (B // R) + ((last_token * INVERSE) >> 16) + 1
            last_rounds: UInt(16) = (((spoken - 1) * INVERSE) >> 16) + 1
            total: int32 = rounds * (enters * ENTERING + layers * A_LAYER) + last_rounds * (
                last_outs * OF_D
            )
            for word in range(total):
                one: UInt(WORD) = spread.get()
                with allo.meta_for(G) as g:
                    cast[g].put(one)

        @df.kernel(mapping=[G])
        def recasting():
            g = df.get_pid()
            last_wave: UInt(8) = waves - 1
            last_token: UInt(8) = count - last_wave * B - 1
            rounds: UInt(16) = last_wave * (B // R) + ((last_token * INVERSE) >> 16) + 1
            last_rounds: UInt(16) = (((spoken - 1) * INVERSE) >> 16) + 1
            total: int32 = rounds * (enters * ENTERING + layers * A_LAYER) + last_rounds * (
                last_outs * OF_D
            )
            for word in range(total):
                one: UInt(WORD) = cast[g].get()
                with allo.meta_for(C // G) as c:
                    inputs[g * (C // G) + c].put(one)

    return Stage(part, loops=("casting:word", *(f"recasting_{g}:word" for g in range(G))))


def multiplying(z: BlockSizes) -> Stage:
    """One element a channel, which multiplies a word of weights with R tokens a cycle."""
    m, C, L, R, B, WORD = (
        z.model, z.wide.channels, z.wide.lanes, z.block.rows, z.block.tokens, z.word,
    )  # fmt: skip
    groups = z.words(min(m.d, m.ffn))
    kernel = Kernel(
        multiply_block,
        (L, C, m.d, z.qkv, z.up, m.ffn, z.layers, z.outs, R, B, z.extra, z.shift, z.enters),
        lambda s: schedule_multiply_block(s, groups, R),
    )
    ELEMENT = kernel.template

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, words: Stream[UInt(8 * L), z.wide.prefetch][C],
        inputs: Stream[UInt(WORD), 2][C], sums: Stream[UInt(32 * R), 4][C],
        layers: UInt(8), enters: UInt(1), last_outs: UInt(16),
    ):  # fmt: skip
        @df.kernel(mapping=[C])
        def element():
            c = df.get_pid()
            multiply_block[*ELEMENT](
                words[c], inputs[c], count, waves, spoken, sums[c], layers, enters, last_outs
            )

    return Stage(part, (kernel,))


def joining(z: BlockSizes) -> Stage:
    """Joins the elements' sums to those of groups."""
    C, R, B, G = z.wide.channels, z.block.rows, z.block.tokens, z.groups
    INVERSE, ENTERING, A_LAYER = z.inverse, z.enters * z.model.d // C, z.layer_sums // C

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, sums: Stream[UInt(32 * R), 4][C],
        partly: Stream[UInt(32 * R * (C // G)), 2][G],
        layers: UInt(8), enters: UInt(1), last_outs: UInt(16),
    ):  # fmt: skip
        @df.kernel(mapping=[G])
        def pregather():
            g = df.get_pid()
            last_wave: UInt(8) = waves - 1
            last_token: UInt(8) = count - last_wave * B - 1
            rounds: UInt(16) = last_wave * (B // R) + ((last_token * INVERSE) >> 16) + 1
            last_rounds: UInt(16) = (((spoken - 1) * INVERSE) >> 16) + 1
            total: int32 = rounds * (enters * ENTERING + layers * A_LAYER) + last_rounds * last_outs
            for one in range(total):
                some: UInt(32 * R * (C // G)) = 0
                with allo.meta_for(C // G) as c:
                    some[32 * R * c : 32 * R * c + 32 * R] = sums[g * (C // G) + c].get()
                partly[g].put(some)

    return Stage(part, loops=tuple(f"pregather_{g}:one" for g in range(G)))


def gathering(z: BlockSizes) -> Stage:
    """Gives words of V sums, token by token within a group of C outputs."""
    C, V, R, B, G = z.wide.channels, z.wide.vector, z.block.rows, z.block.tokens, z.groups
    D, QKV, UP, INVERSE, HAS_HEAD = z.model.d, z.qkv, z.up, z.inverse, 1 - z.encoder

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, partly: Stream[UInt(32 * R * (C // G)), 2][G],
        gathered: Stream[int32[V], 4], layers: UInt(8), enters: UInt(1), last_outs: UInt(16),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def gather():
            held: int32[R * C] = 0
            for job in range(0 - enters, 4 * layers + HAS_HEAD):
                kind: int32 = job & 3
                last_pass: UInt(8) = waves - 1
                left: int32 = count
                outs: UInt(24) = D // C
                if job == 4 * layers:
                    last_pass = 0
                    left = spoken
                    outs = last_outs
                elif kind == 0:
                    outs = QKV // C
                elif kind == 2:
                    outs = UP // C
                for wave in range(last_pass + 1):
                    last_token: UInt(8) = min(left, B) - 1
                    left = left - B
                    # Words of R tokens but one, of the last tokens but one, and of the next but one.
                    last: UInt(8) = (last_token * INVERSE) >> 16
                    full: UInt(16) = R * (C // V) - 1
                    rest: UInt(16) = (last_token - last * R + 1) * (C // V) - 1
                    second: UInt(8) = last - 1 if last > 0 else 0
                    turn: UInt(8) = 1 if last > 0 else 0
                    following: UInt(16) = rest if last <= 1 else full
                    room: UInt(16) = rest if last == 0 else full
                    last_word: UInt(31) = outs * (last_token + 1) * (C // V) - 1
                    fresh: UInt(1) = 1
                    for word in range(last_word + 1):
                        if fresh == 1:
                            with allo.meta_for(G) as g:
                                some: UInt(32 * R * (C // G)) = partly[g].get()
                                with allo.meta_for(C // G) as c:  # noqa: SIM117
                                    with allo.meta_for(R) as r:
                                        one: int32 = some[32 * (R * c + r) : 32 * (R * c + r) + 32]
                                        held[r * C + g * (C // G) + c] = one
                        else:
                            for m in range(R * C - V):
                                held[m] = held[m + V]
                        block: int32[V]
                        for v in range(V):
                            block[v] = held[v]
                        gathered.put(block)
                        fresh = 1 if room == 0 else 0
                        upcoming: UInt(16) = following
                        if room == 0:
                            following = rest if turn == second else full
                            turn = 0 if turn == last else turn + 1
                        room = upcoming if room == 0 else room - 1

    return Stage(part, loops=("gather:word",), registers=("gather:held", "gather:block"))


def rescaling(z: BlockSizes) -> Stage:
    """Applies factors and biases, a table once for all tokens of a block."""
    m, C, V, B = z.model, z.wide.channels, z.wide.vector, z.block.tokens
    TERMS = z.terms[0]
    sizes = V, C, m.d, z.qkv, z.up, m.layers, z.outputs, TERMS, B
    kernel = Kernel(
        rescale_block, sizes, lambda s: schedule_rescale_block(s, z.wide.rescale_interval, C // V)
    )
    RESCALE, ROWS = kernel.template, B * m.d // V

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, gathered: Stream[int32[V], 4],
        affines: Stream[UInt(32 * TERMS * V), 64], projected: Stream[float32[V], 4],
        deltas: Stream[float32[V], ROWS], hidden: Stream[float32[V], 4],
        said: Stream[float32[V], 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def rescaling():
            rescale_block[*RESCALE](
                gathered, affines, count, waves, spoken, projected, deltas, hidden, said
            )

    return Stage(part, (kernel,))
