"""Norm and attention on the CPU and as hardware, bit for bit against the reference."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo import bitexact
from allo.designs.llm.attention import attend
from allo.designs.llm.kernels_schedule import schedule_attend, schedule_norm
from allo.designs.llm.network.reference import norm_quantize, round_clamp
from allo.designs.llm.norm import norm

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
            build(moved, delta, gains, shifts, 1, rows, small)
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


@pytest.mark.parametrize("start", [0, 5, CTX - BLOCK])
def test_attention_equals_the_reference_on_cpu_and_rtl(start: int):
    s = allo.customize(attend, instantiate=[2, HEADS, HD, CTX, BLOCK, WIDTH, 1])
    rng = np.random.default_rng(start)
    q = rng.integers(-127, 128, (BLOCK, HEADS, HD)).astype(np.int8)
    k, v = rng.integers(-127, 128, (2, 2, HEADS, CTX, HD)).astype(np.int8)
    factors = np.array([[1e-4, 0.5, 1.0], [2e-4, 0.25, 1.0]], np.float32)
    expected = expected_attention(q, k[1], v[1], factors[1], start, BLOCK)
    seen = []
    for build in builds(schedule_attend(s)):
        small = np.zeros((BLOCK, WIDTH), np.int8)
        scores = np.zeros((2 * BLOCK, HEADS, CTX), np.int32)
        sums = np.zeros((2 * BLOCK, HEADS, HD), np.int32)
        build(q, k, v, factors, 1, start, BLOCK, small, scores, sums)
        exact = np.einsum("bhc,hjc->bhj", q.astype(int), k[1].astype(int))
        for b in range(BLOCK):
            n = start + b + 1
            assert np.array_equal(scores[BLOCK + b, :, :n], exact[b, :, :n])
        assert np.array_equal(small[:, : HEADS * HD], expected)
        seen.append((small, scores, sums))
    for on_cpu, on_rtl in zip(*seen, strict=True):
        assert np.array_equal(on_cpu, on_rtl)


def test_attention_reads_one_key_a_cycle():
    s = schedule_attend(allo.customize(attend, instantiate=[2, HEADS, HD, CTX, BLOCK, WIDTH, 0]))
    report = s.build(target="verilog").report
    loops = {loop.name.split(".")[-1]: loop for loop in report.functions[-1].loops[0].children}
    assert {name: loops[name].ii for name in ("score", "mix")} == {"score": 1, "mix": 1}
