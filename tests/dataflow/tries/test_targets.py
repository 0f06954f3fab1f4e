"""``try_put``, ``try_get``, ``empty`` and ``full`` on every target.

What an asking process finds depends on the target. So the tests compare what must hold of every run: that
nothing is lost, made twice or out of order, and what the processes themselves count.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.compatibility.everywhere import EVERYWHERE, build, results
from tests.dataflow.tries import programs
from tests.dataflow.tries.programs import MERGES, N

A = np.arange(1, N + 1, dtype=np.int32)
B = np.arange(101, 101 + N, dtype=np.int32)


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("name", MERGES)
def test_a_merge_loses_nothing_and_keeps_the_order_of_each_producer(name, target, tmp_path):
    *_, merged = results(MERGES[name], target, tmp_path, A, B, np.zeros(2 * N, np.int32))
    lanes = [A[: N // 2], A[N // 2 :], 10 * B[: N // 2], 10 * B[N // 2 :]]
    if name != "many":
        lanes = [A, 10 * B]
    for lane in lanes:
        np.testing.assert_array_equal(merged[np.isin(merged, lane)], lane)
    assert sorted(merged) == sorted(np.concatenate(lanes))


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_run_gives_the_same_again(target, tmp_path):
    module = build(programs.arbiter, target, tmp_path)
    first, second = np.zeros(2 * N, np.int32), np.zeros(2 * N, np.int32)
    module(A, B, first)
    module(A, B, second)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_client_gives_up_after_its_own_count_of_tries(target, tmp_path):
    _, answers, late = results(
        programs.timeouts, target, tmp_path, A, np.full(N, 7, np.int32), np.zeros(1, np.int32)
    )
    np.testing.assert_array_equal(answers, np.where(A % 3 != 0, A * A, 0))
    np.testing.assert_array_equal(late, [np.sum(A % 3 == 0)])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_what_is_put_and_what_is_dropped_is_all(target, tmp_path):
    sent = np.arange(1, 4 * N + 1, dtype=np.int32)
    _, received, counts = results(
        programs.drops, target, tmp_path, sent, np.zeros(4 * N, np.int32), np.zeros(3, np.int32)
    )
    put, dropped, taken = counts
    assert put + dropped == 4 * N and taken == put
    values = received[:put]
    assert np.all(np.diff(values) > 0) and np.all(np.isin(values, sent))
    assert not received[put:].any()
    if target == "jit":
        assert dropped > 0


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("limit", [0, 1, 7])
def test_a_worker_stops_when_it_is_told(limit, target, tmp_path):

    found, count = np.zeros(N, np.int32), np.zeros(1, np.int32)
    build(programs.stopped, target, tmp_path)(limit, found, count)
    squares = np.arange(N) ** 2
    np.testing.assert_array_equal(found, np.where(np.arange(N) < limit, squares, 0))
    np.testing.assert_array_equal(count, [limit])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_work_goes_where_there_is_room(target, tmp_path):
    _, sums, shares = results(
        programs.balanced, target, tmp_path, A, np.zeros(2, np.int32), np.zeros(1, np.int32)
    )
    assert sums.sum() == A.sum()
    assert 2 <= shares[0] <= N
