# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""The spatial transformer: five stages joined by streams, layers iterated over one block.

``loader``  streams every weight of the model from external memory, once a step.
``linear``  one array of ``lanes`` int8 multipliers; works off the jobs of ``layout.jobs_of``.
            A word of weights read for the first query of a block is kept for the others.
``rescale`` takes the sums apart and applies each output's factor and bias in float32.
``embedding``  sends the rows of the tokens and of their positions.
``vector``  the rest: layer norms, softmax, GELU, residuals in float32, requantisation;
            attention on int8 with one key a cycle; logits.

A step takes ``count`` tokens at positions ``start`` … ``start + count - 1``: prefill with a block
of the prompt, decode with one token. The KV cache lives in an array that stays between steps.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int8, int32

from .activation import bend
from .attention import (
    divide,
    mix,
    schedule_divide,
    schedule_mix,
    schedule_score,
    schedule_split,
    score,
    split,
)
from .config import Architecture
from .layout import Job, check_lanes, jobs_of
from .norm import norm, schedule_norm
from .stage import Kernel, Stage
from .words import send, take

GROUP, GROUP_BITS = 8, 3
"""Activations that go to the linear engine in one word."""


@dataclass(frozen=True, slots=True)
class SmallSizes:
    """The sizes of the stages.

    Attributes:
        lanes: multipliers of the linear engine; divides every layer's outputs.
        block: most tokens of one step.
        prefetch: words the weight FIFO holds.
        gelu_ii: cycles between two GELU values.
        observe: also write every int32 accumulator of the step to the ``seen`` arrays.
    """

    config: Architecture
    lanes: int
    block: int
    prefetch: int
    gelu_ii: int
    observe: bool

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The matrix products of a step."""
        return jobs_of(self.config)

    @property
    def widest(self) -> int:
        """Inputs of the job that has most of them."""
        return max(self.config.d, self.config.ffn)

    @property
    def words(self) -> int:
        """Words of weights."""
        return sum(job.depth * job.outputs for job in self.jobs) // self.lanes

    @property
    def outputs(self) -> int:
        """Sums of a token."""
        return sum(job.outputs for job in self.jobs)


def loading(z: SmallSizes) -> Stage:
    """Streams every weight of the model from external memory, once a step."""
    P, WORDS, PREFETCH = z.lanes, z.words, z.prefetch

    @df.part()
    def part(weights: UInt(8 * P)[WORDS], words: Stream[UInt(8 * P), PREFETCH]):
        @df.kernel(mapping=[1], args=[weights])
        def loader(memory: UInt(8 * P)[WORDS]):
            for load in range(WORDS):
                word: UInt(8 * P) = memory[load]
                words.put(word)

    return Stage(part, loops=("loader:load",))


def multiplying(z: SmallSizes) -> Stage:
    """One array of int8 multipliers, which works off the jobs."""
    P, BLOCK, KMAX, ROW, JOBS = z.lanes, z.block, z.widest, z.widest // GROUP, len(z.jobs)
    job_depth = np.array([j.depth for j in z.jobs], np.int32)
    job_tiles = np.array([j.outputs // P for j in z.jobs], np.int32)

    @df.part()
    def part(
        count: int32, words: Stream[UInt(8 * P), z.prefetch], inputs: Stream[UInt(8 * GROUP), 16],
        sums: Stream[UInt(32 * P), 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def linear():
            depths: int32[JOBS] = job_depth
            tiles: int32[JOBS] = job_tiles
            x: UInt(8 * GROUP)[BLOCK * ROW]
            held: UInt(8 * P)[KMAX]
            acc: int32[P] = 0
            for job in range(JOBS):
                depth: int32 = depths[job]
                row: int32 = 0
                col: int32 = 0
                groups: int32 = depth // GROUP
                last_group: int32 = groups - 1
                words_in: int32 = count * groups
                for fill in range(words_in):
                    value: UInt(8 * GROUP) = inputs.get()
                    x[row + col] = value
                    if col == last_group:
                        col = 0
                        row = row + ROW
                    else:
                        col = col + 1
                last_k: int32 = depth - 1
                last_b: int32 = count - 1
                work: int32 = count * depth
                k: int32 = 0
                b: int32 = 0
                total: int32 = tiles[job] * work
                for mac in range(total):
                    word: UInt(8 * P) = 0
                    if b == 0:
                        word = words.get()
                        held[k] = word
                    else:
                        word = held[k]
                    group: UInt(8 * GROUP) = x[b * ROW + (k >> GROUP_BITS)]
                    xv: int8 = group >> ((k & (GROUP - 1)) * 8)
                    out: UInt(32 * P) = 0
                    for p in range(P):
                        weight: int8 = word[8 * p : 8 * p + 8]
                        before: int32 = 0 if k == 0 else acc[p]
                        after: int32 = before + xv * weight
                        acc[p] = after
                        out[32 * p : 32 * p + 32] = after
                    if k == last_k:
                        sums.put(out)
                        k = 0
                        if b == last_b:
                            b = 0
                        else:
                            b = b + 1
                    else:
                        k = k + 1

    def unroll(s: Any) -> None:
        s.unroll("linear_0:p")

    loops = ("linear:fill", "linear:mac")
    return Stage(part, loops=loops, registers=("linear:acc",), also=unroll)


def rescaling(z: SmallSizes) -> Stage:
    """Takes the sums apart and applies each output's factor and bias in float32."""
    P, OUTPUTS, SEEN, ROWS = z.lanes, z.outputs, int(z.observe), z.block if z.observe else 1

    @df.part()
    def part(
        count: int32, scales: float32[OUTPUTS], biases: float32[OUTPUTS],
        products_seen: int32[ROWS, OUTPUTS], sums: Stream[UInt(32 * P), 4],
        results: Stream[float32, 16],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[scales, biases, products_seen])
        def rescale(
            scale: float32[OUTPUTS],
            bias: float32[OUTPUTS],
            seen: int32[ROWS, OUTPUTS],
        ):
            word: UInt(32 * P) = 0
            for t in range(OUTPUTS // P):
                for b in range(count):
                    for lane in range(P):
                        if lane == 0:
                            word = sums.get()
                        else:
                            word = word >> 32
                        acc: int32 = word[0:32]
                        with allo.meta_if(SEEN == 1):
                            seen[b, t * P + lane] = acc
                        wide: float32 = acc
                        value: float32 = wide * scale[t * P + lane] + bias[t * P + lane]
                        results.put(value)

    return Stage(part, loops=("rescale:lane",))


def embedding(z: SmallSizes) -> Stage:
    """Sends the rows of the tokens and of their positions."""
    c = z.config
    D, CTX, VOCAB, BLOCK = c.d, c.context, c.vocab, z.block

    @df.part()
    def part(
        count: int32, start: int32, tokens: int32[BLOCK],
        token_table: float32[VOCAB, D], position_table: float32[CTX, D],
        embedded: Stream[float32, 16], placed: Stream[float32, 16],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[tokens, token_table, position_table])
        def embedding(
            ids: int32[BLOCK],
            token_rows: float32[VOCAB, D],
            position_rows: float32[CTX, D],
        ):
            for b in range(count):
                for embed in range(D):
                    embedded.put(token_rows[ids[b], embed])
                    placed.put(position_rows[start + b, embed])

    return Stage(part, loops=("embedding:embed",))


def computing(z: SmallSizes) -> Stage:
    """The rest: norms, attention, GELU and residuals, an element a cycle."""
    c = z.config
    LAYERS, D, HEADS, HD, CTX, FFN, VOCAB = (
        c.layers, c.d, c.heads, c.head_dim, c.context, c.ffn, c.vocab,
    )  # fmt: skip
    P, BLOCK, KMAX, NORMS = z.lanes, z.block, z.widest, 2 * c.layers + 1
    ROWS = LAYERS * BLOCK if z.observe else 1
    kernels = kernels_of(z)
    NORM, SPLIT, SCORE, MIX, DIVIDE, BEND = (kernel.template for kernel in kernels)

    @df.part()
    def part(
        count: int32, start: int32, affine: float32[2, NORMS, D], factors: float32[LAYERS, 3],
        scores_seen: int32[ROWS, HEADS, CTX], sums_seen: int32[ROWS, HEADS, HD],
        cache: int8[2, LAYERS, HEADS, CTX, HD], logits: float32[BLOCK, VOCAB],
        embedded: Stream[float32, 16], placed: Stream[float32, 16],
        inputs: Stream[UInt(8 * GROUP), 16], results: Stream[float32, 16],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[affine, factors, cache, logits, scores_seen, sums_seen])
        def vector(
            gain_shift: float32[2, NORMS, D],
            factor: float32[LAYERS, 3],
            kept: int8[2, LAYERS, HEADS, CTX, HD],
            out: float32[BLOCK, VOCAB],
            scores_out: int32[ROWS, HEADS, CTX],
            sums_out: int32[ROWS, HEADS, HD],
        ):
            x: float32[BLOCK, D]
            delta: float32[BLOCK, D]
            small: int8[BLOCK, KMAX]
            queries: int8[BLOCK, HEADS, HD]
            scores: int32[HEADS, CTX]
            peak: int32[HEADS]
            total: int32[HEADS]
            summed: int32[HEADS, HD]
            for b in range(count):
                for embed in range(D):
                    x[b, embed] = embedded.get()
                    delta[b, embed] = placed.get()
            for layer in range(LAYERS):
                norm[*NORM](x, delta, gain_shift, layer * 2, count, small)
                send[BLOCK, KMAX, GROUP](inputs, small, count, D // GROUP)
                split[*SPLIT](results, queries, kept, layer, start, count)
                for b in range(count):
                    last: int32 = start + b
                    score[*SCORE](queries, kept, layer, b, last, scores, peak, scores_out)
                    mix[*MIX](scores, peak, kept, factor, layer, last, total, summed)
                    divide[*DIVIDE](total, summed, factor, layer, b, inputs, sums_out)
                take[BLOCK, D, P](results, delta, count)

                norm[*NORM](x, delta, gain_shift, layer * 2 + 1, count, small)
                send[BLOCK, KMAX, GROUP](inputs, small, count, D // GROUP)
                bend[*BEND](results, factor, layer, count, small)
                send[BLOCK, KMAX, GROUP](inputs, small, count, FFN // GROUP)
                take[BLOCK, D, P](results, delta, count)

            norm[*NORM](x, delta, gain_shift, 2 * LAYERS, count, small)
            send[BLOCK, KMAX, GROUP](inputs, small, count, D // GROUP)
            take[BLOCK, VOCAB, P, "logits"](results, out, count)

    def shape(s: Any) -> None:
        s.partition("vector_0:small", dim=2, partition_type=allo.Partition.Cyclic, factor=GROUP)
        s.pipeline("bend:gelu", initiation_interval=z.gelu_ii)
        s.unroll("send:e")

    return Stage(part, kernels, loops=("vector:embed",), also=shape)


def kernels_of(z: SmallSizes) -> tuple[Kernel, ...]:
    """What the vector engine calls: norm, the steps of attention, and GELU."""
    c = z.config
    sizes, seen = (c.layers, c.heads, c.head_dim, c.context, z.block), int(z.observe)
    return (
        Kernel(norm, (c.d, 2 * c.layers + 1, z.block, z.widest), schedule_norm),
        Kernel(split, (*sizes, z.lanes), schedule_split),
        Kernel(score, (*sizes, seen), schedule_score),
        Kernel(mix, sizes[:4], schedule_mix),
        Kernel(divide, (*sizes[:3], z.block, GROUP, seen), schedule_divide),
        Kernel(bend, (c.layers, c.ffn, z.block, z.widest, z.lanes), lambda s: s),
    )


def stages_of(z: SmallSizes) -> list[Stage]:
    """The stages in the order in which they are built.

    Raises:
        ParallelismError: the lanes do not divide every layer's outputs.
    """
    check_lanes(z.config, z.lanes)
    return [loading(z), multiplying(z), rescaling(z), embedding(z), computing(z)]
