# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""The wide accelerator as a dataflow region: kernels joined by streams, one token a step.

``loader``    one a channel: reads its weights ahead of their use, as far as ``prefetch`` words.
``element``   one a channel: :func:`linear.multiply`, or :func:`nibbles.multiply_nibbles`.
``gather``    joins the elements' sums to words of V; ``rescaling`` is :func:`linear.rescale`.
``tables``    two loaders: factors and biases of the sums, gains and shifts of the norms.
``embedding`` the token's row and, of a family with learned positions, the position's row, added.
``norms``     :func:`norm.normalise`.
``gelu``      :func:`activation.bend`; others are ``relu``, and ``parting`` with ``swiglu``: :mod:`families`.
``turning``   :func:`families.rotary.rotate`, of a family with rotary positions.
``packing``, ``dealing``, ``scoring``, ``mixing``, ``collecting``, ``dividing``: :mod:`heads`.
``spreading`` widens activations to words of the elements, and gives every element each word.
``keeping``   with keys and values in external memory: one of each a unit, :mod:`external.attend`.
``saying``    writes the logits, and with ``top`` the largest of them, which :mod:`topk` keeps.
"""

from typing import Any

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from .activation import bend
from .candidates.topk import keep_largest
from .external.attend import keep, mix_ahead, score_ahead
from .families.gated import gate, part
from .families.model import Model, all_sums, architecture_of, job_sizes, position_row, terms
from .families.relu import cut
from .families.rotary import rotate
from .heads import divide, mix, pack, score
from .linear import fetch, multiply, rescale
from .nibbles import multiply_nibbles
from .norm import normalise
from .parameters import Wide, channel_size, check_wide, lists, padded_vocab, said_words


def make_region(config: Model, wide: Wide) -> Any:
    """The accelerator, ready to be scheduled.

    Raises:
        WidthError: the parameters do not fit the model.
    """
    check_wide(config, wide)
    m = architecture_of(config)
    LAYERS, D, HEADS, HD = config.layers, config.d, config.heads, config.head_dim
    FFN, CTX, VOCAB = config.ffn, config.context, config.vocab
    C, L, V, U, PREFETCH = wide.channels, wide.lanes, wide.vector, wide.heads, wide.prefetch
    PARTS = wide.parts
    LOG_V, LOG_PARTS = V.bit_length() - 1, PARTS.bit_length() - 1
    H, G = m.kv_heads // U, HEADS // m.kv_heads
    (QKV, _), _, (UP, _), _ = job_sizes(config)
    PER_SUM, PER_ELEMENT = terms(config)
    POSITION = position_row(config)
    TURNED, ROTARY, GATED, EPS = (HEADS + m.kv_heads) * HD, bool(m.rotary), m.gated, m.eps
    RELU = m.activation == "relu"
    OUTPUTS = padded_vocab(config, wide)
    OUTS = OUTPUTS // C
    ALL = all_sums(config, OUTPUTS)
    WORDS = channel_size(config, wide)
    BITS, K = wide.bits, wide.activations
    NORMS = 2 * LAYERS + 1
    HELD = max(C, V)
    TOP, LISTS, SAID = wide.top, lists(config, wide), said_words(config, wide)
    EVERY = 1 if wide.all_logits else 0
    EXTERNAL, AHEAD, NEW = (
        wide.cache == "external",
        wide.cache_prefetch,
        max(2, m.kv_heads // wide.heads),
    )

    @df.region()
    def wide_step(
        token: int32,
        start: int32,
        weights: UInt(8 * L)[C, WORDS],
        affine: UInt(32 * PER_SUM * V)[ALL // V],
        norm_table: UInt(32 * PER_ELEMENT * V)[NORMS * D // V],
        token_table: UInt(32 * V)[VOCAB * D // V],
        position_table: UInt(32 * V)[CTX * POSITION // V],
        exponents: float32[U, LAYERS],
        attends: float32[LAYERS],
        gelus: float32[LAYERS],
        keys: UInt(8 * HD)[U, LAYERS * H * CTX],
        values: UInt(8 * HD)[U, LAYERS * H * CTX],
        logits: UInt(32 * V)[SAID],
    ):
        words: Stream[UInt(8 * L), PREFETCH][C]
        inputs: Stream[UInt(8 * K), FFN // K][C]
        sums: Stream[int32, 4][C]
        gathered: Stream[int32[V], 4]
        affines: Stream[UInt(32 * PER_SUM * V), 64]
        gains: Stream[UInt(32 * PER_ELEMENT * V), 64]
        embedded: Stream[float32[V], 4]
        angles: Stream[UInt(32 * V), 4]
        projected: Stream[float32[V], 4]
        turned: Stream[float32[V], 4]
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
        mixed: Stream[int32[HD], max(2, G)][U]
        totals: Stream[int32, max(2, G)][U]
        collected: Stream[int32[HD], 2]
        counted: Stream[int32, 2]

        @df.kernel(mapping=[C], args=[weights])
        def loader(memory: UInt(8 * L)[C, WORDS]):
            c = df.get_pid()
            fetch[8 * L, WORDS, "weights"](memory[c], words[c])

        @df.kernel(mapping=[1], args=[affine])
        def affine_loader(memory: UInt(32 * PER_SUM * V)[ALL // V]):
            fetch[32 * PER_SUM * V, ALL // V, "affine"](memory, affines)

        @df.kernel(mapping=[1], args=[norm_table])
        def norm_loader(memory: UInt(32 * PER_ELEMENT * V)[NORMS * D // V]):
            fetch[32 * PER_ELEMENT * V, NORMS * D // V, "gain"](memory, gains)

        @df.kernel(mapping=[1], args=[token_table, position_table])
        def embedding(
            token_rows: UInt(32 * V)[VOCAB * D // V],
            position_rows: UInt(32 * V)[CTX * POSITION // V],
        ):
            with allo.meta_if(ROTARY):
                for part in range(HD // V):
                    angles.put(position_rows[start * (HD // V) + part])
            for row in range(D // V):
                left: UInt(32 * V) = token_rows[token * (D // V) + row]
                block: float32[V]
                with allo.meta_if(ROTARY):
                    for w in range(V):
                        bits: UInt(32) = left[32 * w : 32 * w + 32]
                        block[w] = bits.bitcast()
                with allo.meta_else():
                    right: UInt(32 * V) = position_rows[start * (D // V) + row]
                    for v in range(V):
                        a_bits: UInt(32) = left[32 * v : 32 * v + 32]
                        b_bits: UInt(32) = right[32 * v : 32 * v + 32]
                        a: float32 = a_bits.bitcast()
                        b: float32 = b_bits.bitcast()
                        block[v] = a + b
                embedded.put(block)

        @df.kernel(mapping=[1])
        def norms():
            normalise[D, V, LOG_V, PARTS, LOG_PARTS, NORMS, PER_ELEMENT](
                embedded, deltas, gains, EPS, normed
            )

        @df.kernel(mapping=[1])
        def spreading():
            for job in range(4 * LAYERS + 1):
                kind: int32 = job & 3
                narrow: int32 = D // V
                if job == 4 * LAYERS:
                    kind = 0
                elif kind == 3:
                    narrow = FFN // V
                wide_word: UInt(8 * K) = 0
                piece: UInt(8) = 0
                for word in range(narrow):
                    part: UInt(8 * K) = 0
                    if kind == 1:
                        part = attended.get()
                    elif kind == 3:
                        part = bent.get()
                    else:
                        part = normed.get()
                    joined: UInt(8 * K) = (wide_word >> (8 * V)) | (part << (8 * (K - V)))
                    wide_word = joined
                    if piece == K // V - 1:
                        with allo.meta_for(C) as c:
                            inputs[c].put(joined)
                    piece = 0 if piece == K // V - 1 else piece + 1

        @df.kernel(mapping=[C])
        def element():
            c = df.get_pid()
            with allo.meta_if(BITS == 4):
                multiply_nibbles[L, C, D, QKV, UP, FFN, LAYERS, OUTS](words[c], inputs[c], sums[c])
            with allo.meta_else():
                multiply[L, C, D, QKV, D, UP, FFN, LAYERS, OUTS](words[c], inputs[c], sums[c])

        @df.kernel(mapping=[1])
        def gather():
            held: int32[HELD] = 0
            piece: UInt(8) = 0
            with allo.meta_if(C >= V):
                for word in range(ALL // V):
                    if piece == 0:
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

        @df.kernel(mapping=[1])
        def rescaling():
            rescale[V, D, QKV, UP, LAYERS, OUTPUTS, PER_SUM](
                gathered, affines, projected, deltas, hidden, said
            )

        with allo.meta_if(GATED):
            gates: Stream[float32[V], 4]
            others: Stream[float32[V], 4]

            @df.kernel(mapping=[1])
            def parting():
                part[LAYERS * (UP // V), V](hidden, gates, others)

            @df.kernel(mapping=[1], args=[gelus])
            def swiglu(factors: float32[LAYERS]):
                gate[FFN, V, LAYERS](gates, others, factors, bent)

        with allo.meta_elif(RELU):

            @df.kernel(mapping=[1], args=[gelus])
            def relu(factors: float32[LAYERS]):
                cut[FFN, V, LAYERS](hidden, factors, bent)

        with allo.meta_else():

            @df.kernel(mapping=[1], args=[gelus])
            def gelu(factors: float32[LAYERS]):
                bend[FFN, V, LAYERS](hidden, factors, bent)

        with allo.meta_if(ROTARY):

            @df.kernel(mapping=[1])
            def turning():
                rotate[TURNED, QKV, HD, V, LAYERS](projected, angles, turned)

        @df.kernel(mapping=[1])
        def packing():
            with allo.meta_if(ROTARY):
                pack[QKV, HD, V, LAYERS](turned, packed)
            with allo.meta_else():
                pack[QKV, HD, V, LAYERS](projected, packed)

        @df.kernel(mapping=[1])
        def dealing():
            for layer in range(LAYERS):
                for which in range(3):
                    unit: UInt(8) = 0
                    share: UInt(8) = 0
                    count: int32 = HEADS if which == 0 else H * U
                    last: UInt(8) = G - 1 if which == 0 else 0
                    for head in range(count):
                        word: UInt(8 * HD) = packed.get()
                        with allo.meta_for(U) as u:
                            if unit == u:
                                if which == 2:
                                    given[u].put(word)
                                else:
                                    asked[u].put(word)
                        following: UInt(8) = 0 if unit == U - 1 else unit + 1
                        unit = following if share == last else unit
                        share = 0 if share == last else share + 1

        with allo.meta_if(EXTERNAL):
            old_keys: Stream[UInt(8 * HD), AHEAD][U]
            new_keys: Stream[UInt(8 * HD), NEW][U]
            old_values: Stream[UInt(8 * HD), AHEAD][U]
            new_values: Stream[UInt(8 * HD), NEW][U]

            @df.kernel(mapping=[U], args=[keys])
            def keeping_keys(cache: UInt(8 * HD)[U, LAYERS * H * CTX]):
                u = df.get_pid()
                keep[HD, H, G, CTX, LAYERS, "keys"](cache[u], start, new_keys[u], old_keys[u])

            @df.kernel(mapping=[U], args=[values])
            def keeping_values(cache: UInt(8 * HD)[U, LAYERS * H * CTX]):
                u = df.get_pid()
                keep[HD, H, G, CTX, LAYERS, "values"](cache[u], start, new_values[u], old_values[u])

            @df.kernel(mapping=[U])
            def scoring():
                u = df.get_pid()
                score_ahead[HD, H, G, LAYERS](
                    asked[u], start, old_keys[u], new_keys[u], scores[u], peaks[u]
                )

            @df.kernel(mapping=[U], args=[exponents])
            def mixing(factors: float32[U, LAYERS]):
                u = df.get_pid()
                mix_ahead[HD, H, G, LAYERS](
                    given[u], scores[u], peaks[u], start, factors[u],
                    old_values[u], new_values[u], mixed[u], totals[u],
                )  # fmt: skip

        with allo.meta_else():

            @df.kernel(mapping=[U], args=[keys])
            def scoring(cache: UInt(8 * HD)[U, LAYERS * H * CTX]):
                u = df.get_pid()
                score[HD, H, G, CTX, LAYERS](asked[u], start, cache[u], scores[u], peaks[u])

            @df.kernel(mapping=[U], args=[exponents, values])
            def mixing(factors: float32[U, LAYERS], cache: UInt(8 * HD)[U, LAYERS * H * CTX]):
                u = df.get_pid()
                mix[HD, H, G, CTX, LAYERS](
                    given[u], scores[u], peaks[u], start, factors[u], cache[u], mixed[u], totals[u]
                )

        @df.kernel(mapping=[1])
        def collecting():
            unit: UInt(8) = 0
            share: UInt(8) = 0
            for turn in range(LAYERS * HEADS):
                block: int32[HD]
                count: int32 = 0
                with allo.meta_for(U) as u:
                    if unit == u:
                        block = mixed[u].get()
                        count = totals[u].get()
                collected.put(block)
                counted.put(count)
                following: UInt(8) = 0 if unit == U - 1 else unit + 1
                unit = following if share == G - 1 else unit
                share = 0 if share == G - 1 else share + 1

        @df.kernel(mapping=[1], args=[attends])
        def dividing(factors: float32[LAYERS]):
            divide[HD, V, HEADS, LAYERS](collected, counted, factors, attended)

        with allo.meta_if(TOP > 0):
            ranked: Stream[float32[V], 4]
            found: Stream[UInt(64), 4]

            @df.kernel(mapping=[1])
            def ranking():
                with allo.meta_if(EVERY == 1):
                    keep_largest[V, LISTS, TOP, VOCAB, OUTPUTS // V](ranked, found)
                with allo.meta_else():
                    keep_largest[V, LISTS, TOP, VOCAB, OUTPUTS // V](said, found)

            @df.kernel(mapping=[1], args=[logits])
            def saying(memory: UInt(32 * V)[SAID]):
                with allo.meta_if(EVERY == 1):
                    for out in range(OUTPUTS // V):
                        block: float32[V] = said.get()
                        word: UInt(32 * V) = 0
                        for v in range(V):
                            bits: UInt(32) = block[v].bitcast()
                            word[32 * v : 32 * v + 32] = bits
                        memory[out] = word
                        ranked.put(block)
                for place in range(TOP):
                    memory[SAID - TOP + place] = found.get()

        with allo.meta_else():

            @df.kernel(mapping=[1], args=[logits])
            def saying(memory: UInt(32 * V)[SAID]):
                for out in range(OUTPUTS // V):
                    block: float32[V] = said.get()
                    word: UInt(32 * V) = 0
                    for v in range(V):
                        bits: UInt(32) = block[v].bitcast()
                        word[32 * v : 32 * v + 32] = bits
                    memory[out] = word

    return df.customize(wide_step, share=False)
