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


def scoring(z: Sizes) -> Stage:
    """One a unit: keys come ahead of their use, and each is multiplied with all queries that share it."""
    U, HD, G, K = z.wide.heads, z.model.head_dim, z.group, z.wide.keys
    KEYS, AHEAD, NEW, SCORES = z.cache(UInt(8 * HD)), _ahead(z), max(2, z.per_unit), _scores(z)
    keeping = _keeping(z, "keys")
    own = HD, z.per_unit, G, K, z.layers
    kernel = Kernel(score_ahead, own, lambda s: schedule_score_ahead(s, G * K > 1))
    KEEP, SCORE = keeping.template, kernel.template

    @df.part()
    def part(
        start: int32, keys: KEYS, asked: Stream[UInt(8 * HD), 4][U],
        scores: Stream[int32[G * K], SCORES][U], peaks: Stream[int32[G], 4][U],
    ):  # fmt: skip
        old_keys: Stream[UInt(8 * HD * K), AHEAD][U]
        new_keys: Stream[UInt(8 * HD), NEW][U]

        @df.kernel(mapping=[U], args=[keys])
        def keeping_keys(cache: KEYS):
            u = df.get_pid()
            keep[*KEEP](cache[u], start, new_keys[u], old_keys[u])

        @df.kernel(mapping=[U])
        def scoring():
            u = df.get_pid()
            score_ahead[*SCORE](asked[u], start, old_keys[u], new_keys[u], scores[u], peaks[u])

    delay = _key(kernel)
    return Stage(part, (keeping, kernel), banks={"keys": 1}, delay=delay)


def mixing(z: Sizes) -> Stage:
    """One a unit: weights of softmax, and values, which come ahead of their use, weighted for all queries."""
    U, HD, G, K, LAYERS = z.wide.heads, z.model.head_dim, z.group, z.wide.keys, z.layers
    VALUES, AHEAD, NEW, SCORES = z.cache(UInt(8 * HD)), _ahead(z), max(2, z.per_unit), _scores(z)
    keeping = _keeping(z, "values")
    own = HD, z.per_unit, G, K, LAYERS
    kernel = Kernel(mix_ahead, own, lambda s: schedule_mix_ahead(s, G * K > 1))
    KEEP, MIX = keeping.template, kernel.template

    @df.part()
    def part(
        start: int32, exponents: float32[U, LAYERS], values: VALUES, given: Stream[UInt(8 * HD), 4][U],
        scores: Stream[int32[G * K], SCORES][U], peaks: Stream[int32[G], 4][U],
        mixed: Stream[UInt(32 * G * HD), 2][U], totals: Stream[UInt(32 * G), 2][U],
    ):  # fmt: skip
        old_values: Stream[UInt(8 * HD * K), AHEAD][U]
        new_values: Stream[UInt(8 * HD), NEW][U]

        @df.kernel(mapping=[U], args=[values])
        def keeping_values(cache: VALUES):
            u = df.get_pid()
            keep[*KEEP](cache[u], start, new_values[u], old_values[u])

        @df.kernel(mapping=[U], args=[exponents])
        def mixing(factors: float32[U, LAYERS]):
            u = df.get_pid()
            mix_ahead[*MIX](
                given[u], scores[u], peaks[u], start, factors[u],
                old_values[u], new_values[u], mixed[u], totals[u],
            )  # fmt: skip

    banks = {"exponents": 1, "values": 1}
    return Stage(part, (keeping, kernel), banks=banks, delay=_key(kernel))


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


def _keeping(z: Sizes, what: str) -> Kernel:
    """What reads keys or values ahead, and writes the new ones."""
    sizes = z.model.head_dim, z.per_unit, z.wide.keys, z.model.context, z.layers
    return Kernel(keep, sizes, schedule_keep, what)


def _ahead(z: Sizes) -> int:
    """Words of several keys that may be ahead."""
    return max(2, z.wide.cache_prefetch // z.wide.keys)


def _scores(z: Sizes) -> int:
    """Words of scores of a head, all of which come before its peak."""
    return max(2, -(-z.model.context // z.wide.keys))


def _key(kernel: Kernel) -> Callable[[Loops], float]:
    """The delay of a kernel's loop over keys; with several units, each has a kernel of its own."""

    def delay(loops: Loops) -> float:
        name = kernel.name
        return loops.depth(name if name in loops else f"{name}_v0", "key")

    return delay
