"""Banks that take turns: accesses at remainders of the counters share ports, and meet at their distances."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.graph.nodes import Access, Array, Body, Lin, Node
from allo.backend.rtl.graph.regions import Level
from allo.backend.rtl.plan.orders.dependence import Distances
from allo.backend.rtl.plan.orders.equal import may_equal
from allo.backend.rtl.plan.turns.remainders import rests_apart, rests_apart_across
from allo.backend.rtl.plan.turns.rotation import Rotation
from allo.ir.types import int32
from tests.rtl.test_gemm import loop_called


def pipelined(
    kernel: Callable[..., Any], loop: str, banks: dict[str, int], *shape: int, unroll: str = ""
) -> Any:
    """The hardware of a kernel with two arrays, which are cyclic in their first dimension.

    All elements were compared with the CPU's.
    """
    s = allo.customize(kernel)
    if unroll:
        s.unroll(unroll)
    for name, count in banks.items():
        s.partition(getattr(s, name), Partition.Cyclic, 1, count)
    s.pipeline(loop)
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-1000, 1000, shape).astype(np.int32) for _ in range(2)]
    expected = [a.copy() for a in arrays]
    s.build()(*expected)
    module = s.build(target="verilog", simulator="jit")
    module(*arrays)
    for one, other in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert module.cycles == module.report.cycles
    return module


def interval(module: Any, loop: str) -> int:
    return int(loop_called(module.report, loop).ii)


def test_rows_of_a_line_buffer_take_turns():
    def rows(A: int32[32, 16], B: int32[32, 16]):
        buf: int32[4, 16] = 0
        for t in range(32):
            for j in range(15):
                left = buf[(t + 1) % 4, j] + 2 * buf[(t + 2) % 4, j] + buf[(t + 3) % 4, j]
                right = buf[(t - 1) % 4, j + 1] + buf[(t - 2) % 4, j + 1] + buf[(t + 1) % 4, j + 1]
                B[t, j] = left + right
                buf[t % 4, j] = A[t, j]

    assert pipelined(rows, "j", {"buf": 4}, 32, 16).cycles < 32 * 16 + 24


def test_a_mask_is_a_remainder():
    def masks(A: int32[32, 16], B: int32[32, 16]):
        buf: int32[4, 16] = 0
        for t in range(32):
            for j in range(16):
                B[t, j] = buf[(t + 1) & 3, j] + buf[(t + 2) & 3, j] + buf[(t + 3) & 3, j]
                buf[t & 3, j] = A[t, j]

    assert interval(pipelined(masks, "j", {"buf": 4}, 32, 16), "S_t_0.t*j") == 1


def test_unrolled_copies_are_in_banks_of_their_own():
    def copies(A: int32[64], B: int32[64]):
        buf: int32[8] = 0
        for t in range(16):
            for u in range(4):
                B[t * 4 + u] = buf[(t * 4 + u) % 8]
                buf[(t * 4 + u + 4) % 8] = A[t * 4 + u]

    banks = {"buf": 8, "A": 4, "B": 4}
    assert interval(pipelined(copies, "t", banks, 64, unroll="u"), "S_t_0.t") == 1


def test_neighbours_are_in_other_banks():
    def neighbours(A: int32[32], B: int32[32]):
        for t in range(28):
            B[t] = A[t] + A[t + 1] + A[t + 2] + A[t + 3]

    assert interval(pipelined(neighbours, "t", {"A": 4}, 32), "S_t_0.t") == 1
    # Of three banks the first and the last are one, so that three accesses want a port of it.
    assert interval(pipelined(neighbours, "t", {"A": 2}, 32), "S_t_0.t") == 1
    assert interval(pipelined(neighbours, "t", {"A": 1}, 32), "S_t_0.t") == 2


def test_a_late_store_finds_a_cycle_in_which_other_iterations_are_in_other_banks():
    """No port is left for it: it shares one with loads of later iterations."""

    def late(A: int32[64], B: int32[64]):
        for t in range(50):
            A[t] = (A[t + 1] + A[t + 2] + A[t + 3] + A[t + 5]) ^ B[t]

    assert interval(pipelined(late, "t", {"A": 4}, 64), "S_t_0.t") == 1


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_a_word_is_met_again_after_as_many_iterations(ahead: int):
    """What is stored at t % 4 is read 4 - ahead iterations later."""

    def recurrence(A: int32[64], B: int32[64]):
        buf: int32[4] = 0
        for t in range(60):
            buf[t % 4] = buf[(t + ahead) % 4] // 3 + A[t]
            B[t] = buf[t % 4]

    module = pipelined(recurrence, "t", {}, 64)
    one = loop_called(module.report, "S_t_0.t")
    assert f"distance {4 - ahead}" in one.limit


# --- against enumeration ----------------------------------------------------------------


class Space:
    """Two or three loops, and remainders of sums of their counters."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.body = Body(1)
        self.count = itertools.count(1)
        self.levels: list[Level] = []
        self.steps: list[int] = []
        for _ in range(self.pick.randint(1, 3)):
            trips, step = self.pick.randint(2, 5), self.pick.choice((1, 1, 2, 3))
            iv = Node(next(self.count), "iv", 8, low=0, high=(trips - 1) * step)
            self.levels.append(Level("l", iv, trips, step, counts=False))
            self.steps.append(step)
        self.fixed = Node(next(self.count), "iv", 8, low=0, high=9)

    def rest(self, depth: int = 1) -> Lin:
        """A remainder of a sum; sometimes of one with a remainder in it."""
        inner, divisor = self.sum(depth - 1), self.pick.randint(2, 6)
        node = Node(
            next(self.count),
            "lin",
            4,
            body=self.body,
            low=0,
            high=divisor - 1,
            rest_of=(inner, divisor),
        )
        return Lin(self.pick.randint(0, 2), ((node, self.pick.choice((1, 1, 2))),))

    def sum(self, depth: int) -> Lin:
        """A sum of counters, and perhaps of remainders."""
        nodes = [(level.iv, self.pick.choice((0, 1, 1, 2, 3, -1))) for level in self.levels]
        terms = [*nodes, (self.fixed, self.pick.choice((0, 0, 1)))]
        if depth and self.pick.random() < 0.3:
            terms.append((self.rest(depth).terms[0][0], 1))
        kept = sorted(((n, k) for n, k in terms if k), key=lambda term: term[0].number)
        return Lin(self.pick.randint(-6, 6), tuple(kept))

    def iterations(self) -> list[dict[int, int]]:
        """The counters of every iteration, in order."""
        ranges = [
            range(0, (level.trips or 0) * step, step)
            for level, step in zip(self.levels, self.steps, strict=True)
        ]
        numbers = [level.iv.number for level in self.levels]
        return [dict(zip(numbers, values, strict=True)) for values in itertools.product(*ranges)]

    def value(self, expression: Lin, env: dict[int, int]) -> int:
        """What an expression is in an iteration."""
        total = expression.const
        for node, factor in expression.terms:
            if node.rest_of is not None:
                total += factor * (self.value(node.rest_of[0], env) % node.rest_of[1])
            else:
                total += factor * env[node.number]
        return total


