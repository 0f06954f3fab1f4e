"""Designs that the model does not know: pipelines around loops, calls and scalars."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

import allo
from allo.explore.apply import Step, plain_steps
from allo.explore.beyond.hoist import COPIES, hoisted, steps_of_loops
from allo.explore.beyond.tries import try_hoisted
from allo.explore.budget import Asked, Built
from allo.explore.model.kernel import WHILE, Kernel
from allo.explore.model.read import read_kernel
from allo.explore.model.rows import Limits
from allo.explore.solve import Choice
from allo.ir.types import int32
from allo.schedule import Schedule

N, ROWS = 24, 20


def rotate(x: int32[6], a: int32, b: int32):
    x[a] += x[b] * 3
    x[b] ^= x[a]


def mixed(key: int32[6], out: int32[N, 6]):
    for n in range(N):
        x: int32[6]
        for i in range(6):
            x[i] = key[i] + n
        for _turn in range(2):
            for c in range(3):
                rotate(x, c, c + 3)
        for o in range(6):
            out[n, o] = x[o]


def long(A: int32[40, 3000], B: int32[40]):
    for i in range(40):
        s: int32 = 0
        for k in range(3000):
            s ^= A[i, k]
        B[i] = s


def test_a_body_of_loops_and_calls_is_one_pipeline() -> None:
    found = allo.autoschedule(mixed, seconds=10.0, cache=False, timer=time.process_time)
    assert found.trace.cycles < 2 * N < 10 * N < found.trace.plain
    assert "equal" in found.trace.checked
    hardware = found.build(target="verilog", simulator="jit")
    key = np.random.default_rng(1).integers(-99, 99, 6).astype(np.int32)
    ours, wanted = (np.zeros((N, 6), np.int32) for _ in range(2))
    hardware(key.copy(), ours)
    allo.customize(mixed).build()(key.copy(), wanted)
    np.testing.assert_array_equal(ours, wanted)
    assert hardware.cycles == found.trace.cycles


def trees(x: int32[ROWS, 8], out: int32[ROWS]):
    for row in range(ROWS):
        part: int32[8]
        for k in range(8):
            part[k] = x[row, k] * 3
        with allo.meta_for(3) as level:
            for to in range(4 >> level):
                part[to] ^= part[to + (4 >> level)]
        for _last in range(1):
            out[row] = part[0]


def test_a_loop_around_many_loops_is_one_pipeline_beside_their_balance() -> None:
    found = allo.autoschedule(trees, seconds=10.0, cache=False, timer=time.process_time)
    assert "no other balance" in found.trace.ended
    assert found.trace.cycles < 2 * ROWS
    x = np.random.default_rng(2).integers(-99, 99, (ROWS, 8)).astype(np.int32)
    out = np.zeros(ROWS, np.int32)
    hardware = found.build(target="verilog", simulator="jit")
    hardware(x, out)
    np.testing.assert_array_equal(out, np.bitwise_xor.reduce(x * 3, axis=1))
    assert hardware.cycles == found.trace.cycles


def test_loops_with_too_many_copies_stay_outside() -> None:
    kernel = read_kernel(allo.customize(long))
    for loops in hoisted(kernel):
        assert not steps_of_loops(kernel, loops)
    assert COPIES < 3000


@dataclass
class Late:
    """A search half of whose time is over."""

    given: Schedule
    kernel: Kernel
    asked: Asked
    good: list[Built] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    elapsed: float = 5.0
    built: int = 0

    def keep(
        self, steps: list[Step], choice: Choice | None, made: Schedule, most: float | None = None
    ) -> Built | None:
        assert most is not None and 0 < most <= 5.0
        self.built += 1
        return None


def test_a_network_gets_them_in_the_time_that_is_left() -> None:
    given = allo.customize(mixed)
    limits = Limits(64, None, None)
    asked = Asked("xcup", 200.0, limits, "cycles", 10.0, False, None, {})
    late = Late(given, read_kernel(given), asked)
    try_hoisted(late)
    assert late.built == 0
    try_hoisted(late, 1.0)
    assert late.built > 0


def test_a_pipeline_that_is_too_large_takes_more_cycles() -> None:
    kernel = read_kernel(allo.customize(mixed))
    first = steps_of_loops(kernel, next(hoisted(kernel)), 4)
    assert ("pipeline", (("initiation_interval", 4),)) in [(s.primitive, s.options) for s in first]


def waits(a: int32[8], b: int32[8]):
    for i in range(8):
        x: int32 = a[i]
        while x > 9:
            x = x - 9
        a[i] = x
    for j in range(8):
        b[j] = a[j] + 1


def test_a_loop_around_a_while_loop_is_left_and_the_others_are_pipelined() -> None:
    kernel = read_kernel(allo.customize(waits))
    assert kernel.nests[0].obstacle == WHILE
    assert [step.nest for step in plain_steps(kernel)] == [1]
    assert all(
        step.nest != 0 for loops in hoisted(kernel) for step in steps_of_loops(kernel, loops)
    )
