# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of attention: heads are packed and dealt to units, which score and mix; sums are divided."""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ...stage import Kernel, Loops, Stage
from ..families.rotary import rotate, schedule_rotate
from ..heads import (
    divide,
    mix,
    pack,
    schedule_divide,
    schedule_mix,
    schedule_pack,
    schedule_score,
    score,
)
from .linear import CALL
from .sizes import Sizes


def turning(z: Sizes) -> Stage:
    """Turns queries and keys by the angles of their position, in a family with rotary positions."""
    V, hd = z.wide.vector, z.model.head_dim
    kernel = Kernel(rotate, ((z.heads + z.kv_heads) * hd, z.qkv, hd, V, z.layers), schedule_rotate)
    ROTATE = kernel.template

    @df.part()
    def part(
        projected: Stream[float32[V], 4], angles: Stream[UInt(32 * V), 4],
        turned: Stream[float32[V], 4],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def turning():
            rotate[*ROTATE](projected, angles, turned)

    return Stage(part, (kernel,), delay=lambda loops: loops.depth("rotate", "out") + CALL)


def packing(z: Sizes) -> Stage:
    """Quantises q, k and v, and joins them to words of a head."""
    V, HD = z.wide.vector, z.model.head_dim
    kernel = Kernel(pack, (z.qkv, HD, V, z.steps * z.layers), schedule_pack)
    PACK = kernel.template

    @df.part()
    def part(projected: Stream[float32[V], 4], packed: Stream[UInt(8 * HD), 4]):
        @df.kernel(mapping=[1])
        def packing():
            pack[*PACK](projected, packed)

    return Stage(part, (kernel,), delay=lambda loops: loops.depth("pack", "out"))


def dealing(z: Sizes) -> Stage:
    """Gives every unit the queries, keys and values of its heads."""
    U, HD, HEADS, KV, G, TURNS = (
        z.wide.heads, z.model.head_dim, z.heads, z.kv_heads, z.group, z.steps * z.layers,
    )  # fmt: skip
    PLACED, SPANS = bool(z.wide.regions), z.wide.unit_spans
    FAN = len(SPANS)

    @df.part()
    def part(
        packed: Stream[UInt(8 * HD), 4], asked: Stream[UInt(8 * HD), 4][FAN],
        given: Stream[UInt(8 * HD), 4][FAN],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def dealing():
            for layer in range(TURNS):
                for which in range(3):
                    unit: UInt(8) = 0
                    region: UInt(2) = 0
                    share: UInt(8) = 0
                    count: int32 = HEADS if which == 0 else KV
                    last: UInt(8) = G - 1 if which == 0 else 0
                    for head in range(count):
                        word: UInt(8 * HD) = packed.get()
                        with allo.meta_for(FAN) as f:
                            with allo.meta_if(PLACED):
                                if region == f:
                                    if which == 2:
                                        given[f].put(word)
                                    else:
                                        asked[f].put(word)
                            with allo.meta_else():
                                if unit == f:
                                    if which == 2:
                                        given[f].put(word)
                                    else:
                                        asked[f].put(word)
                        following: UInt(8) = 0 if unit == U - 1 else unit + 1
                        unit = following if share == last else unit
                        with allo.meta_if(PLACED):
                            region = 0 if unit < SPANS[0][1] else 1 if unit < SPANS[1][1] else 2
                        share = 0 if share == last else share + 1

    def delay(loops: Loops) -> float:
        return loops.depth("dealing_0", "head") + CALL

    return Stage(part, loops=("dealing:head",), delay=delay)


def scoring(z: Sizes) -> Stage:
    """One a unit: keeps the new keys, and multiplies the queries with all keys."""
    U, HD, CTX = z.wide.heads, z.model.head_dim, z.model.context
    ALONE, DEV, S, ROUNDS = z.place
    KEYS = z.cache(UInt(8 * HD))
    kernel = Kernel(score, (HD, z.per_unit, z.group, CTX, z.layers), schedule_score)
    SCORE = kernel.template

    @df.part()
    def part(
        start: int32, keys: KEYS, asked: Stream[UInt(8 * HD), 4][U], scores: Stream[int32, CTX][U],
        peaks: Stream[int32, 4][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U], args=[keys])
        def scoring(cache: KEYS):
            u = df.get_pid()
            for turn in range(ROUNDS):
                with allo.meta_if(ALONE):
                    score[*SCORE](asked[u], start, cache[u], scores[u], peaks[u])
                with allo.meta_else():  # noqa: SIM117
                    with allo.meta_for(S) as s:
                        score[*SCORE](asked[u], start + turn, cache[DEV, u, s], scores[u], peaks[u])

    return Stage(part, (kernel,), banks={"keys": z.bank}, delay=lambda loops: _key(loops, kernel))


def mixing(z: Sizes) -> Stage:
    """One a unit: weights of softmax, and the values weighted by them."""
    U, HD, CTX, BEHIND = z.wide.heads, z.model.head_dim, z.model.context, max(2, z.group)
    ALONE, DEV, S, ROUNDS = z.place
    VALUES, FACTORS = z.cache(UInt(8 * HD)), z.of_device(float32, U, z.layers)
    kernel = Kernel(mix, (HD, z.per_unit, z.group, CTX, z.layers), schedule_mix)
    MIX = kernel.template

    @df.part()
    def part(
        start: int32, exponents: FACTORS, values: VALUES, given: Stream[UInt(8 * HD), 4][U],
        scores: Stream[int32, CTX][U], peaks: Stream[int32, 4][U],
        mixed: Stream[int32[HD], BEHIND][U], totals: Stream[int32, BEHIND][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U], args=[exponents, values])
        def mixing(factors: FACTORS, cache: VALUES):
            u = df.get_pid()
            for turn in range(ROUNDS):
                with allo.meta_if(ALONE):
                    mix[*MIX](
                        given[u], scores[u], peaks[u], start,
                        factors[u], cache[u], mixed[u], totals[u],
                    )  # fmt: skip
                with allo.meta_else():  # noqa: SIM117
                    with allo.meta_for(S) as s:
                        mix[*MIX](
                            given[u], scores[u], peaks[u], start + turn,
                            factors[DEV, u], cache[DEV, u, s], mixed[u], totals[u],
                        )  # fmt: skip

    banks = {"exponents": z.bank, "values": z.bank}
    return Stage(part, (kernel,), banks=banks, delay=lambda loops: _key(loops, kernel))


def _key(loops: Loops, kernel: Kernel) -> float:
    """The kernel's loop over keys; with several units, each has a kernel of its own."""
    name = kernel.name
    return loops.depth(name if name in loops else f"{name}_v0", "key")


def collecting(z: Sizes) -> Stage:
    """Takes the sums of the units' heads in their order."""
    U, HD, G = z.wide.heads, z.model.head_dim, z.group
    TURNS, BEHIND = z.steps * z.layers * z.heads, max(2, z.group)

    @df.part()
    def part(
        mixed: Stream[int32[HD], BEHIND][U], totals: Stream[int32, BEHIND][U],
        collected: Stream[int32[HD], 2], counted: Stream[int32, 2],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def collecting():
            for turn in range(TURNS // (U * G)):
                with allo.meta_for(U) as u:  # noqa: SIM117
                    with allo.meta_for(G):
                        collected.put(mixed[u].get())
                        counted.put(totals[u].get())

    # The first head of a turn is handed on as soon as it is there.
    return Stage(part, delay=lambda loops: loops.depth("collecting_0", "turn") / (U * G))


def dividing(z: Sizes) -> Stage:
    """Divides by the sums of the weights, and quantises."""
    V, HD, STEPS = z.wide.vector, z.model.head_dim, z.steps
    ALONE, DEV, _, _ = z.place
    LAYERS, MERGED, FACTORS = z.layers, z.is_merged, z.of_device(float32, z.layers)
    GIVEN = Stream[float32, 2] if MERGED else FACTORS
    kernel = Kernel(divide, (HD, V, z.heads, z.layers), schedule_divide)
    DIVIDE = kernel.template

    @df.part()
    def part(
        attends: GIVEN, collected: Stream[int32[HD], 2], counted: Stream[int32, 2],
        attended: Stream[UInt(8 * V), 4],
    ):  # fmt: skip
        with allo.meta_if(MERGED):

            @df.kernel(mapping=[1])
            def dividing():
                own: float32[LAYERS]
                for layer in range(LAYERS):
                    own[layer] = attends.get()
                divide[*DIVIDE](collected, counted, own, attended)

        with allo.meta_else():

            @df.kernel(mapping=[1], args=[attends])
            def dividing(factors: FACTORS):
                for step in range(STEPS):
                    with allo.meta_if(ALONE):
                        divide[*DIVIDE](collected, counted, factors, attended)
                    with allo.meta_else():
                        divide[*DIVIDE](collected, counted, factors[DEV], attended)

    banks = {} if ALONE else {"attends": 1}
    return Stage(part, (kernel,), banks=banks, delay=lambda loops: loops.depth("divide", "out"))
