# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of attention with keys and values in external memory, of which a unit takes several at once."""

from collections.abc import Callable

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ...stage import Kernel, Loops, Stage
from ..stages.sizes import Sizes
from .attend import (
    keep,
    mix_ahead,
    schedule_keep,
    schedule_mix_ahead,
    schedule_score_ahead,
    score_ahead,
)


def keeping(z: Sizes) -> Stage:
    """Two a unit: keys and values of a unit come ahead of their use, from memories of their own."""
    U, HD, K = z.wide.heads, z.model.head_dim, z.wide.keys
    CACHE, AHEAD, NEW = z.cache(UInt(8 * HD)), ahead(z), max(2, z.per_unit)
    sizes = HD, z.per_unit, K, z.model.context, z.layers
    kernels = (
        Kernel(keep, sizes, schedule_keep, "keys"),
        Kernel(keep, sizes, schedule_keep, "values"),
    )
    KEYS, VALUES = (kernel.template for kernel in kernels)

    @df.part()
    def part(
        start: int32, keys: CACHE, values: CACHE,
        old_keys: Stream[UInt(8 * HD * K), AHEAD][U], new_keys: Stream[UInt(8 * HD), NEW][U],
        old_values: Stream[UInt(8 * HD * K), AHEAD][U], new_values: Stream[UInt(8 * HD), NEW][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U], args=[keys])
        def keeping_keys(cache: CACHE):
            u = df.get_pid()
            keep[*KEYS](cache[u], start, new_keys[u], old_keys[u])

        @df.kernel(mapping=[U], args=[values])
        def keeping_values(cache: CACHE):
            u = df.get_pid()
            keep[*VALUES](cache[u], start, new_values[u], old_values[u])

    return Stage(part, kernels, banks={"keys": 1, "values": 1})


def scoring(z: Sizes) -> Stage:
    """One a unit: keys come ahead of their use, and each is multiplied with all queries that share it."""
    U, HD, G, K, SCORES = z.wide.heads, z.model.head_dim, z.group, z.wide.keys, _scores(z)
    WORD, AHEAD, NEW = new_word(z), ahead(z), max(2, z.per_unit)
    own = HD, z.per_unit, G, K, z.layers, int(z.is_merged)
    kernel = Kernel(score_ahead, own, lambda s: schedule_score_ahead(s, G * K > 1))
    SCORE = kernel.template

    @df.part()
    def part(
        start: int32, asked: Stream[UInt(8 * HD), 4][U],
        old_keys: Stream[UInt(8 * HD * K), AHEAD][U], new_keys: Stream[UInt(WORD), NEW][U],
        scores: Stream[int32[G * K], SCORES][U], peaks: Stream[int32[G], 4][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U])
        def scoring():
            u = df.get_pid()
            score_ahead[*SCORE](asked[u], start, old_keys[u], new_keys[u], scores[u], peaks[u])

    return Stage(part, (kernel,), delay=_key(kernel))


def mixing(z: Sizes) -> Stage:
    """One a unit: weights of softmax, and values, which come ahead of their use, weighted for all queries."""
    U, HD, G, K, LAYERS = z.wide.heads, z.model.head_dim, z.group, z.wide.keys, z.layers
    WORD, AHEAD, NEW, SCORES = new_word(z), ahead(z), max(2, z.per_unit), _scores(z)
    MERGED = z.is_merged
    GIVEN = Stream[float32, 2][U] if MERGED else float32[U, LAYERS]
    sizes = HD, z.per_unit, G, K, LAYERS, int(MERGED)
    kernel = Kernel(mix_ahead, sizes, lambda s: schedule_mix_ahead(s, G * K > 1))
    MIX = kernel.template

    @df.part()
    def part(
        start: int32, exponents: GIVEN, given: Stream[UInt(8 * HD), 4][U],
        old_values: Stream[UInt(8 * HD * K), AHEAD][U], new_values: Stream[UInt(WORD), NEW][U],
        scores: Stream[int32[G * K], SCORES][U], peaks: Stream[int32[G], 4][U],
        mixed: Stream[UInt(32 * G * HD), 2][U], totals: Stream[UInt(32 * G), 2][U],
    ):  # fmt: skip
        with allo.meta_if(MERGED):

            @df.kernel(mapping=[U])
            def mixing():
                u = df.get_pid()
                own: float32[LAYERS]
                for layer in range(LAYERS):
                    own[layer] = exponents[u].get()
                mix_ahead[*MIX](
                    given[u], scores[u], peaks[u], start, own,
                    old_values[u], new_values[u], mixed[u], totals[u],
                )  # fmt: skip

        with allo.meta_else():

            @df.kernel(mapping=[U], args=[exponents])
            def mixing(factors: float32[U, LAYERS]):
                u = df.get_pid()
                mix_ahead[*MIX](
                    given[u], scores[u], peaks[u], start, factors[u],
                    old_values[u], new_values[u], mixed[u], totals[u],
                )  # fmt: skip

    banks = {} if MERGED else {"exponents": 1}
    return Stage(part, (kernel,), banks=banks, delay=_key(kernel))


def collecting(z: Sizes) -> Stage:
    """Takes the sums of the units' heads in their order, and hands on those of one query after the other."""
    U, HD, G, TURNS = z.wide.heads, z.model.head_dim, z.group, z.layers * z.heads

    @df.part()
    def part(
        mixed: Stream[UInt(32 * G * HD), 2][U], totals: Stream[UInt(32 * G), 2][U],
        collected: Stream[int32[HD], 2], counted: Stream[int32, 2],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def collecting():
            held: UInt(32 * G * HD) = 0
            counts: UInt(32 * G) = 0
            unit: UInt(8) = 0
            share: UInt(8) = 0
            for query in range(TURNS):
                sums: UInt(32 * G * HD) = held >> (32 * HD)
                weights: UInt(32 * G) = counts >> 32
                with allo.meta_for(U) as u:
                    if unit == u and share == 0:
                        sums = mixed[u].get()
                        weights = totals[u].get()
                held = sums
                counts = weights
                one: int32[HD]
                for o in range(HD):
                    one[o] = sums[32 * o : 32 * o + 32]
                collected.put(one)
                total: int32 = weights[0:32]
                counted.put(total)
                following: UInt(8) = 0 if unit == U - 1 else unit + 1
                unit = following if share == G - 1 else unit
                share = 0 if share == G - 1 else share + 1

    return Stage(
        part,
        loops=("collecting:query",),
        registers=("collecting:one",),
        delay=lambda loops: loops.depth("collecting_0", "query"),
    )


def ahead(z: Sizes) -> int:
    """Words of several keys that may be ahead; where channels hold the cache, their lines wait instead."""
    return 2 if z.is_merged else max(2, z.wide.cache_prefetch // z.wide.keys)


def new_word(z: Sizes) -> int:
    """Bits that are written of a head: its newest key, or the word that holds it."""
    return 8 * z.model.head_dim * (z.wide.keys if z.is_merged else 1)


def _scores(z: Sizes) -> int:
    """Words of scores of a head, all of which come before its peak."""
    return max(2, -(-z.model.context // z.wide.keys))


def _key(kernel: Kernel) -> Callable[[Loops], float]:
    """The delay of a kernel's loop over keys; with several units, each has a kernel of its own."""

    def delay(loops: Loops) -> float:
        name = kernel.name
        return loops.depth(name if name in loops else f"{name}_v0", "key")

    return delay
