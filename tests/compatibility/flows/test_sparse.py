"""Sparse matrix (CSR) times vector as processes: fetch, gather, multiply, sum up by rows."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import DeadlockError
from allo.ir.types import Stream, float32, index, int16, int32
from tests.compatibility.flows.support import check_region
from tests.engine import engine

ROWS, COLUMNS, ENTRIES = 6, 8, 16


def matrix(seed: int, lengths: list[int]) -> tuple[np.ndarray, ...]:
    """Values, columns and row bounds of a matrix with rows of these lengths, and the dense one."""
    rng = np.random.default_rng(seed)
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = np.concatenate([np.sort(rng.permutation(COLUMNS)[:n]) for n in lengths])
    values = rng.integers(-1000, 1000, ENTRIES).astype(np.int16)
    dense = np.zeros((ROWS, COLUMNS), np.int64)
    dense[np.repeat(np.arange(ROWS), lengths), columns] = values
    return values, columns.astype(np.int32), bounds, dense


LENGTHS = [[3, 0, 5, 1, 7, 0], [0, 0, 8, 8, 0, 0], [2, 3, 3, 3, 3, 2]]


@df.region()
def by_rows(
    values: int16[ENTRIES],
    columns: int32[ENTRIES],
    bounds: int32[ROWS + 1],
    x: int16[COLUMNS],
    y: int32[ROWS],
):
    entries: Stream[int16, 4]
    places: Stream[int32, 4]
    lengths: Stream[int32, 2]
    to_sum: Stream[int32, 2]
    products: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[bounds])
    def read_rows(b: int32[ROWS + 1]):
        for r in range(ROWS):
            n: int32 = b[r + 1] - b[r]
            lengths.put(n)
            to_sum.put(n)

    @df.kernel(mapping=[1], args=[values, columns])
    def read_entries(v: int16[ENTRIES], c: int32[ENTRIES]):
        for e in range(ENTRIES):
            entries.put(v[e])
            places.put(c[e])

    @df.kernel(mapping=[1], args=[x])
    def multiply(vector: int16[COLUMNS]):
        own: int16[COLUMNS]
        for k in range(COLUMNS):
            own[k] = vector[k]
        for _ in range(ROWS):
            n: int32 = lengths.get()
            for _e in range(n):
                c: index = places.get()
                product: int32 = entries.get() * own[c]
                products.put(product)

    @df.kernel(mapping=[1], args=[y])
    def sum_up(out: int32[ROWS]):
        for r in range(ROWS):
            n: int32 = to_sum.get()
            total: int32 = 0
            for _e in range(n):
                total += products.get()
            out[r] = total


@pytest.mark.parametrize("lengths", LENGTHS)
def test_rows_of_any_length(lengths, tmp_path):
    values, columns, bounds, dense = matrix(1, lengths)
    x = np.random.default_rng(2).integers(-1000, 1000, COLUMNS).astype(np.int16)
    expected = (dense @ x).astype(np.int32)
    verilator = lengths is LENGTHS[0]
    check_region(by_rows, [values, columns, bounds, x], expected, tmp_path, verilator=verilator)


@df.region()
def by_lanes(
    values: int16[ENTRIES],
    columns: int32[ENTRIES],
    bounds: int32[ROWS + 1],
    x: int16[COLUMNS],
    y: int32[ROWS],
):
    """Rows are dealt to two lanes, and their sums are collected in order."""
    sums: Stream[int32, 4][2]

    @df.kernel(mapping=[2], args=[values, columns, bounds, x])
    def lane(v: int16[ENTRIES], c: int32[ENTRIES], b: int32[ROWS + 1], vector: int16[COLUMNS]):
        p = df.get_pid()
        for n in range(ROWS // 2):
            total: int32 = 0
            r: index = 2 * n + p
            for e in range(b[r], b[r + 1]):
                total += v[e] * vector[c[e]]
            sums[p].put(total)

    @df.kernel(mapping=[1], args=[y])
    def collect(out: int32[ROWS]):
        for n in range(ROWS // 2):
            with allo.meta_for(2) as p:
                out[2 * n + p] = sums[p].get()


@pytest.mark.parametrize("lengths", LENGTHS[:2])
def test_rows_dealt_to_lanes(lengths, tmp_path):
    values, columns, bounds, dense = matrix(3, lengths)
    x = np.random.default_rng(4).integers(-1000, 1000, COLUMNS).astype(np.int16)
    check_region(by_lanes, [values, columns, bounds, x], (dense @ x).astype(np.int32), tmp_path)


def spmv(
    values: float32[ENTRIES], columns: int32[ENTRIES], bounds: int32[ROWS + 1], x: float32[COLUMNS]
) -> float32[ROWS]:
    gathered: float32[ENTRIES]
    products: float32[ENTRIES]
    y: float32[ROWS] = 0
    for e in range(ENTRIES, name="gather"):
        gathered[e] = x[columns[e]]
    for e in range(ENTRIES, name="multiply"):
        products[e] = values[e] * gathered[e]
    for r in range(ROWS, name="rows"):
        for e in range(bounds[r], bounds[r + 1]):
            y[r] += products[e]
    return y


def test_nests_of_one_kernel_as_processes():
    values, columns, bounds, dense = matrix(5, LENGTHS[0])
    x = np.random.default_rng(6).integers(-8, 8, COLUMNS).astype(np.float32)
    s = allo.customize(spmv)
    s.pipeline(s.get_loops()["gather"]["e"])
    s.pipeline(s.get_loops()["multiply"]["e"])
    s.to(s.gathered, "multiply", depth=2)
    s.dataflow("spmv")
    for target in ("llvm", "vhls", "verilog"):
        found = s.build(target=target, **engine(target))(
            values.astype(np.float32), columns, bounds, x
        )
        np.testing.assert_array_equal(found, (dense @ x).astype(np.float32), err_msg=target)


def test_bounds_that_promise_more_entries_than_there_are_end_in_a_deadlock(tmp_path):
    values, columns, bounds, _ = matrix(1, LENGTHS[0])
    bounds[-1] += 1
    for target in ("simulator", "verilog"):
        module = df.build(by_rows, target=target, **engine(target))
        with pytest.raises(DeadlockError, match="multiply_0"):
            module(values, columns, bounds, np.ones(COLUMNS, np.int16), np.zeros(ROWS, np.int32))
