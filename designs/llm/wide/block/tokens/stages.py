# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""The stages that differ where each token has steps of its own: norms and their steps, gates, rescaling."""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ....stage import Kernel, Stage
from ..gated import part_block, schedule_part_block
from ..stages.sizes import BlockSizes
from .gated import (
    multiply_gates,
    quantise_gates,
    schedule_multiply_gates,
    schedule_quantise_gates,
)
from .linear import rescale_block_tokens, schedule_rescale_block_tokens
from .norm import normalise_rows_tokens, schedule_normalise_rows_tokens


def norming(z: BlockSizes) -> Stage:
    """Units of norms, each with a token of its own, whose step it gives, too."""
    m, V, PARTS, B, N = z.model, z.wide.vector, z.wide.parts, z.block.tokens, z.block.norms
    logs = V.bit_length() - 1, PARTS.bit_length() - 1
    sizes = m.d, V, logs[0], PARTS, logs[1], z.layers, B, N, z.wide.block, z.shift
    kernel = Kernel(normalise_rows_tokens, sizes, schedule_normalise_rows_tokens)
    NORM, EPS, ROWS, GAIN, BOTH = kernel.template, m.eps, m.d // V, z.gain, z.both

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, dealt: Stream[float32[V], 2 * ROWS][N],
        gains: Stream[UInt(GAIN), 64][N], normed: Stream[UInt(BOTH), ROWS][N],
        unit_steps: Stream[float32, 4][N], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[N])
        def norms():
            u = df.get_pid()
            normalise_rows_tokens[*NORM](
                dealt[u], gains[u], u, count, waves, spoken, EPS, normed[u], unit_steps[u], layers
            )

    return Stage(part, (kernel,))


def stepping(z: BlockSizes, units: int, norms: bool) -> Stage:
    """Takes the steps of the units' tokens in turn, of each layer or of each norm.

    The last norm is of the last tokens alone, whose steps are told as well.
    """
    B, N, NORMS, MOST = z.block.tokens, units, int(norms), z.block.most
    TELLS, SPOKEN = z.block.hidden and norms, z.block.spoken

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, unit_steps: Stream[float32, 4][N],
        norm_steps: Stream[float32, MOST], told_steps: Stream[float32, SPOKEN], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def stepping():
            for norm in range((1 + NORMS) * layers + NORMS):
                last_pass: UInt(8) = 0 if norm == (1 + NORMS) * layers else waves - 1
                left: int32 = spoken if norm == (1 + NORMS) * layers else count
                for wave in range(last_pass + 1):
                    tokens: UInt(8) = min(left, B)
                    left = left - B
                    unit: UInt(N) = 1
                    for token in range(tokens):
                        one: float32 = 0.0
                        with allo.meta_for(N) as u:
                            if unit[u] == 1:
                                one = unit_steps[u].get()
                        norm_steps.put(one)
                        with allo.meta_if(TELLS):
                            if norm == 2 * layers:
                                told_steps.put(one)
                        unit = (unit << 1) | (unit >> (N - 1))

    return Stage(part, loops=("stepping:token",))


