"""Unfolded processes joined by to: the same results on every target, and side by side in hardware."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import Fixed, UInt, float32, index, int8, int16, int32, uint8
from allo.schedule import Schedule
from tests.engine import engine
from tests.library.support import floats, int8s
from tests.schedule.test_links import K, M, N, late_linked, linked


def everywhere(s: Schedule, args: list[Any], expected: np.ndarray, *, result: bool = False) -> int:
    """Every element on the CPU, in csim and on both RTL engines; the cycles, equal on the two."""
    cycles = set()
    for target, simulator in (
        ("llvm", None),
        ("vhls", None),
        ("verilog", "jit"),
        ("verilog", "verilator"),
    ):
        configs = {} if simulator is None else {"simulator": simulator}
        module = s.build(target=target, configs=configs)
        given = [np.array(a) for a in args]
        got = module(*given) if result else (module(*given), given[-1])[1]
        np.testing.assert_array_equal(got, expected)
        if simulator is not None:
            cycles.add(module.cycles)
    assert len(cycles) == 1
    return cycles.pop()


def test_a_tile_of_cells_with_fifos_of_its_own():
    s = linked()
    A, B = int8s(M, K), int8s(K, N)
    args = [A, B, np.zeros((M, N), np.int32)]
    everywhere(s, args, A.astype(np.int32) @ B.astype(np.int32))


@pytest.mark.parametrize(("depth", "pipelined"), [(K - 1, False), (K, True)])
def test_the_least_depths_that_are_accepted_suffice(depth, pipelined):
    A, B = int8s(M, K), int8s(K, N)
    args = [A, B, np.zeros((M, N), np.int32)]
    everywhere(
        late_linked(depth, pipelined=pipelined), args, A.astype(np.int32) @ B.astype(np.int32)
    )


def test_the_text_has_streams_and_a_function_a_process():
    code = linked().build(target="vhls").hls_code
    assert "#pragma HLS dataflow" in code
    links = M * (N + 1) + N * (M + 1)
    assert len(re.findall(r"^  hls::stream< int8_t > [AB]_fifo_\d_\d;", code, re.M)) == links
    assert code.count("#pragma HLS stream variable=A_fifo_0_1 depth=3") == 1
    assert len(re.findall(r"^void cell_\d_\d\(", code, re.M)) == M * N
    assert re.search(r"cell_1_2\(C, 1, 2, A_fifo_1_2, B_fifo_2_1, A_fifo_1_3, B_fifo_2_2\);", code)
    assert "A_drain" not in code


def streamed(s: Schedule, rows: int, columns: int, *, partition: bool) -> Schedule:
    s.pipeline("k")
    if partition:
        for name, dim in (("A", 1), ("B", 2), ("C", 0)):
            s.partition(getattr(s, name), dim=dim)
    buf_A, buf_B = s.buffer_at(s.A, "j"), s.buffer_at(s.B, "i")
    pe = s.unfold("PE", [0, 1])
    s.to(buf_A, pe, axis=1, depth=rows + 1)
    s.to(buf_B, pe, axis=0, depth=columns + 1)
    return s


def test_gemm_in_place():
    P, Q, R = 4, 3, 9

    def gemm(A: int8[P, R], B: int8[R, Q], C: int32[P, Q]):
        for i, j in allo.grid(P, Q, name="PE"):
            for k in range(R):
                C[i, j] += A[i, k] * B[k, j]

    A, B = int8s(P, R), int8s(R, Q)
    C = np.arange(P * Q, dtype=np.int32).reshape(P, Q)
    expected = C + A.astype(np.int32) @ B.astype(np.int32)
    s = streamed(allo.customize(gemm), P, Q, partition=True)
    assert everywhere(s, [A, B, C], expected) <= R + P + Q + 6
    shared = streamed(allo.customize(gemm), P, Q, partition=False)
    everywhere(shared, [A, B, C], expected)


def test_gemm_that_returns_its_product():
    P, Q, R = 3, 2, 4

    def gemm(A: float32[P, R], B: float32[R, Q]) -> float32[P, Q]:
        C: float32[P, Q] = 0.0
        for i, j, k in allo.grid(P, Q, R):
            C[i, j] += A[i, k] * B[k, j]
        return C

    A, B = floats(P, R), floats(R, Q)
    expected = allo.customize(gemm).build()(A, B)
    np.testing.assert_allclose(expected, A @ B, rtol=1e-5)
    s = streamed(allo.customize(gemm), P, Q, partition=True)
    everywhere(s, [A, B], expected, result=True)
    code = s.build(target="vhls").hls_code
    assert re.search(r"void gemm_flow\([^)]*\) \{[^\n]*\n  #pragma HLS dataflow", code)


def test_an_eight_by_eight_product_takes_its_steps_and_the_way_across():
    def gemm(A: int8[8, 8], B: int8[8, 8], C: int32[8, 8]):
        for i, j, k in allo.grid(8, 8, 8):
            C[i, j] += A[i, k] * B[k, j]

    s = streamed(allo.customize(gemm), 8, 8, partition=True)
    module = s.build(target="verilog", configs={"simulator": "jit"})
    A, B, C = int8s(8, 8), int8s(8, 8, seed=1), np.zeros((8, 8), np.int32)
    module(A, B, C)
    np.testing.assert_array_equal(C, A.astype(int) @ B.astype(int))
    assert module.cycles <= 8 + 8 + 8 + 4


@pytest.mark.parametrize("dtype", [uint8, UInt(5), Fixed(12, 4), int16])
def test_a_row_of_processes_of_any_type(dtype):
    L = 6

    def stage(x: dtype[4, L, 2], c: dtype[3], i: index):
        for p, q in allo.grid(L, 2):
            value: dtype = x[i, p, q]
            x[i + 1, p, q] = value + c[i]

    def chain(X: dtype[L, 2], c: dtype[3], Y: dtype[L, 2]):
        links: dtype[4, L, 2]
        for p, q in allo.grid(L, 2, name="enter"):
            links[0, p, q] = X[p, q]
        for i in allo.grid(3, name="row"):
            stage(links, c, i)
        for u, v in allo.grid(L, 2, name="leave"):
            Y[u, v] = links[3, u, v] + 1

    rng = np.random.default_rng(3)
    X, c = rng.integers(0, 9, (L, 2)), rng.integers(0, 9, 3)
    kind = {"ui8": np.uint8, "ui5": np.uint8, "i16": np.int16}.get(dtype.name, np.float64)
    expected = ((X + c.sum() + 1) % (32 if dtype.name == "ui5" else 256)).astype(kind)
    X, c = X.astype(kind), c.astype(kind)
    s = allo.customize(chain)
    s.to(s.links, s.unfold("row", [0]), axis=0, depth=2)
    if kind is np.float64:
        X, c, expected = X / 16, c / 16, X / 16 + c.sum() / 16 + 1
    everywhere(s, [X, c, np.zeros((L, 2), kind)], expected)


def test_a_part_of_a_function_runs_as_a_flow():
    """What stands around the processes stays where it is; constants go along."""
    weights = np.array([2, 3], np.int32)

    def chain(X: int32[4]) -> int32:
        table: int32[2] = weights
        links: int32[3, 4]
        Y: int32[4] = 0
        for a in range(4, name="enter"):
            links[0, a] = X[a]
        for i in allo.grid(2, name="row"):
            for b in range(4):
                links[i + 1, b] = links[i, b] * table[i] + i
        for c in range(4, name="leave"):
            Y[c] = links[2, c]
        total: int32 = 0
        for d in range(4, name="sum"):
            total += Y[d]
        return total

    s = allo.customize(chain)
    s.to(s.links, s.unfold("row", [0]), axis=0, depth=1)
    X = np.arange(4, dtype=np.int32)
    for target in ("llvm", "verilog"):
        assert s.build(target=target, **engine(target))(X) == (X * 6 + 1).sum()
    assert "chain_flow(" in s.build(target="vhls").hls_code


def nests(A: int32[8, 8], D: int32[8, 8]):
    B: int32[8, 8]
    C: int32[8, 8]
    for i, j in allo.grid(8, 8, name="B"):
        B[i, j] = A[i, j] + A[i, j]
    for i, j in allo.grid(8, 8, name="C"):
        C[i, j] = B[i, j] * 3
    for i, j in allo.grid(8, 8, name="D"):
        D[i, j] = C[i, j] + 1


def test_nests_joined_by_single_fifos_run_side_by_side():
    s = allo.customize(nests)
    for band in "BCD":
        s.pipeline(s.get_loops()[band]["j"])
    apart = s.build(target="verilog", configs={"simulator": "jit"})
    s.to(s.B, "C", depth=2)
    s.to(s.C, "D", depth=2)
    A = np.random.default_rng(5).integers(-99, 99, (8, 8)).astype(np.int32)
    D = np.zeros((8, 8), np.int32)
    apart(A, D)
    assert apart.cycles >= 3 * 64
    assert everywhere(s, [A, D], A * 6 + 1) <= 64 + 8


def test_nests_that_share_another_array_run_one_after_the_other():
    def shared(A: int32[8], D: int32[8]):
        B: int32[8]
        sums: int32[8]
        for i in range(8, name="P"):
            sums[i] = A[i] + A[0]
            B[i] = A[i] * 2
        for k in range(8, name="Q"):
            D[k] = B[k] + sums[7 - k]

    s = allo.customize(shared)
    s.to(s.B, "Q", depth=3)
    A = np.arange(8, dtype=np.int32) - 3
    everywhere(s, [A, np.zeros(8, np.int32)], A * 2 + (A + A[0])[::-1])
