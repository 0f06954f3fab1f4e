# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of the vector units for blocks: embedding, norms, GELU, arranging, and what is said."""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ....stage import Kernel, Stage
from ...activation import schedule_bend
from ...linear import fetch
from ...stages.linear import fetched
from ..arrange import arrange, schedule_arrange
from ..gated import gate_block, part_block, schedule_gate_block, schedule_part_block
from ..norm import collect, normalise_rows, schedule_collect, schedule_normalise_rows
from ..vectors import (
    bend_block,
    embed_block,
    look_up,
    say_block,
    schedule_embed_block,
    schedule_look_up,
    schedule_say_block,
)
from .sizes import BlockSizes


def gains_loading(z: BlockSizes) -> Stage:
    """A loader for each unit of norms."""
    GAIN, N, WORDS = z.gain, z.block.norms, z.norms * z.model.d // z.wide.vector
    kernel = fetched(GAIN, WORDS, "gain")
    FETCH = kernel.template

    @df.part()
    def part(norm_table: UInt(GAIN)[N, WORDS], gains: Stream[UInt(GAIN), 64][N]):
        @df.kernel(mapping=[N], args=[norm_table])
        def norm_loader(memory: UInt(GAIN)[N, WORDS]):
            u = df.get_pid()
            fetch[*FETCH](memory[u], gains[u])

    return Stage(part, (kernel,), banks={"norm_table": 1})