def telling(z: BlockSizes) -> Stage:
    """Writes what the last tokens end in, and their steps."""
    D, V, W, SPOKEN, ENDED, PIECE = (
        z.model.d, z.wide.vector, z.lanes, z.block.spoken, z.ended, z.piece,
    )  # fmt: skip

    @df.part()
    def part(
        spoken: int32, ended: UInt(PIECE)[ENDED], ended_steps: float32[SPOKEN],
        told: Stream[UInt(PIECE), 4], told_steps: Stream[float32, SPOKEN],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[ended, ended_steps])
        def telling(levels: UInt(PIECE)[ENDED], steps: float32[SPOKEN]):
            words: UInt(24) = ((spoken - 1) // W + 1) * (D // V)
            for word in range(words):
                levels[word] = told.get()
            for token in range(spoken):
                steps[token] = told_steps.get()

    return Stage(part, loops=("telling:word", "telling:token"))


def entering(z: BlockSizes) -> Stage:
    """Reads what a block's tokens are given, in front of the norms, and its steps in front of the gates'."""
    D, V, W, MOST, GIVEN, PIECE = (
        z.model.d, z.wide.vector, z.lanes, z.block.most, z.given_words, z.piece,
    )  # fmt: skip
    ROOM = z.block.tokens // W * D // V if W > 1 else 4

    @df.part()
    def part(
        count: int32, spoken: int32, brought: UInt(PIECE)[GIVEN], brought_steps: float32[MOST],
        merged_norms: Stream[UInt(PIECE), ROOM], merged: Stream[UInt(PIECE), ROOM],
        layer_steps: Stream[float32, MOST], gate_steps: Stream[float32, MOST],
        layers: UInt(8), enters: UInt(1),
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[brought])
        def entering(levels: UInt(PIECE)[GIVEN]):
            words: int32 = ((count - 1) // W + 1) * (D // V)
            for word in range(words * enters):
                merged.put(levels[word])
            normed: int32 = words * (2 * layers) + ((spoken - 1) // W + 1) * (D // V)
            for one in range(normed):
                merged.put(merged_norms.get())

        @df.kernel(mapping=[1], args=[brought_steps])
        def entering_steps(steps: float32[MOST]):
            for token in range(count * enters):
                gate_steps.put(steps[token])
            for one in range(layers * count):
                gate_steps.put(layer_steps.get())

    loops = "entering:word", "entering:one", "entering_steps:token", "entering_steps:one"
    return Stage(part, loops=loops)


def waiting(z: BlockSizes) -> tuple[int, int, int]:
    """Words of gates, largest ones of their blocks, and of tokens, that wait in a lane of rows.

    The next block's words come while the largest of the one before are taken.
    """
    mine, ffn = z.block.tokens // z.lanes, z.model.ffn
    peaks = mine * ffn // z.wide.block
    return mine * ffn // z.wide.vector + peaks + z.block.tokens, peaks, mine


def sharing(z: BlockSizes) -> Stage:
    """Deals gates of tokens, and their largest, to the lanes of rows."""
    V, B, W, RUN = (
        z.wide.vector, z.block.tokens, z.lanes, z.wide.channels // (2 * z.wide.vector),
    )  # fmt: skip
    WORDS, WORDS_A_BLOCK = z.model.ffn // V, z.wide.block // V
    WAITING, PEAKS, MINE = waiting(z)

    @df.part()
    def part(
        count: int32, waves: int32, products: Stream[float32[V], 4], gate_peaks: Stream[int32, 4],
        gate_tops: Stream[int32, 4], lane_products: Stream[float32[V], WAITING][W],
        lane_peaks: Stream[int32, PEAKS][W], lane_tops: Stream[int32, MINE][W], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def sharing():
            last_wave: UInt(8) = waves - 1
            for layer in range(layers):
                left: int32 = count
                for wave in range(last_wave + 1):
                    last: UInt(8) = min(left, B) - 1
                    left = left - B
                    last_out: UInt(31) = (last + 1) * WORDS - 1
                    token: UInt(8) = 0
                    unit: UInt(W) = 1
                    piece: UInt(8) = 0
                    group: UInt(16) = 0
                    for out in range(last_out + 1):
                        product: float32[V] = products.get()
                        at: UInt(16) = group + piece
                        peak: int32 = 0
                        top: int32 = 0
                        if at % WORDS_A_BLOCK == WORDS_A_BLOCK - 1:
                            peak = gate_peaks.get()
                        if at == WORDS - 1:
                            top = gate_tops.get()
                        with allo.meta_for(W) as w:
                            if unit[w] == 1:
                                lane_products[w].put(product)
                                if at % WORDS_A_BLOCK == WORDS_A_BLOCK - 1:
                                    lane_peaks[w].put(peak)
                                if at == WORDS - 1:
                                    lane_tops[w].put(top)
                        if piece == RUN - 1:
                            group = group + RUN if token == last else group
                            following: UInt(W) = (unit << 1) | (unit >> (W - 1))
                            unit = 1 if token == last else following
                            token = 0 if token == last else token + 1
                        piece = 0 if piece == RUN - 1 else piece + 1

    return Stage(part, loops=("sharing:out",), registers=("sharing:product",))


def activating(z: BlockSizes) -> Stage:
    """SwiGLU in blocks of activations, and the step of each token; quantised in each lane of rows."""
    m, V, C, B, BLOCK, BOTH = (
        z.model, z.wide.vector, z.wide.channels, z.block.tokens, z.wide.block, z.both,
    )  # fmt: skip
    run, log, interval = C // (2 * V), V.bit_length() - 1, z.wide.gelu_interval
    parting = Kernel(part_block, (z.up, V, z.layers), schedule_part_block)
    sizes = m.ffn, V, log, run, z.layers, B, BLOCK
    gating = Kernel(multiply_gates, sizes, lambda s: schedule_multiply_gates(s, interval))
    W = z.lanes
    last = m.ffn, V, run, z.layers, B, BLOCK, z.shift, W
    quantising = Kernel(quantise_gates, last, schedule_quantise_gates)
    PART, GATE, QUANTISE = parting.template, gating.template, quantising.template
    DEEP, (WAITING, PEAKS, MINE) = m.d // V, waiting(z)

    @df.part()
    def part(
        count: int32, waves: int32, hidden: Stream[float32[V], 4],
        products: Stream[float32[V], 4], gate_peaks: Stream[int32, 4], gate_tops: Stream[int32, 4],
        lane_products: Stream[float32[V], WAITING][W], lane_peaks: Stream[int32, PEAKS][W],
        lane_tops: Stream[int32, MINE][W], bent_lane: Stream[UInt(BOTH), DEEP][W],
        gate_unit_steps: Stream[float32, 4][W], layers: UInt(8),
    ):  # fmt: skip
        gates: Stream[float32[V], 4]
        others: Stream[float32[V], 4]

        @df.kernel(mapping=[1])
        def parting():
            part_block[*PART](hidden, count, gates, others, layers)

        with allo.meta_if(W == 1):

            @df.kernel(mapping=[1])
            def swiglu():
                multiply_gates[*GATE](
                    gates, others, count, waves, lane_products[0], lane_peaks[0], lane_tops[0],
                    layers,
                )  # fmt: skip

        with allo.meta_else():

            @df.kernel(mapping=[1])
            def swiglu():
                multiply_gates[*GATE](
                    gates, others, count, waves, products, gate_peaks, gate_tops, layers
                )

        @df.kernel(mapping=[W])
        def quantising():
            w = df.get_pid()
            quantise_gates[*QUANTISE](
                lane_products[w], lane_peaks[w], lane_tops[w], w, count, waves, bent_lane[w],
                gate_unit_steps[w], layers,
            )  # fmt: skip

    return Stage(part, (parting, gating, quantising))


def rescaling(z: BlockSizes) -> Stage:
    """Applies factors, steps and biases, a table once for all tokens of a step."""
    m, C, V, B, TERMS, MOST = (
        z.model, z.wide.channels, z.wide.vector, z.block.tokens, z.terms[0], z.block.most,
    )  # fmt: skip
    sizes = V, C, m.d, z.qkv, z.up, z.layers, z.outputs, TERMS, B, z.enters
    kernel = Kernel(
        rescale_block_tokens,
        sizes,
        lambda s: schedule_rescale_block_tokens(s, z.wide.rescale_interval, C // V),
    )
    RESCALE, ROWS = kernel.template, B * m.d // V

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, gathered: Stream[int32[V], 4],
        affines: Stream[UInt(32 * TERMS * V), 64], norm_steps: Stream[float32, MOST],
        gate_steps: Stream[float32, MOST], projected: Stream[float32[V], 4],
        deltas: Stream[float32[V], ROWS], hidden: Stream[float32[V], 4],
        said: Stream[float32[V], 4], layers: UInt(8), enters: UInt(1), last_outs: UInt(16),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def rescaling():
            rescale_block_tokens[*RESCALE](
                gathered, affines, norm_steps, gate_steps, count, waves, spoken, projected, deltas,
                hidden, said, layers, enters, last_outs,
            )  # fmt: skip

    return Stage(part, (kernel,))
