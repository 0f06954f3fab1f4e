"""Two primitives, each legal, are legal together: no access leaves its array, no answer changes."""

import random

import numpy as np
import pytest

import allo
from allo.ir.types import int32
from allo.schedule import Schedule

from .pairs import (
    KERNELS,
    Application,
    applications,
    apply,
    arguments,
    column_sums,
    compiled,
    guarded,
    interpreted,
    schedule_of,
)

SAMPLE = 10


def _dump(s: Schedule) -> str:
    with s.context:
        return s.module.operation.get_asm(enable_debug_info=True)


def _firsts(kernel) -> list[tuple[Application, Schedule]]:
    """Every first primitive that applies, with the schedule after it."""
    found = []
    for call in applications(schedule_of(kernel)):
        s = schedule_of(kernel)
        if apply(s, call):
            found.append((call, s))
    return found


def _check(kernel, calls, s: Schedule, want) -> None:
    for got, expected in zip(interpreted(s, arguments(kernel)), want, strict=True):
        np.testing.assert_array_equal(got, expected, f"{kernel.__name__} after {calls}")


def _check_pairs(kernel, rng: random.Random | None) -> tuple[int, int]:
    """Run pairs, all or a sample; how many applied and how many were refused."""
    want = interpreted(schedule_of(kernel), arguments(kernel))
    firsts = _firsts(kernel)
    applied = refused = 0
    for first, after in firsts if rng is None else rng.choices(firsts, k=SAMPLE):
        text = _dump(after)
        _check(kernel, [first], Schedule.from_text(text, kernel.__name__), want)
        seconds = list(applications(after))
        for second in seconds if rng is None else rng.sample(seconds, 2):
            s = Schedule.from_text(text, kernel.__name__)
            if not apply(s, second):
                refused += 1
                continue
            _check(kernel, [first, second], s, want)
            applied += 1
    return applied, refused


@pytest.mark.parametrize("kernel", KERNELS)
def test_some_ordered_pairs(kernel):
    applied, refused = _check_pairs(kernel, random.Random(11))
    assert applied + refused == 2 * SAMPLE and applied > 0


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_ordered_pairs(kernel):
    applied, refused = _check_pairs(kernel, None)
    assert applied > 300 and refused > 0


TARGETS = ({}, {"target": "vhls"}, {"target": "verilog", "simulator": "jit"})


def _window_then_buffer(s):
    s.reuse_at(s.A, "i")
    s.buffer_at(s.T, "i")


def _buffer_under_a_condition(s):
    s.buffer_at(s.C, "i")


def _parts_under_a_condition(s):
    s.sink("k")
    s.interleave("k", 2)


def _terms_under_a_condition(s):
    s.sink("k")
    s.unroll("k")
    s.rebalance("k")


@pytest.mark.parametrize("options", TARGETS, ids=str)
@pytest.mark.parametrize(
    ("kernel", "schedule"),
    [
        (column_sums, _window_then_buffer),
        (guarded, _buffer_under_a_condition),
        (guarded, _parts_under_a_condition),
        (guarded, _terms_under_a_condition),
    ],
)
def test_nothing_is_written_around_an_array(kernel, schedule, options):
    want = interpreted(schedule_of(kernel), arguments(kernel))
    s = schedule_of(kernel)
    schedule(s)
    for results in (interpreted(s, arguments(kernel)), compiled(s, arguments(kernel), **options)):
        for got, expected in zip(results, want, strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_machine_code_of_some_pairs(kernel):
    rng = random.Random(3)
    want = interpreted(schedule_of(kernel), arguments(kernel))
    buffering = [(c, s) for c, s in _firsts(kernel) if c[0] not in ("pipeline", "unroll")]
    for first, after in rng.sample(buffering, 2):
        text = _dump(after)
        seconds = list(applications(after))
        rng.shuffle(seconds)
        schedules = (Schedule.from_text(text, kernel.__name__) for _ in seconds)
        second, s = next(
            (call, s) for call, s in zip(seconds, schedules, strict=True) if apply(s, call)
        )
        for got, expected in zip(compiled(s, arguments(kernel)), want, strict=True):
            np.testing.assert_array_equal(got, expected, f"{first}, {second}")


def by_data(A: int32[6, 5], n: int32[6], C: int32[4, 5]):
    for i in range(6):
        if n[i] > 0:
            for k in allo.reduction(3):
                for j in range(5):
                    C[i - 1, j] += A[i, j] * (k + 1)


def test_a_condition_on_data_keeps_the_copies_inside():
    rng = np.random.default_rng(2)
    A, C = (rng.integers(0, 9, shape).astype(np.int32) for shape in ((6, 5), (4, 5)))
    n = np.array([0, 1, 0, 1, 1, 0], np.int32)
    want = C.copy()
    for i in np.flatnonzero(n):
        want[i - 1] += A[i] * 6
    s = allo.customize(by_data)
    s.buffer_at(s.C, "i")
    text = str(s.module)
    assert text.index("scf.if") < text.index("j_init") < text.index("j_back")
    for options in TARGETS:
        got = compiled(s, [A, n, C], **options)
        np.testing.assert_array_equal(got[2], want, str(options))
