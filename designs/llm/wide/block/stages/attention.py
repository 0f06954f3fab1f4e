# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of attention for blocks: every token of a block has its heads scored and mixed."""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ....stage import Kernel, Stage
from ..heads import (
    mix_block,
    pack_block,
    schedule_mix_block,
    schedule_pack_block,
    schedule_score_block,
    score_block,
)
from ..vectors import divide_block, schedule_divide_block
from .sizes import BlockSizes

PLANS = 32
"""Words that a unit may be told ahead."""


def packing(z: BlockSizes) -> Stage:
    """Quantises q, k and v, and joins them to words of a head."""
    m, V, C = z.model, z.wide.vector, z.wide.channels
    HD, sizes = m.head_dim, (z.qkv, m.head_dim, V, C, z.layers, z.block.tokens)
    kernel = Kernel(pack_block, sizes, lambda s: schedule_pack_block(s, C // V))
    PACK = kernel.template

    @df.part()
    def part(
        count: int32, waves: int32, projected: Stream[float32[V], 4],
        packed: Stream[UInt(8 * HD), 4], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def packing():
            pack_block[*PACK](projected, count, waves, packed, layers)

    return Stage(part, (kernel,))


def dealing(z: BlockSizes) -> Stage:
    """Gives every unit the queries, keys and values of its heads."""
    U, HD, HEADS, KV, G, B = (
        z.wide.heads, z.model.head_dim, z.model.heads, z.model.kv_heads, z.group, z.block.tokens,
    )  # fmt: skip
    FIRST, ASKED, GIVEN = 1 | 1 << U, z.asked, z.given
    LATER = (1 << 2 * U) - 1 - FIRST

    @df.part()
    def part(
        count: int32, waves: int32, packed: Stream[UInt(8 * HD), 4],
        asked: Stream[UInt(8 * HD), ASKED][U], given: Stream[UInt(8 * HD), GIVEN][U],
        layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def dealing():
            last_wave: UInt(8) = waves - 1
            for layer in range(layers):
                left: int32 = count
                for wave in range(last_wave + 1):
                    last: UInt(8) = min(left, B) - 1
                    left = left - B
                    for which in range(3):
                        # One bit is set, of the unit whose turn it is: U for q and k, then U for v.
                        unit: UInt(2 * U) = 1 << U if which == 2 else 1
                        token: UInt(8) = 0
                        share: UInt(8) = 0
                        last_share: UInt(8) = G - 1 if which == 0 else 0
                        heads: UInt(16) = (HEADS if which == 0 else KV) * (last + 1)
                        for head in range(heads):
                            word: UInt(8 * HD) = packed.get()
                            with allo.meta_for(U) as u:
                                if unit[u] == 1:
                                    asked[u].put(word)
                                if unit[U + u] == 1:
                                    given[u].put(word)
                            if token == last:
                                if share == last_share:
                                    unit = ((unit << 1) & LATER) | ((unit >> (U - 1)) & FIRST)
                                share = 0 if share == last_share else share + 1
                            token = 0 if token == last else token + 1

    return Stage(part, loops=("dealing:head",))


def planning(z: BlockSizes) -> Stage:
    """Tells the units of a layer and block where keys and values go, and what each query scans.

    A word has where the keys of a sequence begin, the place of the token's own behind it, and its mask. First
    comes the number of all scores of the block but one, then a word for each head of keys and token, then one
    for each query.
    """
    U, B, MOST, LAYERS, WHOLE, ROOM = (
        z.wide.heads, z.block.tokens, z.block.most, z.model.layers, z.encoder, z.room,
    )  # fmt: skip
    H, G, PASSES = z.per_unit, z.group, 1 + WHOLE

    @df.part()
    def part(
        count: int32, waves: int32, bases: int32[MOST], lasts: int32[MOST], masks: int32[MOST],
        score_plans: Stream[UInt(80), PLANS][U], mix_plans: Stream[UInt(80), PLANS][U],
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[bases, lasts, masks])
        def planning(base_of: int32[MOST], last_of: int32[MOST], mask_of: int32[MOST]):
            last_wave: UInt(8) = waves - 1
            for layer in range(LAYERS):
                for turn in range(PASSES):
                    first: int32 = 0
                    left: int32 = count
                    for wave in range(last_wave + 1):
                        last: UInt(8) = min(left, B) - 1
                        if WHOLE == 0 or turn == 1:
                            scored: int32 = 0
                            with allo.meta_if(WHOLE == 1):
                                scored = (last + 1) * count
                            with allo.meta_else():
                                for token in range(last + 1):
                                    scored += last_of[first + token] + 1
                            whole: UInt(80) = H * G * scored - 1
                            with allo.meta_for(U) as u:
                                score_plans[u].put(whole)
                                mix_plans[u].put(whole)
                        for scans in range(2 - WHOLE):
                            last_share: UInt(8) = G - 1 if scans == 1 else 0
                            seats: UInt(16) = H * (last_share + 1) * (last + 1)
                            row: int32 = (1 - WHOLE) * layer * (H * ROOM)
                            at: UInt(8) = 0
                            share: UInt(8) = 0
                            for seat in range(seats):
                                plan: UInt(80) = 0
                                plan[0:32] = row + base_of[first + at]
                                plan[32:48] = last_of[first + at]
                                plan[48:80] = mask_of[first + at]
                                with allo.meta_if(WHOLE == 1):
                                    if turn == 1:
                                        plan[32:48] = count - 1
                                with allo.meta_for(U) as u:
                                    score_plans[u].put(plan)
                                    mix_plans[u].put(plan)
                                if share == last_share:
                                    row = row + ROOM if at == last else row
                                    at = 0 if at == last else at + 1
                                share = 0 if share == last_share else share + 1
                        first = first + B
                        left = left - B

    loops = ("planning:seat",) if WHOLE else ("planning:token", "planning:seat")
    return Stage(part, loops=loops)


def scoring(z: BlockSizes) -> Stage:
    """One a unit: keeps the new keys, and multiplies the queries of a block with those that they scan."""
    m, U, HD, ROOM, CACHE = z.model, z.wide.heads, z.model.head_dim, z.room, z.cached
    sizes = HD, z.per_unit, z.group, ROOM, m.layers, z.block.tokens, z.encoder
    kernel = Kernel(score_block, sizes, schedule_score_block)
    SCORE, ASKED, SCORES = kernel.template, z.asked, z.scores

    @df.part()
    def part(
        count: int32, waves: int32, keys: UInt(8 * HD)[U, CACHE],
        asked: Stream[UInt(8 * HD), ASKED][U], score_plans: Stream[UInt(80), PLANS][U],
        scores: Stream[int32, SCORES][U], peaks: Stream[int32, 4][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U], args=[keys])
        def scoring(cache: UInt(8 * HD)[U, CACHE]):
            u = df.get_pid()
            score_block[*SCORE](
                asked[u], score_plans[u], count, waves, cache[u], scores[u], peaks[u]
            )

    return Stage(part, (kernel,), banks={"keys": 1})


def mixing(z: BlockSizes) -> Stage:
    """One a unit: the values weighted by softmax, of every token."""
    m, U, HD, ROOM, CACHE = z.model, z.wide.heads, z.model.head_dim, z.room, z.cached
    sizes = HD, z.per_unit, z.group, ROOM, m.layers, z.block.tokens, z.encoder
    kernel = Kernel(mix_block, sizes, schedule_mix_block)
    MIX, GIVEN, BEHIND, LAYERS = kernel.template, z.given, max(2, z.group), m.layers
    SCORES = z.scores

    @df.part()
    def part(
        count: int32, waves: int32, exponents: float32[U, LAYERS],
        values: UInt(8 * HD)[U, CACHE], given: Stream[UInt(8 * HD), GIVEN][U],
        mix_plans: Stream[UInt(80), PLANS][U],
        scores: Stream[int32, SCORES][U], peaks: Stream[int32, 4][U],
        mixed: Stream[UInt(32 * HD), BEHIND][U], totals: Stream[int32, BEHIND][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U], args=[exponents, values])
        def mixing(factors: float32[U, LAYERS], cache: UInt(8 * HD)[U, CACHE]):
            u = df.get_pid()
            mix_block[*MIX](
                given[u], mix_plans[u], scores[u], peaks[u], count, waves,
                factors[u], cache[u], mixed[u], totals[u],
            )  # fmt: skip

    return Stage(part, (kernel,), banks={"exponents": 1, "values": 1})


def collecting(z: BlockSizes) -> Stage:
    """Takes the sums of the units' heads in their order."""
    U, HD, HEADS, G = z.wide.heads, z.model.head_dim, z.model.heads, z.group
    BEHIND = max(2, G)

    @df.part()
    def part(
        count: int32, mixed: Stream[UInt(32 * HD), BEHIND][U], totals: Stream[int32, BEHIND][U],
        collected: Stream[UInt(32 * HD), 2], counted: Stream[int32, 2], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def collecting():
            unit: UInt(U) = 1
            share: UInt(8) = 0
            heads_to_come: int32 = count * (layers * HEADS)
            for head in range(heads_to_come):
                of_head: UInt(32 * HD) = 0
                total: int32 = 0
                with allo.meta_for(U) as u:
                    if unit[u] == 1:
                        of_head = mixed[u].get()
                        total = totals[u].get()
                collected.put(of_head)
                counted.put(total)
                if share == G - 1:
                    unit = (unit << 1) | (unit >> (U - 1))
                share = 0 if share == G - 1 else share + 1

    return Stage(part, loops=("collecting:head",))


def dividing(z: BlockSizes) -> Stage:
    """Divides by the sums of the weights, and quantises."""
    m, V, HD, HELD = z.model, z.wide.vector, z.model.head_dim, z.held
    kernel = Kernel(divide_block, (HD, V, m.heads, z.layers, HELD), schedule_divide_block)
    DIVIDE = kernel.template

    @df.part()
    def part(
        count: int32, attends: float32[HELD], collected: Stream[UInt(32 * HD), 2],
        counted: Stream[int32, 2], attended: Stream[UInt(8 * V), 4],
        layers: UInt(8), first_layer: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[attends])
        def dividing(factors: float32[HELD]):
            divide_block[*DIVIDE](collected, counted, factors, count, attended, layers, first_layer)

    return Stage(part, (kernel,))
