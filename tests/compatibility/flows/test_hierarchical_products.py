"""Regions of regions: products whose parts are networks of their own."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import AlloError
from allo.ir.types import ConstExpr, Stream, int8, int16, int32
from tests.compatibility.flows.support import check_region

M, N, K = 4, 4, 6


def numbers(*shape: int, seed: int = 0, dtype=np.int16) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).integers(-100, 100, shape).astype(dtype)


@df.region()
def chain[P, First, Rows](a: int16[M, K], b: int16[K, N], c: int32[M, N]):
    """Rows of the product from ``First`` on, with K split over P kernels."""
    sums: Stream[int32, 2][P]

    @df.kernel(mapping=[P], args=[a, b, c])
    def part(x: int16[M, K], y: int16[K, N], z: int32[M, N]):
        p = df.get_pid()
        T: ConstExpr[int32] = K // P
        for i, j in allo.grid(Rows, N):
            acc: int32 = 0
            with allo.meta_if(p > 0):
                acc = sums[p - 1].get()
            for k in range(p * T, (p + 1) * T):
                acc += x[First + i, k] * y[k, j]
            with allo.meta_if(p < P - 1):
                sums[p].put(acc)
            with allo.meta_else():
                z[First + i, j] = acc


@df.region()
def halves(A: int16[M, K], B: int16[K, N], C: int32[M, N]):
    @df.kernel(mapping=[2], args=[A, B, C])
    def half(a: int16[M, K], b: int16[K, N], c: int32[M, N]):
        h = df.get_pid()
        with allo.meta_if(h == 0):
            chain[2, 0, 3](a, b, c)
        with allo.meta_else():
            chain[3, 3, 1](a, b, c)


def test_two_parts_with_chains_of_other_lengths(tmp_path):
    A, B = numbers(M, K), numbers(K, N, seed=1)
    check_region(halves, [A, B], A.astype(np.int32) @ B, tmp_path, verilator=True)


@df.region()
def cells[I, J](a: int8[M, K], b: int8[K, N], c: int32[M, N]):
    """Tile (I, J) of 2 × 2 results: a systolic array of its own."""
    right: Stream[int8, 2][2, 3]
    down: Stream[int8, 2][3, 2]

    @df.kernel(mapping=[3, 3], args=[a, b, c])
    def cell(x: int8[M, K], y: int8[K, N], z: int32[M, N]):
        i, j = df.get_pid()
        with allo.meta_if(i == 2 and j == 2):
            pass
        with allo.meta_elif(j == 2):
            for k in range(K):
                right[i, 0].put(x[2 * I + i, k])
        with allo.meta_elif(i == 2):
            for k in range(K):
                down[0, j].put(y[k, 2 * J + j])
        with allo.meta_else():
            acc: int32 = 0
            for k in range(K):
                u: int8 = right[i, j].get()
                v: int8 = down[i, j].get()
                acc += u * v
                with allo.meta_if(j < 1):
                    right[i, j + 1].put(u)
                with allo.meta_if(i < 1):
                    down[i + 1, j].put(v)
            z[2 * I + i, 2 * J + j] = acc


@df.region()
def grid(A: int8[M, K], B: int8[K, N], C: int32[M, N]):
    @df.kernel(mapping=[2, 2], args=[A, B, C])
    def tile(a: int8[M, K], b: int8[K, N], c: int32[M, N]):
        i, j = df.get_pid()
        cells[i, j](a, b, c)


def test_an_array_of_arrays_of_cells(tmp_path):
    A, B = numbers(M, K, dtype=np.int8), numbers(K, N, dtype=np.int8)
    check_region(grid, [A, B], A.astype(np.int32) @ B, tmp_path)


@df.region()
def products(A: int16[M, K], B: int16[K, N], D: int16[N, N], E: int32[M, N]):
    """Two levels in sequence: a region makes A · B, whose rows a stream takes to the next product."""
    rows: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A, B])
    def first(a: int16[M, K], b: int16[K, N]):
        c: int32[M, N]
        chain[3, 0, M](a, b, c)
        for i, j in allo.grid(M, N):
            rows.put(c[i, j])

    @df.kernel(mapping=[1], args=[D, E])
    def second(d: int16[N, N], e: int32[M, N]):
        for i in range(M):
            row: int32[N]
            for j in range(N):
                row[j] = rows.get()
            for j in range(N):
                acc: int32 = 0
                for k in range(N):
                    acc += row[k] * d[k, j]
                e[i, j] = acc


def test_a_region_inside_a_kernel_that_streams_on(tmp_path):
    A, B, D = numbers(M, K), numbers(K, N, seed=1), numbers(N, N, seed=2)
    check_region(products, [A, B, D], (A.astype(np.int32) @ B) @ D, tmp_path)


@df.region()
def leaf[First, Width](a: int16[M, K], b: int16[K, N], c: int32[M, N]):
    @df.kernel(mapping=[Width], args=[a, b, c])
    def column(x: int16[M, K], y: int16[K, N], z: int32[M, N]):
        j = df.get_pid()
        for i in range(M):
            acc: int32 = 0
            for k in range(K):
                acc += x[i, k] * y[k, First + j]
            z[i, First + j] = acc


@df.region()
def middle[First](a: int16[M, K], b: int16[K, N], c: int32[M, N]):
    @df.kernel(mapping=[2], args=[a, b, c])
    def pair(x: int16[M, K], y: int16[K, N], z: int32[M, N]):
        h = df.get_pid()
        leaf[First + h, 1](x, y, z)


@df.region()
def three_levels(A: int16[M, K], B: int16[K, N], C: int32[M, N]):
    @df.kernel(mapping=[1], args=[A, B, C])
    def left(a: int16[M, K], b: int16[K, N], c: int32[M, N]):
        middle[0](a, b, c)

    @df.kernel(mapping=[1], args=[A, B, C])
    def right(a: int16[M, K], b: int16[K, N], c: int32[M, N]):
        leaf[2, 2](a, b, c)


def test_three_levels_of_regions(tmp_path):
    A, B = numbers(M, K), numbers(K, N, seed=1)
    check_region(three_levels, [A, B], A.astype(np.int32) @ B, tmp_path)


def test_an_inner_region_outside_a_kernel_is_refused():
    @df.region()
    def top(A: int16[M, K], B: int16[K, N], C: int32[M, N]):
        chain[2, 0, M](A, B, C)

    with pytest.raises(AlloError, match="region") as raised:
        df.build(top, target="simulator")
    assert "kernel" in str(raised.value)