def embedding(z: BlockSizes) -> Stage:
    """The tokens' rows, added to the positions' rows unless positions are rotary."""
    m, V, MOST, ROTARY = z.model, z.wide.vector, z.block.most, bool(z.model.rotary)
    known = z.known
    TOKENS, POSITIONS = known * m.d // V, m.context * m.d // V
    finding = Kernel(look_up, (m.d, V, known, MOST), schedule_look_up)
    adding = Kernel(embed_block, (m.d, V, m.context, known, MOST), schedule_embed_block)
    FIND, EMBED = finding.template, adding.template
    if ROTARY:

        @df.part()
        def part(
            tokens: int32[MOST], count: int32, token_table: UInt(32 * V)[TOKENS],
            embedded: Stream[float32[V], 4],
        ):  # fmt: skip
            @df.kernel(mapping=[1], args=[tokens, token_table])
            def embedding(given_tokens: int32[MOST], token_rows: UInt(32 * V)[TOKENS]):
                look_up[*FIND](given_tokens, token_rows, count, embedded)

        return Stage(part, (finding,))

    @df.part()
    def part(
        tokens: int32[MOST], positions: int32[MOST], count: int32, token_table: UInt(32 * V)[TOKENS],
        position_table: UInt(32 * V)[POSITIONS], embedded: Stream[float32[V], 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[tokens, positions, token_table, position_table])
        def embedding(
            given_tokens: int32[MOST],
            given_positions: int32[MOST],
            token_rows: UInt(32 * V)[TOKENS],
            position_rows: UInt(32 * V)[POSITIONS],
        ):
            embed_block[*EMBED](
                given_tokens, token_rows, position_rows, given_positions, count, embedded
            )

    return Stage(part, (adding,))


def summing(z: BlockSizes) -> Stage:
    """Adds deltas to the residuals; an encoder's residuals come back from the norms."""
    m, V, C, B, MOST = z.model, z.wide.vector, z.wide.channels, z.block.tokens, z.block.most
    sizes = m.d, V, C, z.layers, B, MOST, z.encoder, z.lanes, z.log_lanes, z.enters
    WIDTH = z.lanes * V
    kernel = Kernel(collect, sizes, lambda s: schedule_collect(s, bool(z.encoder)))
    COLLECT, ROWS, COME = kernel.template, B * m.d // V, B * m.d // V if z.encoder else 4

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, come: Stream[float32[V], COME],
        deltas: Stream[float32[V], ROWS], rows: Stream[float32[WIDTH], 4],
        layers: UInt(8), enters: UInt(1),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def summing():
            collect[*COLLECT](come, deltas, count, waves, spoken, rows, layers, enters)

    return Stage(part, (kernel,))


def turning(z: BlockSizes) -> Stage:
    """Deals the rows to the units of norms."""
    D, V, B, N, ENCODER = (
        z.model.d, z.wide.vector, z.block.tokens, z.block.norms, z.encoder,
    )  # fmt: skip
    ROWS, W, WIDTH = 2 * D // V, z.lanes, z.lanes * V

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, rows: Stream[float32[WIDTH], 4],
        dealt: Stream[float32[V], ROWS][N], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def turning():
            for norm in range(2 * layers + 1):
                last_pass: UInt(8) = 0 if norm == 2 * layers + ENCODER else waves - 1
                left: int32 = spoken if norm == 2 * layers + ENCODER else count
                for wave in range(last_pass + 1):
                    last: UInt(8) = min(left, B) - 1
                    left = left - B
                    unit: UInt(N) = 1
                    at: UInt(16) = 0
                    pieces: UInt(24) = (last // W + 1) * (D // V)
                    token: UInt(8) = 0
                    for row in range(pieces):
                        one: float32[WIDTH] = rows.get()
                        with allo.meta_if(W > 1):
                            own: float32[V]
                            with allo.meta_for(W) as w:
                                for v in range(V):
                                    own[v] = one[w * V + v]
                                if token + w <= last:
                                    dealt[w].put(own)
                            if at == D // V - 1:
                                token = token + W
                        with allo.meta_else():
                            with allo.meta_for(N) as u:
                                if unit[u] == 1:
                                    dealt[u].put(one)
                            if at == D // V - 1:
                                unit = (unit << 1) | (unit >> (N - 1))
                        at = 0 if at == D // V - 1 else at + 1

    own = ("turning:own",) if W > 1 else ()
    return Stage(part, loops=("turning:row",), registers=("turning:one", *own))


def norming(z: BlockSizes) -> Stage:
    """Units of norms, each with a token of its own."""
    m, V, PARTS, B, N = z.model, z.wide.vector, z.wide.parts, z.block.tokens, z.block.norms
    logs = V.bit_length() - 1, PARTS.bit_length() - 1
    sizes = m.d, V, logs[0], PARTS, logs[1], m.layers, B, N, z.terms[1]
    kernel = Kernel(normalise_rows, sizes, schedule_normalise_rows)
    NORM, EPS, ROWS, GAIN, BOTH = kernel.template, m.eps, m.d // V, z.gain, z.both

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, dealt: Stream[float32[V], 2 * ROWS][N],
        gains: Stream[UInt(GAIN), 64][N], normed: Stream[UInt(BOTH), ROWS][N],
    ):  # fmt: skip
        @df.kernel(mapping=[N])
        def norms():
            u = df.get_pid()
            normalise_rows[*NORM](dealt[u], gains[u], u, count, waves, spoken, EPS, normed[u])

    return Stage(part, (kernel,))


def merging(z: BlockSizes) -> Stage:
    """Takes the units' results in turn; an encoder's go back to ``summing`` in float32, or are said."""
    D, V, B, N, ENCODER = (
        z.model.d, z.wide.vector, z.block.tokens, z.block.norms, z.encoder,
    )  # fmt: skip
    BOTH, ROWS = z.both, B * z.model.d // z.wide.vector
    MERGED, TELLS = 8 * V + z.extra, z.block.hidden

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, normed: Stream[UInt(BOTH), D // V][N],
        merged: Stream[UInt(MERGED), 4], embedded: Stream[float32[V], 4],
        back: Stream[float32[V], ROWS], states: Stream[float32[V], 4], told: Stream[UInt(MERGED), 4],
        layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def merging():
            for norm in range(2 * layers + 1):
                last_pass: UInt(8) = 0 if norm == 2 * layers + ENCODER else waves - 1
                left: int32 = spoken if norm == 2 * layers + ENCODER else count
                for wave in range(last_pass + 1):
                    last: UInt(8) = min(left, B) - 1
                    left = left - B
                    unit: UInt(N) = 1
                    at: UInt(16) = 0
                    pieces: UInt(24) = (last + 1) * (D // V)
                    with allo.meta_if(ENCODER):
                        firsts: int32 = pieces if norm == 0 else 0
                        for first in range(firsts):
                            begun: float32[V] = embedded.get()
                            back.put(begun)
                    for piece in range(pieces):
                        part: UInt(BOTH) = 0
                        with allo.meta_for(N) as u:
                            if unit[u] == 1:
                                part = normed[u].get()
                        with allo.meta_if(ENCODER):
                            whole: float32[V]
                            for v in range(V):
                                bits: UInt(32) = part[8 * V + 32 * v : 8 * V + 32 * v + 32]
                                whole[v] = bits.bitcast()
                            if norm == 2 * layers:
                                states.put(whole)
                            else:
                                back.put(whole)
                                merged.put(part[0 : 8 * V])
                        with allo.meta_else():
                            merged.put(part)
                        with allo.meta_if(TELLS):
                            if norm == 2 * layers:
                                told.put(part)
                        if at == D // V - 1:
                            unit = (unit << 1) | (unit >> (N - 1))
                        at = 0 if at == D // V - 1 else at + 1

    own = ("merging:whole", "merging:begun") if ENCODER else ()
    loops = ("merging:piece", *(("merging:first",) if ENCODER else ()))
    return Stage(part, loops=loops, registers=own)


def joining_lanes(z: BlockSizes, width: int, run: int, norms: bool) -> Stage:
    """Brings the pieces of the lanes of rows beside each other, of each layer or of each norm.

    The last norm is of the last tokens alone, and these are told as well.
    """
    W, B, PIECE, RUN, PIECES = z.lanes, z.block.tokens, 8 * z.wide.vector + z.extra, run, width
    TELLS, NORMS = z.block.hidden and norms, int(norms)
    ROOM, DEEP = B // z.lanes * width, z.model.d // z.wide.vector

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, lane: Stream[UInt(PIECE), DEEP][W],
        joined: Stream[UInt(PIECE * W), ROOM], told: Stream[UInt(PIECE * W), 4], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def joining_lanes():
            for job in range((1 + NORMS) * layers + NORMS):
                last_pass: UInt(8) = 0 if job >= (1 + NORMS) * layers else waves - 1
                left: int32 = spoken if job >= (1 + NORMS) * layers else count
                for wave in range(last_pass + 1):
                    last: UInt(8) = min(left, B) - 1
                    left = left - B
                    pieces: UInt(24) = (last // W + 1) * PIECES
                    token: UInt(8) = 0
                    at: UInt(16) = 0
                    for piece in range(pieces):
                        word: UInt(PIECE * W) = 0
                        with allo.meta_for(W) as w:
                            if token + w <= last:
                                word[PIECE * w : PIECE * w + PIECE] = lane[w].get()
                        joined.put(word)
                        with allo.meta_if(TELLS):
                            if job == 2 * layers:
                                told.put(word)
                        ends: UInt(1) = 1 if at == RUN - 1 else 0
                        behind: UInt(8) = 0 if last - token < W else token + W
                        token = behind if ends == 1 else token
                        at = 0 if ends == 1 else at + 1

    return Stage(part, loops=("joining_lanes:piece",))


def arranging(z: BlockSizes, name: str) -> Stage:
    """Brings the activations of a block together; room for all tokens of a step, so that no job waits."""
    m, V, R, B, WORD = z.model, z.wide.vector, z.block.rows, z.block.tokens, z.word
    width, run, jobs, full = {
        "normed": (m.d, m.d // V, z.norms - z.encoder + z.enters, z.norms - 1 + z.enters),
        "attended": (m.d, z.wide.heads * z.group * m.head_dim // V, m.layers, m.layers),
        "bent": (m.ffn, z.wide.channels // V // (1 + m.gated), m.layers, m.layers),
    }[name]
    NORMS, ENCODER = int(name == "normed"), z.encoder
    own = 0 if name == "attended" else z.extra
    W = z.lanes if name in z.joined else 1
    sizes = z.wide.lanes, V, R, B, width, run, jobs if z.layers else 0, full, own, z.extra, W
    kernel = Kernel(arrange, sizes, schedule_arrange, name)
    ARRANGE, ROOM = kernel.template, z.rounds * z.words(width)
    COME = B * m.ffn // V if name == "bent" else 4
    COME = B // W * width // V if W > 1 else COME

    @df.part()
    def part(
        count: int32, waves: int32, spoken: int32, come: Stream[UInt((8 * V + own) * W), COME],
        leave: Stream[UInt(WORD), ROOM], layers: UInt(8), enters: UInt(1),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def arranging():
            with allo.meta_if(NORMS):
                arrange[*ARRANGE](
                    come, count, waves, spoken, leave, 2 * layers + enters + (1 - ENCODER),
                    2 * layers + enters,
                )  # fmt: skip
            with allo.meta_else():
                arrange[*ARRANGE](come, count, waves, spoken, leave, layers, layers)

    return Stage(part, (kernel,))


def activating(z: BlockSizes) -> Stage:
    """What stands between the two products of a feed-forward layer, of every token: SwiGLU, GELU or ReLU."""
    m, V, interval, GATED = z.model, z.wide.vector, z.wide.gelu_interval, z.model.gated
    kind = 0 if GATED else ("gelu_tanh", "gelu", "relu").index(m.activation)
    parting = Kernel(part_block, (z.up, V, m.layers), schedule_part_block)
    sizes = m.ffn, V, m.layers
    gating = Kernel(gate_block, sizes, lambda s: schedule_gate_block(s, interval))
    bending = Kernel(bend_block, (*sizes, kind), lambda s: schedule_bend(s, interval))
    PART, GATE, BEND = parting.template, gating.template, bending.template
    LAYERS, ROOM = m.layers, z.block.tokens * m.ffn // V

    @df.part()
    def part(
        count: int32, gelus: float32[LAYERS], hidden: Stream[float32[V], 4],
        bent: Stream[UInt(8 * V), ROOM],
    ):  # fmt: skip
        with allo.meta_if(GATED):
            gates: Stream[float32[V], 4]
            others: Stream[float32[V], 4]

            @df.kernel(mapping=[1])
            def parting():
                part_block[*PART](hidden, count, gates, others, LAYERS)

            @df.kernel(mapping=[1], args=[gelus])
            def swiglu(factors: float32[LAYERS]):
                gate_block[*GATE](gates, others, factors, count, bent)

        with allo.meta_else():

            @df.kernel(mapping=[1], args=[gelus])
            def gelu(factors: float32[LAYERS]):
                bend_block[*BEND](hidden, factors, count, bent)

    return Stage(part, (parting, gating) if GATED else (bending,))


def saying(z: BlockSizes) -> Stage:
    """Writes the logits of the last tokens, or an encoder's hidden values of every token."""
    D, V, SAID, ENCODER = z.model.d, z.wide.vector, z.said, z.encoder
    C = z.wide.channels
    kernel = Kernel(say_block, (V, SAID), schedule_say_block)
    SAY = kernel.template

    @df.part()
    def part(
        count: int32, spoken: int32, logits: UInt(32 * V)[SAID], said: Stream[float32[V], 4],
        last_outs: UInt(16),
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[logits])
        def saying(memory: UInt(32 * V)[SAID]):
            with allo.meta_if(ENCODER):
                say_block[*SAY](said, count * (D // V), memory)
            with allo.meta_else():
                say_block[*SAY](said, spoken * (last_outs * (C // V)), memory)

    return Stage(part, (kernel,))
