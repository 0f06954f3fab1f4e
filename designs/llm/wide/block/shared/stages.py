# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of attention whose queries share a key: what each unit is told, the units, and what leaves them."""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ....stage import Kernel, Stage
from ..stages.sizes import BlockSizes
from .heads import mix_shared, schedule_mix_shared, schedule_score_shared, score_shared
from .kept import AHEAD, RUN


def finding(z: BlockSizes) -> Stage:
    """Finds the passes of a step, which are the same in all layers, from the last token on.

    One ends with a block, with the last of T tokens, and where the next token is of another sequence. Each
    token has a word: where its keys begin, its place behind that, whether a pass ends with it, and its mask.
    """
    U, B, MOST, T, H = (
        z.wide.heads, z.block.tokens, z.block.most, z.block.queries, z.per_unit,
    )  # fmt: skip
    MASK = 31 + T

    @df.part()
    def part(
        count: int32, waves: int32, bases: int32[MOST], lasts: int32[MOST], masks: int32[MOST],
        found: Stream[UInt(64 + MASK), 4], amounts: Stream[int32, 2][U], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1], args=[bases, lasts, masks])
        def finding(base_of: int32[MOST], last_of: int32[MOST], mask_of: int32[MOST]):
            of_block: UInt(8) = count - (waves - 1) * B - 1
            next_base: int32 = -1
            top: int32 = 0
            passes: int32 = 0
            for back in range(count):
                token: int32 = count - 1 - back
                base: int32 = base_of[token]
                place: int32 = last_of[token]
                lane: UInt(8) = of_block & (T - 1)
                end: UInt(1) = 0
                if of_block == B - 1 or lane == T - 1 or base != next_base:
                    end = 1
                top = place if end == 1 else top
                low: UInt(32) = mask_of[token]
                sight: UInt(MASK) = (1 << MASK) - 1
                sight[0:32] = low
                word: UInt(64 + MASK) = 0
                word[0:32] = base
                word[32:48] = place
                word[48:49] = end
                word[64 : 64 + MASK] = sight << (top - place)
                found.put(word)
                passes = passes + 1 if end == 1 else passes
                next_base = base
                of_block = B - 1 if of_block == 0 else of_block - 1
            with allo.meta_for(U) as u:
                amounts[u].put(passes * (layers * H))

    return Stage(part, loops=("finding:back",))


