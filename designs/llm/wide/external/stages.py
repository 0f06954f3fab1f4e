# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages of attention with keys and values in external memory, of which a unit takes several at once."""

from collections.abc import Callable

import allo
import allo.dataflow as df
from allo.ir.types import Int, Stream, UInt, float32, int32

from ...stage import Kernel, Loops, Stage
from ..stages.linear import HOP
from ..stages.sizes import Sizes
from .attend import (
    keep,
    mix_ahead,
    schedule_keep,
    schedule_mix_ahead,
    schedule_score_ahead,
    schedule_weigh_ahead,
    score_ahead,
    score_bits,
    sum_bits,
    weigh_ahead,
    weighed_bits,
)


def keeping(z: Sizes) -> Stage:
    """Two a unit: keys and values of a unit come ahead of their use, from memories of their own."""
    U, HD, K = z.wide.heads, z.model.head_dim, z.wide.keys
    CACHE, AHEAD, NEW = z.cache(UInt(8 * HD)), ahead(z), new_ahead(z)
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
    AHEAD, NEW, SCORE = ahead(z), new_ahead(z), score_bits(HD)
    KEPT = z.kept_bits
    own = HD, z.per_unit, G, K, z.layers, SCORE, KEPT, *kept_form(z)
    kernel = Kernel(score_ahead, own, lambda s: schedule_score_ahead(s, G * K > 1))
    UNIT = kernel.template

    @df.part()
    def part(
        start: int32, asked: Stream[UInt(8 * HD), 4][U],
        old_keys: Stream[UInt(KEPT * K), AHEAD][U], new_keys: Stream[UInt(KEPT), NEW][U],
        scores: Stream[Int(SCORE)[G * K], SCORES][U], peaks: Stream[Int(SCORE)[G], 4][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U])
        def scoring():
            u = df.get_pid()
            score_ahead[*UNIT](asked[u], start, old_keys[u], new_keys[u], scores[u], peaks[u])

    return Stage(part, (kernel,), delay=_key(kernel))


