"""Python kernels as hardware: every element equal to the CPU build, on both engines."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.dialects.diagnostics import SimulationError
from allo.ir.types import UInt, float32, int8, int16, int32, uint8

ENGINES = ("verilator", "jit")


def gemm(A: float32[12, 10], B: float32[10, 16]) -> float32[12, 16]:
    C: float32[12, 16] = 0.0
    for i, j in allo.grid(12, 16):
        for k in allo.reduction(10):
            C[i, j] += A[i, k] * B[k, j]
    return C


def mixed(A: int8[7, 9], n: UInt(5), B: int16[7, 9]) -> int32:
    total: int32 = 0
    for i, j in allo.grid(7, 9):
        if A[i, j] > n:
            B[i, j] = A[i, j] * 3 - n
            total += B[i, j]
    return total


def search(A: uint8[32], key: uint8) -> int32:
    at: int32 = 0
    while at < 32 and A[at] != key:
        at += 1
    return at


def wide(A: UInt(100)[6], B: UInt(100)[6]):
    for i in range(6):
        B[i] = A[i] + 1


def spin(A: int32[4]):
    x: int32 = 0
    while A[0] >= 0:
        x += 1
        A[1] = x


def special_floats(rng, shape):
    bits = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    values = bits.view(np.float32).copy()
    some = rng.random(shape)
    values[some < 0.1] = -0.0
    values[(some >= 0.1) & (some < 0.2)] = np.float32(1e-40)
    values[(some >= 0.2) & (some < 0.25)] = np.inf
    return values


@pytest.fixture(scope="module")
def scheduled_gemm():
    s = allo.customize(gemm)
    s.reorder("k", "j")
    s.buffer_at(s.C, axis="i")
    s.pipeline("j")
    return s


def test_gemm_bit_for_bit(scheduled_gemm):
    cpu = scheduled_gemm.build()
    mod = scheduled_gemm.build(target="verilog")
    rng = np.random.default_rng(2)
    for trial in range(20):
        if trial % 2:
            a, b = special_floats(rng, (12, 10)), special_floats(rng, (10, 16))
        else:
            a = rng.standard_normal((12, 10)).astype(np.float32)
            b = rng.standard_normal((10, 16)).astype(np.float32)
        expected = cpu(a, b)
        for engine in ENGINES:
            found = mod(a, b, simulator=engine)
            nan = np.isnan(expected)
            np.testing.assert_array_equal(np.isnan(found), nan)
            np.testing.assert_array_equal(
                found.view(np.uint32)[~nan], expected.view(np.uint32)[~nan]
            )
            assert mod.cycles == mod.report.cycles == mod.report.measured_cycles


@pytest.mark.parametrize("engine", ENGINES)
def test_gemm_does_not_depend_on_what_registers_hold_first(scheduled_gemm, engine):
    rng = np.random.default_rng(12)
    a = rng.standard_normal((12, 10)).astype(np.float32)
    b = rng.standard_normal((10, 16)).astype(np.float32)
    mod = scheduled_gemm.build(target="verilog", simulator=engine, randomize=1)
    expected = scheduled_gemm.build()(a, b)
    for seed in (1, 2):
        tried = mod.variant(randomize=seed)
        np.testing.assert_array_equal(tried(a, b).view(np.uint32), expected.view(np.uint32))
        assert tried.cycles == mod.report.cycles


@pytest.mark.parametrize("engine", ENGINES)
def test_scalars_arrays_and_branches(engine):
    s = allo.customize(mixed)
    cpu, mod = s.build(), s.build(target="verilog", simulator=engine)
    rng = np.random.default_rng(8)
    for _ in range(5):
        a = rng.integers(-128, 128, (7, 9)).astype(np.int8)
        b = rng.integers(-(1 << 15), 1 << 15, (7, 9)).astype(np.int16)
        n, same = int(rng.integers(32)), b.copy()
        assert mod(a, n, b) == cpu(a, n, same)
        np.testing.assert_array_equal(b, same)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_of_unknown_length(engine):
    mod = allo.customize(search).build(target="verilog", simulator=engine)
    assert mod.report.cycles is None
    rng = np.random.default_rng(3)
    lengths = set()
    for key in (5, 200, 255):
        a = rng.permutation(32).astype(np.uint8)
        found = np.flatnonzero(a == key)
        assert mod(a, key) == (found[0] if found.size else 32)
        lengths.add(mod.cycles)
    assert len(lengths) > 1


@pytest.mark.parametrize("engine", ENGINES)
def test_words_above_64_bits(engine):
    s = allo.customize(wide)
    cpu, mod = s.build(), s.build(target="verilog", simulator=engine)
    values = np.array([0, (1 << 64) - 1, (1 << 100) - 1, 5 << 90, 1 << 63, 12345], object)
    a, b, c = values.copy(), np.zeros(6, object), np.zeros(6, object)
    mod(a, b)
    cpu(a, c)
    assert b.tolist() == c.tolist() == [(v + 1) % (1 << 100) for v in values]


def test_a_run_that_hangs_shows_its_registers():
    mod = allo.customize(spin).build(target="verilog", simulator="jit", max_cycles=5000)
    with pytest.raises(SimulationError, match="spin was not done after 5000 cycles") as caught:
        mod(np.zeros(4, np.int32))
    assert " x = 4998" in str(caught.value)
