"""Products that several kernels make together: K split along a chain or a tree, rows and columns split."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import DataflowError
from allo.ir.types import ConstExpr, Stream, float32, int8, int16, int32
from tests.compatibility.flows.support import check_region

M, N, K, P = 4, 6, 8, 2


def numbers(*shape: int, seed: int = 0, dtype=np.int16) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).integers(-100, 100, shape).astype(dtype)


@df.region()
def chained(A: int16[M, K], B: int16[K, N], C: int32[M, N]):
    sums: Stream[int32, 4][P - 1]

    @df.kernel(mapping=[P], args=[A, B, C])
    def part(a: int16[M, K], b: int16[K, N], c: int32[M, N]):
        p = df.get_pid()
        T: ConstExpr[int32] = K // P
        for i, j in allo.grid(M, N):
            acc: int32 = 0
            with allo.meta_if(p > 0):
                acc = sums[p - 1].get()
            for k in range(p * T, (p + 1) * T):
                acc += a[i, k] * b[k, j]
            with allo.meta_if(p < P - 1):
                sums[p].put(acc)
            with allo.meta_else():
                c[i, j] = acc


def test_k_is_split_along_a_chain(tmp_path):
    A, B = numbers(M, K), numbers(K, N, seed=1)
    check_region(chained, [A, B], A.astype(np.int32) @ B, tmp_path, verilator=True)


@df.region()
def by_blocks(A: float32[M, K], B: float32[K, N], C: float32[M, N]):
    partial: Stream[float32[M, N], 2][P]

    @df.kernel(mapping=[P], args=[A, B])
    def multiply(a: float32[M, K], b: float32[K, N]):
        p = df.get_pid()
        T: ConstExpr[int32] = K // P
        part: float32[M, N] = 0
        for i, j in allo.grid(M, N):
            for k in range(T):
                part[i, j] += a[i, p * T + k] * b[p * T + k, j]
        partial[p].put(part)

    @df.kernel(mapping=[1], args=[C])
    def combine(c: float32[M, N]):
        left: float32[M, N] = partial[0].get()
        right: float32[M, N] = partial[1].get()
        c[:, :] = allo.add(left, right)


def test_blocks_of_partial_sums_are_added(tmp_path):
    A, B = numbers(M, K).astype(np.float32) / 8, numbers(K, N).astype(np.float32) / 16
    check_region(by_blocks, [A, B], A @ B, tmp_path)


@df.region()
def tree(A: int8[M, K], B: int8[K, N], C: int32[M, N]):
    leaves: Stream[int32, 2][4]
    nodes: Stream[int32, 2][2]

    @df.kernel(mapping=[4], args=[A, B])
    def leaf(a: int8[M, K], b: int8[K, N]):
        p = df.get_pid()
        for i, j in allo.grid(M, N):
            acc: int32 = 0
            for k in range(2 * p, 2 * p + 2):
                acc += a[i, k] * b[k, j]
            leaves[p].put(acc)

    @df.kernel(mapping=[2])
    def node():
        p = df.get_pid()
        for _ in range(M * N):
            both: int32 = leaves[2 * p].get() + leaves[2 * p + 1].get()
            nodes[p].put(both)

    @df.kernel(mapping=[1], args=[C])
    def root(c: int32[M, N]):
        for i, j in allo.grid(M, N):
            c[i, j] = nodes[0].get() + nodes[1].get()


def test_k_is_split_over_a_tree(tmp_path):
    A, B = numbers(M, K, dtype=np.int8), numbers(K, N, dtype=np.int8)
    check_region(tree, [A, B], A.astype(np.int32) @ B, tmp_path)


@df.region()
def tiled(A: int16[M, K], B: int16[K, N], C: int32[M, N]):
    rows: Stream[int16, 4][2, 3]
    columns: Stream[int16, 4][2, 3]

    @df.kernel(mapping=[2], args=[A])
    def load_rows(a: int16[M, K]):
        p = df.get_pid()
        for i, k in allo.grid(M // 2, K):
            with allo.meta_for(3) as q:
                rows[p, q].put(a[p * (M // 2) + i, k])

    @df.kernel(mapping=[3], args=[B])
    def load_columns(b: int16[K, N]):
        q = df.get_pid()
        for k, j in allo.grid(K, N // 3):
            with allo.meta_for(2) as p:
                columns[p, q].put(b[k, q * (N // 3) + j])

    @df.kernel(mapping=[2, 3], args=[C])
    def tile(c: int32[M, N]):
        p, q = df.get_pid()
        own: int16[K, N // 3]
        for k, j in allo.grid(K, N // 3):
            own[k, j] = columns[p, q].get()
        for i in range(M // 2):
            row: int32[N // 3] = 0
            for k in range(K):
                a: int16 = rows[p, q].get()
                for j in range(N // 3):
                    row[j] += a * own[k, j]
            for j in range(N // 3):
                c[p * (M // 2) + i, q * (N // 3) + j] = row[j]


def test_rows_and_columns_are_split_over_tiles(tmp_path):
    A, B = numbers(M, K), numbers(K, N, seed=1)
    s = df.customize(tiled)
    for p in range(2):
        for q in range(3):
            loops = s.get_loops(f"tile_{p}_{q}")
            for _, band in loops:
                names = [name for name, _ in band]
                s.pipeline(band[names[-1]])
    check_region(tiled, [A, B], A.astype(np.int32) @ B, tmp_path)
    check_region(tiled, [A, B], A.astype(np.int32) @ B, tmp_path / "b", schedule=s)


def test_a_partial_sum_for_two_kernels_is_refused():
    @df.region()
    def top(A: int16[M, K], C: int32[2, M]):
        sums: Stream[int32, 4]

        @df.kernel(mapping=[1], args=[A])
        def add(a: int16[M, K]):
            for i in range(M):
                acc: int32 = 0
                for k in range(K):
                    acc += a[i, k]
                sums.put(acc)

        @df.kernel(mapping=[2], args=[C])
        def store(c: int32[2, M]):
            p = df.get_pid()
            for i in range(M):
                c[p, i] = sums.get()

    with pytest.raises(DataflowError, match=r"sums.* store_0.* store_1"):
        df.build(top, target="simulator")