def weighing(z: Sizes) -> Stage:
    """One a unit: weights of softmax.

    Where channels hold the cache, scores of a head wait in block RAM, and ``handing`` takes them from there:
    whether a peak has come then moves a word of two, and not all registers behind that memory.
    """
    U, G, K, H, LAYERS, MERGED = (
        z.wide.heads, z.group, z.wide.keys, z.per_unit, z.layers, z.is_merged,
    )  # fmt: skip
    SCORES, SCORE = _scores(z), score_bits(z.model.head_dim)
    GIVEN = Stream[float32, 2][U] if MERGED else float32[U, LAYERS]
    kernel = Kernel(weigh_ahead, (G, K, H, LAYERS, SCORE), schedule_weigh_ahead)
    WEIGH = kernel.template

    @df.part()
    def part(
        start: int32, exponents: GIVEN, scores: Stream[Int(SCORE)[G * K], SCORES][U],
        peaks: Stream[Int(SCORE)[G], 4][U], shares: Stream[UInt(8 * G * K), 2][U],
        totals: Stream[UInt(32 * G), 2][U],
    ):  # fmt: skip
        with allo.meta_if(MERGED):
            handed: Stream[Int(SCORE)[G * K], 2][U]

            @df.kernel(mapping=[U])
            def handing():
                u = df.get_pid()
                words: int32 = (start // K + 1) * (H * LAYERS)
                for word in range(words):
                    dots: Int(SCORE)[G * K] = scores[u].get()
                    handed[u].put(dots)

            @df.kernel(mapping=[U])
            def weighing():
                u = df.get_pid()
                own: float32[LAYERS]
                for layer in range(LAYERS):
                    own[layer] = exponents[u].get()
                weigh_ahead[*WEIGH](handed[u], peaks[u], start, own, shares[u], totals[u])

        with allo.meta_else():

            @df.kernel(mapping=[U], args=[exponents])
            def weighing(factors: float32[U, LAYERS]):
                u = df.get_pid()
                weigh_ahead[*WEIGH](scores[u], peaks[u], start, factors[u], shares[u], totals[u])

    banks = {} if MERGED else {"exponents": 1}
    units = range(U if MERGED else 0)
    loops = tuple(f"handing_{u}:word" for u in units)
    # A word that is no register would be a memory, of which two scores go a cycle.
    registers = tuple(f"handing_{u}:dots" for u in units)
    return Stage(part, (kernel,), loops=loops, registers=registers, banks=banks, delay=_key(kernel))


def mixing(z: Sizes) -> Stage:
    """One a unit: values, which come ahead of their use, times the weights of all queries, summed."""
    U, HD, G, K, V, LAYERS = (
        z.wide.heads, z.model.head_dim, z.group, z.wide.keys, z.wide.vector, z.layers,
    )  # fmt: skip
    AHEAD, NEW, OUT, KEPT = ahead(z), new_ahead(z), drained(z), z.kept_bits
    own = HD, z.per_unit, G, K, V, LAYERS, sum_bits(z.model.context), KEPT
    sizes = *own, *kept_form(z), weighed_bits(K)
    kernel = Kernel(mix_ahead, sizes, lambda s: schedule_mix_ahead(s, G * K > 1))
    MIX = kernel.template

    @df.part()
    def part(
        start: int32, given: Stream[UInt(8 * HD), 4][U], shares: Stream[UInt(8 * G * K), 2][U],
        old_values: Stream[UInt(KEPT * K), AHEAD][U], new_values: Stream[UInt(KEPT), NEW][U],
        mixed: Stream[UInt(32 * V), OUT][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U])
        def mixing():
            u = df.get_pid()
            mix_ahead[*MIX](given[u], shares[u], start, old_values[u], new_values[u], mixed[u])

    return Stage(part, (kernel,), delay=_key(kernel))


def collecting(z: Sizes) -> Stage:
    """Takes the sums of the units' heads in their order, and hands on those of one query after the other."""
    U, HD, G, V = z.wide.heads, z.model.head_dim, z.group, z.wide.vector
    TURNS, PIECES, PLACED = z.layers * z.per_unit, HD // V, bool(z.wide.regions)
    SPANS, SUMS, ALL = z.wide.unit_spans, 32 * V, 32 * (V + G if PLACED else V)
    FAN, OUT = len(SPANS), HOP if PLACED else drained(z)

    @df.part()
    def part(
        mixed: Stream[UInt(ALL), OUT][FAN], totals: Stream[UInt(32 * G), 2][U],
        collected: Stream[int32[HD], 2], counted: Stream[int32, 2],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def collecting():
            sums: UInt(32 * HD) = 0
            counts: UInt(32 * G) = 0
            for turn in range(TURNS):
                for unit in range(U):
                    for share in range(G):
                        for query in range(PIECES):
                            word: UInt(32 * V) = 0
                            weights: UInt(32 * G) = counts if query > 0 else counts >> 32
                            with allo.meta_for(FAN) as f:
                                with allo.meta_if(PLACED):
                                    if unit >= SPANS[f][0] and unit < SPANS[f][1]:
                                        both: UInt(ALL) = mixed[f].get()
                                        word = both[0:SUMS]
                                        if share == 0 and query == 0:
                                            weights = both[SUMS:ALL]
                                with allo.meta_else():
                                    if unit == f:
                                        word = mixed[f].get()
                                    if unit == f and share == 0 and query == 0:
                                        weights = totals[f].get()
                            counts = weights
                            above: UInt(32 * HD) = word
                            joined: UInt(32 * HD) = (sums >> (32 * V)) | (above << (32 * (HD - V)))
                            sums = joined
                            if query == PIECES - 1:
                                one: int32[HD]
                                for o in range(HD):
                                    one[o] = joined[32 * o : 32 * o + 32]
                                collected.put(one)
                                total: int32 = weights[0:32]
                                counted.put(total)

    return Stage(
        part,
        loops=("collecting:query",),
        registers=("collecting:one",),
        delay=lambda loops: loops.depth("collecting_0", "query") + HD / V - 1,
    )


def kept_form(z: Sizes) -> tuple[int, int]:
    """Bits of an element of keys and values, and how many share a step, which are all without steps."""
    return z.wide.cache_bits, z.wide.kept_group or z.model.head_dim


def drained(z: Sizes) -> int:
    """Words of V sums that a unit gives of a head, all of which may wait."""
    return max(2, z.group * z.model.head_dim // z.wide.vector)


def ahead(z: Sizes) -> int:
    """Words of several keys that may be ahead; where channels hold the cache, their lines wait instead."""
    return 2 if z.is_merged else max(2, z.wide.cache_prefetch // z.wide.keys)


def new_ahead(z: Sizes) -> int:
    """New keys, and values, of a unit that may wait: those of a layer.

    A single one is a register, where lines of the channels wait behind it.
    """
    return z.per_unit if z.is_merged else max(2, z.per_unit)


def _scores(z: Sizes) -> int:
    """Words of scores of a head, all of which come before its peak."""
    return max(2, -(-z.model.context // z.wide.keys))


def _key(kernel: Kernel) -> Callable[[Loops], float]:
    """The delay of a kernel's loop over keys; with several units, each has a kernel of its own."""

    def delay(loops: Loops) -> float:
        name = kernel.name
        return loops.depth(name if name in loops else f"{name}_v0", "key")

    return delay
