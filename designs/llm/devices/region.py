# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Several wide accelerators as one dataflow region: P2 stages of P1 devices, and the links between them.

A device has the processes of :mod:`..wide.region`, with the kernels of that folder, sized for its share:
its heads, its part of the feed-forward layer, its layers, its part of the vocabulary. What is new:

``entering``  takes the residual from the stage before it, or from ``embedding`` (:func:`exchange.embed`).
``keeping``   :func:`exchange.keep`: the residual for the next stage.
``reducing``  :func:`exchange.reduce_shares`: partial sums of the devices that share a layer.
``saying``    writes the logits of its part of the vocabulary, and nominates the largest of them.
``electing``  the largest of all parts, whose token goes back to the first stage.
``…_pacing``, ``…_departing``, ``…_arriving``   :mod:`link_kernels`: a link.

A run takes ``rounds`` tokens of each of ``sequences`` sequences, in turns.
"""

from typing import Any

import allo
import allo.dataflow as df
from allo.ir.types import ConstExpr, Stream, UInt, float32, index, int32

from ..config import GPTConfig
from ..constants import EPS
from ..wide.activation import bend
from ..wide.heads import divide, mix, pack, score
from ..wide.linear import fetch, multiply, rescale
from ..wide.norm import normalise
from ..wide.parameters import Wide
from .exchange import embed, keep, reduce_shares
from .link import Pace
from .link_kernels import arrive, depart, pace
from .parameters import Devices, share_of
from .votes import elect, say


def make_region(config: GPTConfig, wide: Wide, devices: Devices, speed: Pace) -> Any:
    """All devices, ready to be scheduled.

    Args:
        speed: of a link, in words of V elements of 32 bits.

    Raises:
        DeviceError, WidthError: the model cannot be shared so.
    """
    share = share_of(config, wide, devices)
    P1, P2, S, ROUNDS = devices.tensor, devices.pipeline, devices.sequences, devices.rounds
    STEPS, P = devices.steps, devices.tensor * devices.pipeline
    LAYERS, HEADS, INNER, FFN = share.layers, share.heads, share.inner, share.ffn
    D, HD, CTX, VOCAB = config.d, config.head_dim, config.context, config.vocab
    C, L, V, U, PREFETCH = wide.channels, wide.lanes, wide.vector, wide.heads, wide.prefetch
    PARTS = wide.parts
    LOG_V, LOG_PARTS = V.bit_length() - 1, PARTS.bit_length() - 1
    H = HEADS // U
    LAYER_OUTPUTS = LAYERS * (3 * INNER + D + FFN + D)
    LAYER_WORDS = LAYERS * (3 * INNER * D + D * INNER + FFN * D + D * FFN) // (C * L)
    OUTPUTS = share.outputs
    HEAD_WORDS = OUTPUTS * D // (C * L)
    ROWS, WAIT = D // V, speed.wait
    SPREAD, ROOM = max(D, FFN), 2 * P1 * ROWS
    HELD, LINE, WHOLE = max(C, V), WAIT + 16, min(P1 - 1, 1)
    RING_WORDS = STEPS * 2 * LAYERS * (P1 - 1) * ROWS

    @df.region()
    def devices_step(
        tokens: int32[P1, S],
        start: int32,
        weights: UInt(8 * L)[P, C, LAYER_WORDS],
        head_weights: UInt(8 * L)[P1, C, HEAD_WORDS],
        affine: UInt(64 * V)[P, LAYER_OUTPUTS // V],
        head_affine: UInt(64 * V)[P1, OUTPUTS // V],
        norm_table: UInt(64 * V)[P, 2 * LAYERS * ROWS],
        last_norm: UInt(64 * V)[P1, ROWS],
        token_table: UInt(32 * V)[P1, VOCAB * ROWS],
        position_table: UInt(32 * V)[P1, CTX * ROWS],
        exponents: float32[P, U, LAYERS],
        attends: float32[P, LAYERS],
        gelus: float32[P, LAYERS],
        keys: UInt(8 * HD)[P, U, S, LAYERS * H * CTX],
        values: UInt(8 * HD)[P, U, S, LAYERS * H * CTX],
        logits: UInt(32 * V)[P1, STEPS * OUTPUTS // V],
        chosen: int32[STEPS],
    ):
        leaving: Stream[UInt(32 * V), 4][P2, P1]
        come: Stream[UInt(32 * V), S * ROWS][P2, P1]
        ring_out: Stream[UInt(32 * V), 4][P2, P1]
        ring_in: Stream[UInt(32 * V), ROOM][P2, P1]
        votes_out: Stream[UInt(64), 4][P1]
        votes_in: Stream[UInt(64), 2 * P1][P1]
        elected: Stream[UInt(32), S][P1]
        told: Stream[UInt(32), S][P1]

        with allo.meta_for(P2) as i, allo.meta_for(P1) as t:
            dev: ConstExpr[index] = i * P1 + t
            last: ConstExpr[index] = i // (P2 - 1) if P2 > 1 else 1
            jobs: ConstExpr[index] = 4 * LAYERS + last
            all_outputs: ConstExpr[index] = LAYER_OUTPUTS + last * OUTPUTS

            words: Stream[UInt(8 * L), PREFETCH][C]
            inputs: Stream[UInt(8 * L), SPREAD // L][C]
            sums: Stream[int32, 4][C]
            gathered: Stream[int32[V], 4][2]
            affines: Stream[UInt(64 * V), 64]
            gains: Stream[UInt(64 * V), 64]
            entered: Stream[float32[V], 4]
            kept: Stream[float32[V], 4]
            projected: Stream[float32[V], 4]
            changes: Stream[float32[V], 4]
            deltas: Stream[float32[V], 4]
            hidden: Stream[float32[V], 4]
            said: Stream[float32[V], 4]
            normed: Stream[UInt(8 * V), 4]
            bent: Stream[UInt(8 * V), 4]
            attended: Stream[UInt(8 * V), 4]
            packed: Stream[UInt(8 * HD), 4]
            asked: Stream[UInt(8 * HD), 4][U]
            given: Stream[UInt(8 * HD), 4][U]
            scores: Stream[int32, CTX][U]
            peaks: Stream[int32, 4][U]
            mixed: Stream[int32[HD], 2][U]
            totals: Stream[int32, 2][U]
            collected: Stream[int32[HD], 2]
            counted: Stream[int32, 2]
            nominated: Stream[UInt(64), 2]

            @df.kernel(mapping=[C], args=[weights, head_weights])
            def loader(
                memory: UInt(8 * L)[P, C, LAYER_WORDS], behind: UInt(8 * L)[P1, C, HEAD_WORDS]
            ):
                c = df.get_pid()
                for step in range(STEPS):
                    fetch[8 * L, LAYER_WORDS, "weights"](memory[dev, c], words[c])
                    with allo.meta_if(last == 1):
                        fetch[8 * L, HEAD_WORDS, "head_weights"](behind[t, c], words[c])

            @df.kernel(mapping=[1], args=[affine, head_affine])
            def affine_loader(
                memory: UInt(64 * V)[P, LAYER_OUTPUTS // V],
                behind: UInt(64 * V)[P1, OUTPUTS // V],
            ):
                for step in range(STEPS):
                    fetch[64 * V, LAYER_OUTPUTS // V, "affine"](memory[dev], affines)
                    with allo.meta_if(last == 1):
                        fetch[64 * V, OUTPUTS // V, "head_affine"](behind[t], affines)

            @df.kernel(mapping=[1], args=[norm_table, last_norm])
            def norm_loader(
                memory: UInt(64 * V)[P, 2 * LAYERS * ROWS], behind: UInt(64 * V)[P1, ROWS]
            ):
                for step in range(STEPS):
                    fetch[64 * V, 2 * LAYERS * ROWS, "gain"](memory[dev], gains)
                    with allo.meta_if(last == 1):
                        fetch[64 * V, ROWS, "last_gain"](behind[t], gains)

            with allo.meta_if(i == 0):

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
                                token = firsts[t, sequence]
                            else:
                                token = told[t].get()
                            embed[D, V, VOCAB, CTX](
                                token_rows[t], position_rows[t], token, start + turn, come[0, t]
                            )

            @df.kernel(mapping=[1])
            def entering():
                for row in range(STEPS * ROWS):
                    word: UInt(32 * V) = come[i, t].get()
                    block: float32[V]
                    for v in range(V):
                        bits: UInt(32) = word[32 * v : 32 * v + 32]
                        block[v] = bits.bitcast()
                    entered.put(block)
                    with allo.meta_if(last == 0):
                        kept.put(block)

            @df.kernel(mapping=[1])
            def norms():
                for step in range(STEPS):
                    with allo.meta_if(last == 1):
                        normalise[D, V, LOG_V, PARTS, LOG_PARTS, 2 * LAYERS + 1, 2, "end"](
                            entered, changes, gains, EPS, normed
                        )
                    with allo.meta_else():
                        normalise[D, V, LOG_V, PARTS, LOG_PARTS, 2 * LAYERS, 2, "stage"](
                            entered, deltas, gains, EPS, normed
                        )

            with allo.meta_if(last == 0):

                @df.kernel(mapping=[1])
                def keeping():
                    for step in range(STEPS):
                        keep[D, V, LAYERS](kept, changes, deltas, leaving[i, t])

            @df.kernel(mapping=[1])
            def spreading():
                for step in range(STEPS):
                    for job in range(jobs):
                        kind: int32 = job & 3
                        narrow: int32 = ROWS
                        if kind == 1:
                            narrow = INNER // V
                        elif kind == 3:
                            narrow = FFN // V
                        wide_word: UInt(8 * L) = 0
                        piece: UInt(8) = 0
                        for word in range(narrow):
                            part: UInt(8 * L) = 0
                            if kind == 1:
                                part = attended.get()
                            elif kind == 3:
                                part = bent.get()
                            else:
                                part = normed.get()
                            joined: UInt(8 * L) = (wide_word >> (8 * V)) | (part << (8 * (L - V)))
                            wide_word = joined
                            if piece == L // V - 1:
                                with allo.meta_for(C) as c:
                                    inputs[c].put(joined)
                            piece = 0 if piece == L // V - 1 else piece + 1

            @df.kernel(mapping=[C])
            def element():
                c = df.get_pid()
                for step in range(STEPS):
                    with allo.meta_if(last == 1):
                        multiply[L, C, D, 3 * INNER, INNER, FFN, FFN, LAYERS, OUTPUTS // C, "end"](
                            words[c], inputs[c], sums[c]
                        )
                    with allo.meta_else():
                        multiply[L, C, D, 3 * INNER, INNER, FFN, FFN, LAYERS, 0, "stage"](
                            words[c], inputs[c], sums[c]
                        )

            @df.kernel(mapping=[1])
            def gather():
                held: int32[HELD] = 0
                piece: UInt(8) = 0
                with allo.meta_if(C >= V):
                    for word in range(STEPS * all_outputs // V):
                        if piece == 0:
                            with allo.meta_for(C) as c:
                                held[c] = sums[c].get()
                        else:
                            for m in range(C - V):
                                held[m] = held[m + V]
                        block: int32[V]
                        for v in range(V):
                            block[v] = held[v]
                        gathered[0].put(block)
                        piece = 0 if piece == C // V - 1 else piece + 1
                with allo.meta_else():
                    for word in range(STEPS * all_outputs // C):
                        for m in range(V - C):
                            held[m] = held[m + C]
                        with allo.meta_for(C) as c:
                            held[V - C + c] = sums[c].get()
                        if piece == V // C - 1:
                            block: int32[V]
                            for v in range(V):
                                block[v] = held[v]
                            gathered[0].put(block)
                        piece = 0 if piece == V // C - 1 else piece + 1

            with allo.meta_if(P1 > 1):

                @df.kernel(mapping=[1])
                def reducing():
                    for step in range(STEPS):
                        with allo.meta_if(last == 1):
                            reduce_shares[V, D, INNER, FFN, LAYERS, OUTPUTS, P1, "end"](
                                gathered[0], ring_out[i, t], ring_in[i, t], gathered[1]
                            )
                        with allo.meta_else():
                            reduce_shares[V, D, INNER, FFN, LAYERS, 0, P1, "stage"](
                                gathered[0], ring_out[i, t], ring_in[i, t], gathered[1]
                            )

            @df.kernel(mapping=[1])
            def rescaling():
                for step in range(STEPS):
                    with allo.meta_if(last == 1):
                        rescale[V, D, 3 * INNER, FFN, LAYERS, OUTPUTS, 2, "end"](
                            gathered[WHOLE], affines, projected, changes, hidden, said
                        )
                    with allo.meta_else():
                        rescale[V, D, 3 * INNER, FFN, LAYERS, 0, 2, "stage"](
                            gathered[WHOLE], affines, projected, changes, hidden, said
                        )

            @df.kernel(mapping=[1], args=[gelus])
            def gelu(factors: float32[P, LAYERS]):
                for step in range(STEPS):
                    bend[FFN, V, LAYERS](hidden, factors[dev], bent)

            @df.kernel(mapping=[1])
            def packing():
                pack[3 * INNER, HD, V, STEPS * LAYERS](projected, packed)

            @df.kernel(mapping=[1])
            def dealing():
                for layer in range(STEPS * LAYERS):
                    for which in range(3):
                        unit: UInt(8) = 0
                        for head in range(HEADS):
                            word: UInt(8 * HD) = packed.get()
                            with allo.meta_for(U) as u:
                                if unit == u:
                                    if which == 2:
                                        given[u].put(word)
                                    else:
                                        asked[u].put(word)
                            unit = 0 if unit == U - 1 else unit + 1

            @df.kernel(mapping=[U], args=[keys])
            def scoring(cache: UInt(8 * HD)[P, U, S, LAYERS * H * CTX]):
                u = df.get_pid()
                for turn in range(ROUNDS):
                    with allo.meta_for(S) as s:
                        score[HD, H, 1, CTX, LAYERS](
                            asked[u], start + turn, cache[dev, u, s], scores[u], peaks[u]
                        )

            @df.kernel(mapping=[U], args=[exponents, values])
            def mixing(
                factors: float32[P, U, LAYERS], cache: UInt(8 * HD)[P, U, S, LAYERS * H * CTX]
            ):
                u = df.get_pid()
                for turn in range(ROUNDS):
                    with allo.meta_for(S) as s:
                        mix[HD, H, 1, CTX, LAYERS](
                            given[u], scores[u], peaks[u], start + turn,
                            factors[dev, u], cache[dev, u, s], mixed[u], totals[u],
                        )  # fmt: skip

            @df.kernel(mapping=[1])
            def collecting():
                for turn in range(STEPS * LAYERS * H):
                    with allo.meta_for(U) as u:
                        collected.put(mixed[u].get())
                        counted.put(totals[u].get())

            @df.kernel(mapping=[1], args=[attends])
            def dividing(factors: float32[P, LAYERS]):
                for step in range(STEPS):
                    divide[HD, V, HEADS, LAYERS](collected, counted, factors[dev], attended)

            with allo.meta_if(last == 1):

                @df.kernel(mapping=[1], args=[logits])
                def saying(memory: UInt(32 * V)[P1, STEPS * OUTPUTS // V]):
                    for step in range(STEPS):
                        say[V, OUTPUTS, VOCAB, STEPS](said, t * OUTPUTS, step, memory[t], nominated)

                @df.kernel(mapping=[1], args=[chosen])
                def electing(results: int32[STEPS]):
                    for step in range(STEPS):
                        token: UInt(32) = 0
                        with allo.meta_if(P1 > 1):
                            token = elect[P1](nominated, votes_out[t], votes_in[t])
                        with allo.meta_else():
                            vote: UInt(64) = nominated.get()
                            token = vote[0:32]
                        with allo.meta_if(t == 0):
                            results[step] = token
                        with allo.meta_if(P2 > 1):
                            elected[t].put(token)
                        with allo.meta_else():
                            if step < STEPS - S:
                                told[t].put(token)

            with allo.meta_if(last == 0):
                hidden_paced: Stream[UInt(32 * V + 1), 2]
                hidden_line: Stream[UInt(32 * V + 2), LINE]

                @df.kernel(mapping=[1])
                def hidden_pacing():
                    pace[32 * V, STEPS * ROWS, "hidden"](leaving[i, t], hidden_paced)

                @df.kernel(mapping=[1])
                def hidden_departing():
                    depart[32 * V, "hidden"](hidden_paced, hidden_line)

                @df.kernel(mapping=[1])
                def hidden_arriving():
                    arrive[32 * V, WAIT, "hidden"](hidden_line, come[i + 1, t])

            with allo.meta_if(P2 > 1 and last == 1):
                token_paced: Stream[UInt(32 + 1), 2]
                token_line: Stream[UInt(32 + 2), LINE]

                @df.kernel(mapping=[1])
                def token_pacing():
                    pace[32, STEPS, "token"](elected[t], token_paced)

                @df.kernel(mapping=[1])
                def token_departing():
                    depart[32, "token"](token_paced, token_line)

                @df.kernel(mapping=[1])
                def token_arriving():
                    arrive[32, WAIT, "token"](token_line, told[t])

            with allo.meta_if(P1 > 1):
                ring_paced: Stream[UInt(32 * V + 1), 2]
                ring_line: Stream[UInt(32 * V + 2), LINE]

                @df.kernel(mapping=[1])
                def ring_pacing():
                    pace[32 * V, RING_WORDS, "ring"](ring_out[i, t], ring_paced)

                @df.kernel(mapping=[1])
                def ring_departing():
                    depart[32 * V, "ring"](ring_paced, ring_line)

                @df.kernel(mapping=[1])
                def ring_arriving():
                    arrive[32 * V, WAIT, "ring"](ring_line, ring_in[i, (t + 1) % P1])

            with allo.meta_if(P1 > 1 and last == 1):
                vote_paced: Stream[UInt(64 + 1), 2]
                vote_line: Stream[UInt(64 + 2), LINE]

                @df.kernel(mapping=[1])
                def vote_pacing():
                    pace[64, STEPS * (P1 - 1), "vote"](votes_out[t], vote_paced)

                @df.kernel(mapping=[1])
                def vote_departing():
                    depart[64, "vote"](vote_paced, vote_line)

                @df.kernel(mapping=[1])
                def vote_arriving():
                    arrive[64, WAIT, "vote"](vote_line, votes_in[(t + 1) % P1])

    return df.customize(devices_step, share=False)
