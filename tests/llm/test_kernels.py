"""Norm and attention on the CPU and as hardware, bit for bit against the reference."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo import bitexact
from allo.designs.llm.attention import (
    divide,
    mix,
    schedule_divide,
    schedule_mix,
    schedule_score,
    score,
)
from allo.designs.llm.network.reference import norm_quantize, round_clamp
from allo.designs.llm.norm import norm, schedule_norm
from allo.ir.types import Stream, UInt, float32, int8, int32

BLOCK, WIDTH, D, HEADS, HD, CTX = 3, 40, 32, 2, 16, 24
RUNS = 4


def builds(schedule):
    return schedule.build(), schedule.build(target="verilog", simulator="jit")


def test_norm_equals_the_reference_on_cpu_and_rtl():
    cpu, rtl = builds(schedule_norm(allo.customize(norm, instantiate=[D, 3, BLOCK, WIDTH])))
    rng = np.random.default_rng(0)
    for rows in range(1, RUNS):
        x, delta = rng.normal(0, 2, (2, BLOCK, D)).astype(np.float32)
        gains, shifts = rng.normal(0, 30, (2, 3, D)).astype(np.float32)
        expected = norm_quantize((x + delta)[:rows], gains[1], shifts[1])
        for build in (cpu, rtl):
            moved, small = x.copy(), np.zeros((BLOCK, WIDTH), np.int8)
            build(moved, delta, np.stack([gains, shifts]), 1, rows, small)
            assert np.array_equal(small[:rows, :D], expected)
            assert np.array_equal(moved[:rows].view(np.uint32), (x + delta)[:rows].view(np.uint32))
            assert np.array_equal(moved[rows:], x[rows:])


def expected_attention(q, k, v, factors, start, rows):
    out = np.zeros((rows, HEADS * HD), np.int32)
    for b in range(rows):
        n = start + b + 1
        scores = np.einsum("hc,hjc->hj", q[b].astype(int), k[:, :n].astype(int))
        below = (scores - scores.max(-1, keepdims=True)).astype(np.float32)
        levels = round_clamp(bitexact.exp(below * factors[0]) * np.float32(255), 0, 255)
        mixed = np.einsum("hj,hjc->hc", levels, v[:, :n].astype(int)).astype(np.float32)
        factor = factors[1] / levels.sum(-1, keepdims=True).astype(np.float32)
        out[b] = round_clamp(mixed * factor).reshape(-1)
    return out


SCORE, MIX, DIVIDE = (2, HEADS, HD, CTX, BLOCK, 1), (2, HEADS, HD, CTX), (2, HEADS, HD, BLOCK, 8, 1)
WORDS = BLOCK * HEADS * HD // 8


@df.region()
def attention(
    queries: int8[BLOCK, HEADS, HD],
    cache: int8[2, 2, HEADS, CTX, HD],
    factors: float32[2, 3],
    start: int32,
    words: UInt(64)[WORDS],
    scores_seen: int32[2 * BLOCK, HEADS, CTX],
    sums_seen: int32[2 * BLOCK, HEADS, HD],
):
    """The second layer's attention, query by query, as the accelerator has it."""
    attended: Stream[UInt(64), 16]

    @df.kernel(mapping=[1], args=[queries, cache, factors, scores_seen, sums_seen])
    def attending(
        q: int8[BLOCK, HEADS, HD],
        kept: int8[2, 2, HEADS, CTX, HD],
        factor: float32[2, 3],
        scores_out: int32[2 * BLOCK, HEADS, CTX],
        sums_out: int32[2 * BLOCK, HEADS, HD],
    ):
        scores: int32[HEADS, CTX]
        peak: int32[HEADS]
        total: int32[HEADS]
        summed: int32[HEADS, HD]
        for b in range(BLOCK):
            last: int32 = start + b
            score[*SCORE](q, kept, 1, b, last, scores, peak, scores_out)
            mix[*MIX](scores, peak, kept, factor, 1, last, total, summed)
            divide[*DIVIDE](total, summed, factor, 1, b, attended, sums_out)

    @df.kernel(mapping=[1], args=[words])
    def taking(out: UInt(64)[WORDS]):
        for w in range(WORDS):
            out[w] = attended.get()


def scheduled_attention():
    s = df.customize(attention)
    for kernel, sizes, schedule in (
        (score, SCORE, schedule_score),
        (mix, MIX, schedule_mix),
        (divide, DIVIDE, schedule_divide),
    ):
        s.compose(schedule(allo.customize(kernel, instantiate=list(sizes))))
    return s


@pytest.mark.parametrize("start", [0, 5, CTX - BLOCK])
def test_attention_equals_the_reference_on_cpu_and_rtl(start: int):
    rng = np.random.default_rng(start)
    q = rng.integers(-127, 128, (BLOCK, HEADS, HD)).astype(np.int8)
    k, v = cache = rng.integers(-127, 128, (2, 2, HEADS, CTX, HD)).astype(np.int8)
    factors = np.array([[1e-4, 0.5, 1.0], [2e-4, 0.25, 1.0]], np.float32)
    expected = expected_attention(q, k[1], v[1], factors[1], start, BLOCK)
    seen = []
    for build in builds(scheduled_attention()):
        words = np.zeros(WORDS, np.uint64)
        scores = np.zeros((2 * BLOCK, HEADS, CTX), np.int32)
        sums = np.zeros((2 * BLOCK, HEADS, HD), np.int32)
        build(q, cache, factors, start, words, scores, sums)
        exact = np.einsum("bhc,hjc->bhj", q.astype(int), k[1].astype(int))
        for b in range(BLOCK):
            n = start + b + 1
            assert np.array_equal(scores[BLOCK + b, :, :n], exact[b, :, :n])
        assert np.array_equal(words.view(np.int8).reshape(BLOCK, HEADS * HD), expected)
        seen.append((words, scores, sums))
    for on_cpu, on_rtl in zip(*seen, strict=True):
        assert np.array_equal(on_cpu, on_rtl)


def test_attention_reads_one_key_a_cycle():
    report = scheduled_attention().build(target="verilog").report
    functions = {function.name: function for function in report.functions}
    assert [functions[name].loops[0].ii for name in ("score", "mix")] == [1, 1]
