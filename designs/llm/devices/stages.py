# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages that an accelerator has as one of several devices: shares of tables, and what goes over links."""

from dataclasses import dataclass

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ..stage import Kernel, Stage
from ..wide.linear import fetch
from ..wide.stages.linear import fetched
from ..wide.stages.sizes import Device, Sizes
from .exchange import (
    embed,
    keep,
    reduce_shares,
    schedule_embed,
    schedule_keep,
    schedule_reduce,
)
from .link import Pace
from .link_kernels import arrive, depart, pace, schedule_end, schedule_pace
from .votes import elect, say, schedule_say


def fetching(z: Sizes, device: Device, outputs: int) -> tuple[Stage, Stage, Stage]:
    """The loaders of weights, of factors and of gains: a stage's own, and in the last one what is behind.

    Args:
        outputs: logits of a share, on the devices that have them.
    """
    C, L, V, STEPS, ROWS = z.wide.channels, z.wide.word, z.wide.vector, z.steps, z.rows
    P, P1, LAST = device.parts * device.stages, device.parts, device.is_last
    DEV, T = device.number, device.part
    SUMS = z.layers * (z.qkv + z.d + z.up + z.d)
    WORDS = z.layers * (z.qkv * z.d + z.d * z.inner + z.up * z.d + z.d * z.ffn)
    WORDS = WORDS // (C * z.wide.activations)
    BEHIND, GAINS = outputs * z.d // (C * z.wide.last_weights), 2 * z.layers * ROWS
    weight = fetched(8 * L, WORDS, "weights"), fetched(8 * L, BEHIND, "head_weights")
    factor = fetched(64 * V, SUMS // V, "affine"), fetched(64 * V, outputs // V, "head_affine")
    gain = fetched(64 * V, GAINS, "gain"), fetched(64 * V, ROWS, "last_gain")
    (WEIGHT, HEAD), (FACTOR, HEAD_FACTOR), (GAIN, LAST_GAIN) = (
        (own.template, last.template) for own, last in (weight, factor, gain)
    )

    @df.part()
    def weights_part(
        weights: UInt(8 * L)[P, C, WORDS],
        head_weights: UInt(8 * L)[P1, C, BEHIND],
        words: Stream[UInt(8 * L), z.wide.ahead][C],
    ):
        @df.kernel(mapping=[C], args=[weights, head_weights])
        def loader(memory: UInt(8 * L)[P, C, WORDS], behind: UInt(8 * L)[P1, C, BEHIND]):
            c = df.get_pid()
            for step in range(STEPS):
                fetch[*WEIGHT](memory[DEV, c], words[c])
                with allo.meta_if(LAST):
                    fetch[*HEAD](behind[T, c], words[c])

    @df.part()
    def factors_part(
        affine: UInt(64 * V)[P, SUMS // V],
        head_affine: UInt(64 * V)[P1, outputs // V],
        affines: Stream[UInt(64 * V), 64],
    ):
        @df.kernel(mapping=[1], args=[affine, head_affine])
        def affine_loader(
            memory: UInt(64 * V)[P, SUMS // V], behind: UInt(64 * V)[P1, outputs // V]
        ):
            for step in range(STEPS):
                fetch[*FACTOR](memory[DEV], affines)
                with allo.meta_if(LAST):
                    fetch[*HEAD_FACTOR](behind[T], affines)

    @df.part()
    def gains_part(
        norm_table: UInt(64 * V)[P, GAINS],
        last_norm: UInt(64 * V)[P1, ROWS],
        gains: Stream[UInt(64 * V), 64],
    ):
        @df.kernel(mapping=[1], args=[norm_table, last_norm])
        def norm_loader(memory: UInt(64 * V)[P, GAINS], behind: UInt(64 * V)[P1, ROWS]):
            for step in range(STEPS):
                fetch[*GAIN](memory[DEV], gains)
                with allo.meta_if(LAST):
                    fetch[*LAST_GAIN](behind[T], gains)

    return (
        Stage(weights_part, weight, banks={"weights": 2, "head_weights": 2}),
        Stage(factors_part, factor, banks={"affine": 1, "head_affine": 1}),
        Stage(gains_part, gain, banks={"norm_table": 1, "last_norm": 1}),
    )


def embedding(z: Sizes, device: Device) -> Stage:
    """Of the first stage: the residual of the tokens that come first, and of those that are told."""
    V, P1, P2, T, S, ROUNDS, ROWS = (
        z.wide.vector, device.parts, device.stages, device.part,
        device.sequences, device.rounds, z.rows,
    )  # fmt: skip
    VOCAB, CTX = z.model.vocab, z.model.context
    kernel = Kernel(embed, (z.d, V, VOCAB, CTX), schedule_embed)
    EMBED = kernel.template

    @df.part()
    def part(
        tokens: int32[P1, S], start: int32, token_table: UInt(32 * V)[P1, VOCAB * ROWS],
        position_table: UInt(32 * V)[P1, CTX * ROWS], told: Stream[UInt(32), S][P2, P1],
        come: Stream[UInt(32 * V), S * ROWS][P2, P1],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[tokens, token_table, position_table])
        def embedding(
            firsts: int32[P1, S],
            token_rows: UInt(32 * V)[P1, VOCAB * ROWS],
            position_rows: UInt(32 * V)[P1, CTX * ROWS],
        ):
            for turn in range(ROUNDS):
                for sequence in range(S):
                    token: int32 = 0
                    if turn == 0:
                        token = firsts[T, sequence]
                    else:
                        token = told[0, T].get()
                    embed[*EMBED](token_rows[T], position_rows[T], token, start + turn, come[0, T])

    return Stage(
        part, (kernel,), banks=dict.fromkeys(("tokens", "token_table", "position_table"), 1)
    )


def entering(z: Sizes, device: Device) -> Stage:
    """Takes the residual from the stage before it, or from ``embedding``."""
    V, WORDS, KEPT = z.wide.vector, z.steps * z.rows, not device.is_last
    I, T = device.stage, device.part
    COME = device.sequences * z.rows

    @df.part()
    def part(
        come: Stream[UInt(32 * V), COME][device.stages, device.parts],
        entered: Stream[float32[V], 4], kept: Stream[float32[V], 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def entering():
            for row in range(WORDS):
                word: UInt(32 * V) = come[I, T].get()
                block: float32[V]
                for v in range(V):
                    bits: UInt(32) = word[32 * v : 32 * v + 32]
                    block[v] = bits.bitcast()
                entered.put(block)
                with allo.meta_if(KEPT):
                    kept.put(block)

    return Stage(part, loops=("entering:row",), registers=("entering:block",))


def keeping(z: Sizes, device: Device) -> Stage:
    """Adds up the residual beside the norms, for the next stage."""
    V, STEPS, I, T = z.wide.vector, z.steps, device.stage, device.part
    kernel = Kernel(keep, (z.d, V, z.layers), schedule_keep)
    KEEP = kernel.template

    @df.part()
    def part(
        kept: Stream[float32[V], 4], changes: Stream[float32[V], 4], deltas: Stream[float32[V], 4],
        leaving: Stream[UInt(32 * V), 4][device.stages, device.parts],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def keeping():
            for step in range(STEPS):
                keep[*KEEP](kept, changes, deltas, leaving[I, T])

    return Stage(part, (kernel,))


def reducing(z: Sizes, device: Device) -> Stage:
    """Adds the partial sums of the devices that share a layer."""
    V, STEPS, I, T = z.wide.vector, z.steps, device.stage, device.part
    SHAPE, ROOM = (device.stages, device.parts), 2 * device.parts * z.rows
    sizes = V, z.d, z.inner, z.ffn, z.layers, z.outputs, device.parts
    kernel = Kernel(reduce_shares, sizes, schedule_reduce, z.kind)
    REDUCE = kernel.template

    @df.part()
    def part(
        gathered: Stream[int32[V], 4], ring_out: Stream[UInt(32 * V), 4][SHAPE],
        ring_in: Stream[UInt(32 * V), ROOM][SHAPE], whole: Stream[int32[V], 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def reducing():
            for step in range(STEPS):
                reduce_shares[*REDUCE](gathered, ring_out[I, T], ring_in[I, T], whole)

    return Stage(part, (kernel,))


def saying(z: Sizes, device: Device) -> Stage:
    """Writes the logits of its part of the vocabulary, and nominates the largest of them."""
    V, STEPS, P1, T, OUTPUTS = z.wide.vector, z.steps, device.parts, device.part, z.outputs
    kernel = Kernel(say, (V, OUTPUTS, z.model.vocab, STEPS), schedule_say)
    SAY = kernel.template

    @df.part()
    def part(
        logits: UInt(32 * V)[P1, STEPS * OUTPUTS // V], said: Stream[float32[V], 4],
        nominated: Stream[UInt(64), 2],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[logits])
        def saying(memory: UInt(32 * V)[P1, STEPS * OUTPUTS // V]):
            for step in range(STEPS):
                say[*SAY](said, T * OUTPUTS, step, memory[T], nominated)

    return Stage(part, (kernel,), banks={"logits": 1})


def electing(z: Sizes, device: Device) -> Stage:
    """Finds the largest logit of all parts, whose token goes back to the first stage."""
    STEPS, S, P1, P2, I, T = (
        z.steps, device.sequences, device.parts, device.stages, device.stage, device.part,
    )  # fmt: skip

    @df.part()
    def part(
        chosen: int32[STEPS], nominated: Stream[UInt(64), 2],
        votes_out: Stream[UInt(64), 4][P2, P1], votes_in: Stream[UInt(64), 2 * P1][P2, P1],
        elected: Stream[UInt(32), S][P2, P1], told: Stream[UInt(32), S][P2, P1],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[chosen])
        def electing(results: int32[STEPS]):
            for step in range(STEPS):
                token: UInt(32) = 0
                with allo.meta_if(P1 > 1):
                    token = elect[P1](nominated, votes_out[I, T], votes_in[I, T])
                with allo.meta_else():
                    vote: UInt(64) = nominated.get()
                    token = vote[0:32]
                with allo.meta_if(T == 0):
                    results[step] = token
                with allo.meta_if(P2 > 1):
                    elected[I, T].put(token)
                with allo.meta_else():
                    if step < STEPS - S:
                        told[0, T].put(token)

    return Stage(part)


@dataclass(frozen=True, slots=True)
class Line:
    """What goes over a link.

    Attributes:
        bits: of a word.
        words: of a run.
        before, behind: words that the streams before and behind the link hold.
    """

    name: str
    bits: int
    words: int
    before: int
    behind: int


def linking(line: Line, speed: Pace, device: Device, to: tuple[int, int]) -> Stage:
    """A link to another device, as three processes: see :mod:`.link_kernels`."""
    W, WAIT, I, T, (J, U) = line.bits, speed.wait, device.stage, device.part, to
    SHAPE, LINE = (device.stages, device.parts), speed.wait + 16
    pacing = Kernel(pace, (W, line.words), lambda s: schedule_pace(s, speed.interval), line.name)
    departing = Kernel(depart, (W,), schedule_end, line.name)
    arriving = Kernel(arrive, (W, WAIT), schedule_end, line.name)
    PACE, DEPART, ARRIVE = pacing.template, departing.template, arriving.template

    @df.part()
    def part(
        source: Stream[UInt(W), line.before][SHAPE], sink: Stream[UInt(W), line.behind][SHAPE]
    ):
        paced: Stream[UInt(W + 1), 2]
        on_line: Stream[UInt(W + 2), LINE]

        @df.kernel(mapping=[1])
        def pacing():
            pace[*PACE](source[I, T], paced)

        @df.kernel(mapping=[1])
        def departing():
            depart[*DEPART](paced, on_line)

        @df.kernel(mapping=[1])
        def arriving():
            arrive[*ARRIVE](on_line, sink[J, U])

    return Stage(part, (pacing, departing, arriving))
