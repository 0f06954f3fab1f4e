# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""The wide accelerator for blocks of tokens: as :mod:`..region`, with several tokens a step.

``loader``, ``element``  one a channel: :func:`linear.fetch_blocks` and :func:`linear.multiply_block`.
``gather``    joins the elements' sums to words of V, token by token within a group of C outputs.
``rescaling`` :func:`linear.rescale_block`; ``gelu`` :func:`vectors.bend_block`.
``summing``   :func:`norm.collect`; ``turning`` deals its rows to the units of norms, ``norms``.
``packing``, ``dealing``, ``scoring``, ``mixing``, ``collecting``, ``dividing``: attention.
``arranging_…`` :func:`arrange.arrange` of what norms, attention and GELU give; each has room for all
              tokens of a step, so that no job waits for the next.
``spreading`` gives every element the words of R tokens, for each of its outputs again.
``saying``    writes the logits of the last token.

An encoder has the same processes: attention sees the whole step, ``merging`` sends the norms' results back to
``summing``, and behind the last norm all of them to ``saying``, which writes them in place of logits.
"""

from typing import Any

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ..families.model import Model, architecture_of, terms
from ..linear import fetch
from ..parameters import Wide, channel_size, padded_vocab
from .arrange import arrange
from .heads import mix_block, pack_block, score_block
from .linear import fetch_blocks, multiply_block, rescale_block
from .norm import collect, normalise_rows
from .parameters import Block, cached_words, check_block, said_block_words
from .vectors import bend_block, divide_block, embed_block, say_block


def make_block_region(config: Model, wide: Wide, block: Block) -> Any:
    """The accelerator, ready to be scheduled.

    Raises:
        WidthError: the parameters do not fit the model or each other.
    """
    check_block(config, wide, block)
    m = architecture_of(config)
    LAYERS, D, HEADS, HD = config.layers, config.d, config.heads, config.head_dim
    FFN, CTX, VOCAB = config.ffn, config.context, config.vocab
    C, L, V, U, PREFETCH = wide.channels, wide.lanes, wide.vector, wide.heads, wide.prefetch
    PARTS = wide.parts
    LOG_V, LOG_PARTS = V.bit_length() - 1, PARTS.bit_length() - 1
    R, B, MOST, N = block.rows, block.tokens, block.most, block.norms
    H = HEADS // U
    OUTPUTS = padded_vocab(config, wide)
    OUTS = OUTPUTS // C
    ALL = LAYERS * (4 * D + FFN + D) + OUTPUTS
    WORDS = channel_size(config, wide)
    # An encoder has all tokens normed in the end, and the keys and values of one layer at a time.
    NORMS = 2 * LAYERS + 1
    ENCODER, ERF, EPS = int(m.post_norm), int(m.activation == "gelu"), m.eps
    GAIN, BOTH = 32 * terms(config)[1] * V, (40 if ENCODER else 8) * V
    LAST, ROOM = (NORMS, MOST) if ENCODER else (NORMS - 1, CTX)
    CACHE, SAID = cached_words(config, wide, block), said_block_words(config, wide, block)
    JOB = max(3 * D, FFN) // V
    KEPT = B // R * (FFN // L)
    G = -(-C // 8)
    INVERSE = 65536 // R + 1
    FIRST = 1 | 1 << U
    LATER = (1 << 2 * U) - 1 - FIRST
    ROUND_WORDS = LAYERS * (4 * D * D + 2 * D * FFN) // (C * L)
    ROUND_SUMS = LAYERS * (5 * D + FFN) // C
    ROUNDS = -(-MOST // B) * (B // R)

    @df.region()
    def block_step(
        tokens: int32[MOST],
        count: int32,
        waves: int32,
        start: int32,
        weights: UInt(8 * L)[C, WORDS],
        affine: UInt(64 * V)[ALL // V],
        norm_table: UInt(GAIN)[N, NORMS * D // V],
        token_table: UInt(32 * V)[VOCAB * D // V],
        position_table: UInt(32 * V)[CTX * D // V],
        exponents: float32[U, LAYERS],
        attends: float32[LAYERS],
        gelus: float32[LAYERS],
        keys: UInt(8 * HD)[U, CACHE],
        values: UInt(8 * HD)[U, CACHE],
        logits: UInt(32 * V)[SAID],
    ):
        words: Stream[UInt(8 * L), PREFETCH][C]
        spread: Stream[UInt(8 * L * R), 2]
        cast: Stream[UInt(8 * L * R), 2][G]
        inputs: Stream[UInt(8 * L * R), 2][C]
        normed_words: Stream[UInt(8 * L * R), ROUNDS * D // L]
        attended_words: Stream[UInt(8 * L * R), ROUNDS * D // L]
        bent_words: Stream[UInt(8 * L * R), ROUNDS * FFN // L]
        sums: Stream[UInt(32 * R), 4][C]
        partly: Stream[UInt(32 * R * (C // G)), 2][G]
        gathered: Stream[int32[V], 4]
        affines: Stream[UInt(64 * V), 64]
        gains: Stream[UInt(GAIN), 64][N]
        embedded: Stream[float32[V], 4]
        projected: Stream[float32[V], 4]
        deltas: Stream[float32[V], B * D // V]
        hidden: Stream[float32[V], 4]
        said: Stream[float32[V], 4]
        rows: Stream[float32[V], 4]
        dealt: Stream[float32[V], 2 * D // V][N]
        normed: Stream[UInt(BOTH), D // V][N]
        merged: Stream[UInt(8 * V), 4]
        bent: Stream[UInt(8 * V), B * D // V]
        attended: Stream[UInt(8 * V), 4]
        packed: Stream[UInt(8 * HD), 4]
        asked: Stream[UInt(8 * HD), 2 * H * B][U]
        given: Stream[UInt(8 * HD), 2 * H * B][U]
        scores: Stream[int32, ROOM][U]
        peaks: Stream[int32, 4][U]
        mixed: Stream[UInt(32 * HD), 2][U]
        totals: Stream[int32, 2][U]
        collected: Stream[UInt(32 * HD), 2]
        counted: Stream[int32, 2]
        back: Stream[float32[V], B * D // V]
        states: Stream[float32[V], 4]

        @df.kernel(mapping=[C], args=[weights])
        def loader(memory: UInt(8 * L)[C, WORDS]):
            c = df.get_pid()
            fetch_blocks[L, C, D, FFN, LAYERS, WORDS](memory[c], waves, words[c])

        @df.kernel(mapping=[1], args=[affine])
        def affine_loader(memory: UInt(64 * V)[ALL // V]):
            fetch[64 * V, ALL // V, "affine"](memory, affines)

        @df.kernel(mapping=[N], args=[norm_table])
        def norm_loader(memory: UInt(GAIN)[N, NORMS * D // V]):
            u = df.get_pid()
            fetch[GAIN, NORMS * D // V, "gain"](memory[u], gains[u])

        @df.kernel(mapping=[1], args=[tokens, token_table, position_table])
        def embedding(
            given_tokens: int32[MOST],
            token_rows: UInt(32 * V)[VOCAB * D // V],
            position_rows: UInt(32 * V)[CTX * D // V],
        ):
            embed_block[D, V, CTX, VOCAB, MOST](
                given_tokens, token_rows, position_rows, start, count, embedded
            )

        @df.kernel(mapping=[1])
        def summing():
            with allo.meta_if(ENCODER):
                collect[D, V, C, LAYERS, B, MOST, 1](back, deltas, count, waves, rows)
            with allo.meta_else():
                collect[D, V, C, LAYERS, B, MOST, 0](embedded, deltas, count, waves, rows)

        @df.kernel(mapping=[1])
        def turning():
            for norm in range(NORMS):
                last_pass: UInt(8) = 0 if norm == LAST else waves - 1
                left: int32 = 1 if norm == LAST else count
                for wave in range(last_pass + 1):
                    last: UInt(8) = min(left, B) - 1
                    left = left - B
                    unit: UInt(N) = 1
                    at: UInt(16) = 0
                    pieces: UInt(24) = (last + 1) * (D // V)
                    for row in range(pieces):
                        one: float32[V] = rows.get()
                        with allo.meta_for(N) as u:
                            if unit[u] == 1:
                                dealt[u].put(one)
                        if at == D // V - 1:
                            unit = (unit << 1) | (unit >> (N - 1))
                        at = 0 if at == D // V - 1 else at + 1

        @df.kernel(mapping=[N])
        def norms():
            u = df.get_pid()
            normalise_rows[D, V, LOG_V, PARTS, LOG_PARTS, LAYERS, B, N, ENCODER](
                dealt[u], gains[u], u, count, waves, EPS, normed[u]
            )

        @df.kernel(mapping=[1])
        def merging():
            for norm in range(NORMS):
                last_pass: UInt(8) = 0 if norm == LAST else waves - 1
                left: int32 = 1 if norm == LAST else count
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
                            if norm == NORMS - 1:
                                states.put(whole)
                            else:
                                back.put(whole)
                                merged.put(part[0 : 8 * V])
                        with allo.meta_else():
                            merged.put(part)
                        if at == D // V - 1:
                            unit = (unit << 1) | (unit >> (N - 1))
                        at = 0 if at == D // V - 1 else at + 1

        @df.kernel(mapping=[1])
        def arranging_normed():
            arrange[L, V, R, B, D, D // V, NORMS - ENCODER, NORMS - 1, "normed"](
                merged, count, waves, normed_words
            )

        @df.kernel(mapping=[1])
        def arranging_attended():
            arrange[L, V, R, B, D, U * HD // V, LAYERS, LAYERS, "attended"](
                attended, count, waves, attended_words
            )

        @df.kernel(mapping=[1])
        def arranging_bent():
            arrange[L, V, R, B, FFN, C // V, LAYERS, LAYERS, "bent"](bent, count, waves, bent_words)

        @df.kernel(mapping=[1])
        def spreading():
            kept: UInt(8 * L * R)[KEPT]
            for job in range(4 * LAYERS + 1 - ENCODER):
                kind: int32 = job & 3
                last_pass: UInt(8) = waves - 1
                left: int32 = count
                groups: UInt(16) = D // L
                outs: UInt(24) = D // C
                if job == 4 * LAYERS:
                    last_pass = 0
                    left = 1
                    outs = OUTS
                elif kind == 0:
                    outs = 3 * D // C
                elif kind == 2:
                    outs = FFN // C
                elif kind == 3:
                    groups = FFN // L
                for wave in range(last_pass + 1):
                    last_token: UInt(8) = min(left, B) - 1
                    left = left - B
                    span: UInt(24) = (((last_token * INVERSE) >> 16) + 1) * groups
                    last: UInt(16) = span - 1
                    last_word: UInt(31) = span * outs - 1
                    at: UInt(16) = 0
                    fresh: UInt(1) = 1
                    for word in range(last_word + 1):
                        joined: UInt(8 * L * R) = 0
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

        @df.kernel(mapping=[1])
        def casting():
            last_wave: UInt(8) = waves - 1
            last_token: UInt(8) = count - last_wave * B - 1
            rounds: UInt(16) = last_wave * (B // R) + ((last_token * INVERSE) >> 16) + 1
            total: int32 = rounds * ROUND_WORDS + OUTS * (D // L)
            for word in range(total):
                one: UInt(8 * L * R) = spread.get()
                with allo.meta_for(G) as g:
                    cast[g].put(one)

        @df.kernel(mapping=[G])
        def recasting():
            g = df.get_pid()
            last_wave: UInt(8) = waves - 1
            last_token: UInt(8) = count - last_wave * B - 1
            rounds: UInt(16) = last_wave * (B // R) + ((last_token * INVERSE) >> 16) + 1
            total: int32 = rounds * ROUND_WORDS + OUTS * (D // L)
            for word in range(total):
                one: UInt(8 * L * R) = cast[g].get()
                with allo.meta_for(C // G) as c:
                    inputs[g * (C // G) + c].put(one)

        @df.kernel(mapping=[C])
        def element():
            c = df.get_pid()
            multiply_block[L, C, D, FFN, LAYERS, OUTS, R, B](
                words[c], inputs[c], count, waves, sums[c]
            )

        @df.kernel(mapping=[G])
        def pregather():
            g = df.get_pid()
            last_wave: UInt(8) = waves - 1
            last_token: UInt(8) = count - last_wave * B - 1
            rounds: UInt(16) = last_wave * (B // R) + ((last_token * INVERSE) >> 16) + 1
            total: int32 = rounds * ROUND_SUMS + OUTS
            for one in range(total):
                some: UInt(32 * R * (C // G)) = 0
                with allo.meta_for(C // G) as c:
                    some[32 * R * c : 32 * R * c + 32 * R] = sums[g * (C // G) + c].get()
                partly[g].put(some)

        @df.kernel(mapping=[1])
        def gather():
            held: int32[R * C] = 0
            for job in range(4 * LAYERS + 1 - ENCODER):
                kind: int32 = job & 3
                last_pass: UInt(8) = waves - 1
                left: int32 = count
                outs: UInt(24) = D // C
                if job == 4 * LAYERS:
                    last_pass = 0
                    left = 1
                    outs = OUTS
                elif kind == 0:
                    outs = 3 * D // C
                elif kind == 2:
                    outs = FFN // C
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

        @df.kernel(mapping=[1])
        def rescaling():
            rescale_block[V, C, D, FFN, LAYERS, OUTPUTS, B, JOB](
                gathered, affines, count, waves, projected, deltas, hidden, said
            )

        @df.kernel(mapping=[1], args=[gelus])
        def gelu(factors: float32[LAYERS]):
            bend_block[FFN, V, LAYERS, ERF](hidden, factors, count, bent)

        @df.kernel(mapping=[1])
        def packing():
            pack_block[D, HD, V, C, LAYERS, B](projected, count, waves, packed)

        @df.kernel(mapping=[1])
        def dealing():
            last_wave: UInt(8) = waves - 1
            for layer in range(LAYERS):
                left: int32 = count
                for wave in range(last_wave + 1):
                    last: UInt(8) = min(left, B) - 1
                    left = left - B
                    for which in range(3):
                        # One bit is set, of the unit whose turn it is: U for q and k, then U for v.
                        unit: UInt(2 * U) = 1 << U if which == 2 else 1
                        token: UInt(8) = 0
                        heads: UInt(16) = HEADS * (last + 1)
                        for head in range(heads):
                            word: UInt(8 * HD) = packed.get()
                            with allo.meta_for(U) as u:
                                if unit[u] == 1:
                                    asked[u].put(word)
                                if unit[U + u] == 1:
                                    given[u].put(word)
                            if token == last:
                                unit = ((unit << 1) & LATER) | ((unit >> (U - 1)) & FIRST)
                            token = 0 if token == last else token + 1

        @df.kernel(mapping=[U], args=[keys])
        def scoring(cache: UInt(8 * HD)[U, CACHE]):
            u = df.get_pid()
            score_block[HD, H, ROOM, LAYERS, B, ENCODER](
                asked[u], start, count, waves, cache[u], scores[u], peaks[u]
            )

        @df.kernel(mapping=[U], args=[exponents, values])
        def mixing(factors: float32[U, LAYERS], cache: UInt(8 * HD)[U, CACHE]):
            u = df.get_pid()
            mix_block[HD, H, ROOM, LAYERS, B, ENCODER](
                given[u], scores[u], peaks[u], start, count, waves,
                factors[u], cache[u], mixed[u], totals[u],
            )  # fmt: skip

        @df.kernel(mapping=[1])
        def collecting():
            unit: UInt(U) = 1
            heads_to_come: int32 = count * (LAYERS * HEADS)
            for head in range(heads_to_come):
                of_head: UInt(32 * HD) = 0
                total: int32 = 0
                with allo.meta_for(U) as u:
                    if unit[u] == 1:
                        of_head = mixed[u].get()
                        total = totals[u].get()
                collected.put(of_head)
                counted.put(total)
                unit = (unit << 1) | (unit >> (U - 1))

        @df.kernel(mapping=[1], args=[attends])
        def dividing(factors: float32[LAYERS]):
            divide_block[HD, V, HEADS, LAYERS](collected, counted, factors, count, attended)

        @df.kernel(mapping=[1], args=[logits])
        def saying(memory: UInt(32 * V)[SAID]):
            with allo.meta_if(ENCODER):
                say_block[V, SAID](states, count * (D // V), memory)
            with allo.meta_else():
                say_block[V, SAID](said, SAID, memory)

    return df.customize(block_step, share=False)