def planning(z: BlockSizes) -> Stage:
    """Tells what keeps keys and values where they go, and what each pass reads; and the units the passes.

    A word of a pass has how many keys come behind its first one, its row of queries, and for each of T tokens
    a mask and whether there is such a token.
    """
    U, B, MOST, ROOM, T, PLAN = (
        z.wide.heads, z.block.tokens, z.block.most, z.room, z.block.queries, z.plan,
    )  # fmt: skip
    PLANS = z.plans
    H, MASK, LOG_T = z.per_unit, 31 + T, T.bit_length() - 1
    ROWS, LANE = -(-B // T), 32 + T

    @df.part()
    def part(
        count: int32, waves: int32, found: Stream[UInt(64 + MASK), 4],
        score_plans: Stream[UInt(PLAN), PLANS][U], mix_plans: Stream[UInt(PLAN), PLANS][U],
        key_runs: Stream[UInt(RUN), AHEAD][U], value_runs: Stream[UInt(RUN), AHEAD][U],
        layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def planning():
            of: UInt(64 + MASK)[MOST]
            for back in range(count):
                of[count - 1 - back] = found.get()
            last_wave: UInt(8) = waves - 1
            for layer in range(layers):
                first: int32 = 0
                left: int32 = count
                for wave in range(last_wave + 1):
                    last: UInt(8) = min(left, B) - 1
                    scored: int32 = 0
                    for token in range(last + 1):
                        counted: UInt(64 + MASK) = of[first + token]
                        scored += counted[32:48] + 1 if counted[48] == 1 else 0
                    whole: UInt(PLAN) = H * scored - 1
                    with allo.meta_for(U) as u:
                        score_plans[u].put(whole)
                        mix_plans[u].put(whole)
                    for scans in range(2):
                        row: int32 = layer * (H * ROOM)
                        queries: UInt(16) = 0
                        at: UInt(8) = 0
                        told: UInt(PLAN) = 0
                        seats: UInt(16) = H * (last + 1)
                        for seat in range(seats):
                            one: UInt(64 + MASK) = of[first + at]
                            lane: UInt(8) = at & (T - 1)
                            ends: UInt(1) = one[48]
                            own: UInt(32) = row + one[0:32]
                            words: UInt(17) = one[32:48] + 1
                            run: UInt(RUN) = 0
                            run[0:32] = own + one[32:48] if scans == 0 else own
                            run[32:49] = words if ends == 1 else 0
                            plan: UInt(PLAN) = told
                            plan[0:16] = one[32:48]
                            plan[16:32] = queries + (at >> LOG_T)
                            sight: UInt(LANE) = (1 << MASK) + one[64 : 64 + MASK]
                            with allo.meta_for(T) as t:
                                if lane == t:
                                    plan[32 + LANE * t : 32 + LANE * (t + 1)] = sight
                            leaves: UInt(1) = 1 if scans == 1 and ends == 1 else 0
                            with allo.meta_for(U) as u:
                                key_runs[u].put(run)
                                value_runs[u].put(run)
                                if leaves == 1:
                                    score_plans[u].put(plan)
                                    mix_plans[u].put(plan)
                            told = 0 if ends == 1 else plan
                            if at == last:
                                row = row + ROOM
                                queries = queries + ROWS
                            at = 0 if at == last else at + 1
                    first = first + B
                    left = left - B

    return Stage(part, loops=("planning:back", "planning:token", "planning:seat"))


def scoring(z: BlockSizes) -> Stage:
    """One a unit: multiplies the queries of a pass with the keys that it scans."""
    U, HD, T, PLAN, PLANS = z.wide.heads, z.model.head_dim, z.block.queries, z.plan, z.plans
    sizes = HD, z.per_unit, z.group, z.layers, z.block.tokens, T, T.bit_length() - 1
    kernel = Kernel(score_shared, sizes, schedule_score_shared)
    SCORE, ASKED, SCORES, Q = kernel.template, z.asked, z.scores, z.group * T

    @df.part()
    def part(
        count: int32, waves: int32, asked: Stream[UInt(8 * HD), ASKED][U],
        score_plans: Stream[UInt(PLAN), PLANS][U], new_keys: Stream[UInt(8 * HD), AHEAD][U],
        kept_keys: Stream[UInt(8 * HD), AHEAD][U], scores: Stream[int32[Q], SCORES][U],
        peaks: Stream[int32[Q], 4][U], layers: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[U])
        def scoring():
            u = df.get_pid()
            score_shared[*SCORE](
                asked[u], score_plans[u], count, waves, new_keys[u], kept_keys[u],
                scores[u], peaks[u], layers,
            )  # fmt: skip

    return Stage(part, (kernel,))


def mixing(z: BlockSizes) -> Stage:
    """One a unit: the values weighted by softmax, of every token of a pass."""
    U, HD, T, PLAN, PLANS = z.wide.heads, z.model.head_dim, z.block.queries, z.plan, z.plans
    sizes = HD, z.per_unit, z.group, z.layers, z.held, z.block.tokens, T
    kernel = Kernel(mix_shared, sizes, schedule_mix_shared)
    MIX, GIVEN, HELD, Q, PASS = kernel.template, z.given, z.held, z.group * T, z.passed
    SCORES = z.scores

    @df.part()
    def part(
        count: int32, waves: int32, exponents: float32[U, HELD],
        given: Stream[UInt(8 * HD), GIVEN][U], new_values: Stream[UInt(8 * HD), AHEAD][U],
        kept_values: Stream[UInt(8 * HD), AHEAD][U], mix_plans: Stream[UInt(PLAN), PLANS][U],
        scores: Stream[int32[Q], SCORES][U], peaks: Stream[int32[Q], 4][U],
        passes: Stream[UInt(PASS), 2][U], layers: UInt(8), first_layer: UInt(8),
    ):  # fmt: skip
        @df.kernel(mapping=[U], args=[exponents])
        def mixing(factors: float32[U, HELD]):
            u = df.get_pid()
            mix_shared[*MIX](
                given[u], mix_plans[u], scores[u], peaks[u], count, waves, factors[u],
                new_values[u], kept_values[u], passes[u], layers, first_layer,
            )  # fmt: skip

    return Stage(part, (kernel,), banks={"exponents": 1})


def unfolding(z: BlockSizes) -> Stage:
    """One a unit: gives the sums of a pass's tokens one after the other."""
    U, HD, G, T, PASS = z.wide.heads, z.model.head_dim, z.group, z.block.queries, z.passed
    BEHIND, ONE, Q = max(2, G), 32 * (HD + 1), G * T

    @df.part()
    def part(
        amounts: Stream[int32, 2][U], passes: Stream[UInt(PASS), 2][U],
        mixed: Stream[UInt(32 * HD), BEHIND][U], totals: Stream[int32, BEHIND][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U])
        def unfolding():
            u = df.get_pid()
            amount: int32 = amounts[u].get()
            lanes: int32 = amount * Q
            held: UInt(PASS) = 0
            there: UInt(T) = 0
            of_head: UInt(8) = 0
            token: UInt(8) = 0
            for lane in range(lanes):
                if of_head == 0 and token == 0:
                    held = passes[u].get()
                    there = held[ONE * Q : ONE * Q + T]
                if there[0] == 1:
                    mixed[u].put(held[0 : 32 * HD])
                    total: int32 = held[32 * HD : ONE]
                    totals[u].put(total)
                held = held >> ONE
                if of_head == G - 1:
                    there = there >> 1
                    token = 0 if token == T - 1 else token + 1
                of_head = 0 if of_head == G - 1 else of_head + 1

    return Stage(part, loops=tuple(f"unfolding_{u}:lane" for u in range(U)))