def access(space: Space, place: Lin, array: Any) -> Node:
    found = Access(array, (place,), None, places=(place,))
    return Node(next(space.count), "load", 8, body=space.body, access=found)


@pytest.mark.parametrize("seed", range(150))
def test_what_is_apart_never_meets(seed: int):
    """No answer says that subscripts differ where they are equal in some iteration."""
    space = Space(seed)
    x, y = space.rest(2), space.rest(2)
    if seed % 3 == 0:
        y = Lin(y.const + 1, x.terms)
    array = object.__new__(Array)
    first, second = access(space, x, array), access(space, y, array)
    rotation = Rotation(space.body, space.levels, regular=True)
    distances = Distances(space.body, space.levels)
    found = distances.least(first, second)
    moving = {level.iv.number for level in space.levels}
    least: int | None = None
    rows = space.iterations()
    for fixed in (0, 1, 5):
        envs = [{**row, space.fixed.number: fixed} for row in rows]
        ours, theirs = ([space.value(e, env) for env in envs] for e in (x, y))
        for n, m in itertools.product(range(len(rows)), repeat=2):
            if ours[n] != theirs[m]:
                continue
            if n == m:
                assert not rests_apart(x, y)
                assert may_equal(x, y)
            if m > n:
                least = m - n if least is None else min(least, m - n)
            assert not rests_apart_across(
                x, y, lambda node: node.number in moving or bool(node.body)
            )
            assert not rotation.apart(first, second, m - n)
    if least is not None:
        assert found is not None and found <= least


def test_the_answers_are_exact_where_a_single_counter_turns():
    space = Space(0)
    space.levels, space.steps = space.levels[:1], [1]
    space.levels[0].trips, space.levels[0].step = 40, 1
    t, array = space.levels[0].iv, object.__new__(Array)

    def turning(ahead: int, divisor: int) -> Node:
        inner = Lin(ahead, ((t, 1),))
        node = Node(next(space.count), "lin", 4, body=space.body, rest_of=(inner, divisor))
        return access(space, Lin(0, ((node, 1),)), array)

    rotation = Rotation(space.body, space.levels, regular=True)
    distances = Distances(space.body, space.levels)
    for divisor, a, b in itertools.product((2, 3, 4, 7), range(-3, 8), range(-3, 8)):
        first, second = turning(a, divisor), turning(b, divisor)
        assert distances.least(first, second) == ((a - b) % divisor or divisor)
        for later in range(-9, 10):
            assert rotation.apart(first, second, later) == ((b + later - a) % divisor != 0)
