"""Data-dependent control, subscripts, calls, state and streams; and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import allo
import allo.dataflow as df
from allo.equivalence import compare
from allo.errors import BoundaryError, SignatureMismatchError, StepLimitError, UndecidableError
from allo.ir.types import Stateful, Stream, float32, index, int8, int32, uint8
from allo.schedule import Schedule


def clip(A: float32[6]) -> float32[6]:
    B: float32[6] = 0
    for i in range(6):
        if A[i] > 0.0:
            B[i] = A[i]
        else:
            B[i] = A[i] * 0.5
    return B


def clip_by_choice(A: float32[6]) -> float32[6]:
    B: float32[6] = 0
    for i in range(6):
        B[i] = A[i] if A[i] > 0.0 else A[i] * 0.5
    return B


def clip_otherwise(A: float32[6]) -> float32[6]:
    B: float32[6] = 0
    for i in range(6):
        B[i] = A[i] if A[i] >= 0.0 else A[i] * 0.5
    return B


def test_a_branch_on_data_becomes_a_choice():
    plain = allo.customize(clip)
    assert allo.verify(plain, allo.customize(clip_by_choice))
    outcome = compare(plain, allo.customize(clip_otherwise))
    assert outcome.differing == 6 and " if cmpf" in outcome.message


def histogram(A: uint8[5]) -> int32[256]:
    H: int32[256] = 0
    for i in range(5):
        H[A[i]] += 1
    return H


def histogram_twice(A: uint8[5]) -> int32[256]:
    H: int32[256] = 0
    for i in range(5):
        H[A[i]] += 2
    return H


def test_symbolic_subscripts_are_followed():
    s = allo.customize(histogram)
    s.unroll("i")
    assert allo.verify(allo.customize(histogram), s)
    assert compare(allo.customize(histogram), allo.customize(histogram_twice)).differing == 256


def nested(A: int32[4], B: int32[4]) -> int32[4]:
    C: int32[4] = 0
    for i in range(4):
        if A[i] > 1:
            C[i] = 5
            if B[i] > 2:
                C[i] = C[i] + A[i]
    return C


def nested_as_one(A: int32[4], B: int32[4]) -> int32[4]:
    C: int32[4] = 0
    for i in range(4):
        if A[i] > 1:
            C[i] = 5 + A[i] if B[i] > 2 else 5
    return C


def test_writes_in_branches_are_undone_and_merged():
    assert allo.verify(allo.customize(nested), allo.customize(nested_as_one))


def counts(A: int32[4]) -> int32[4]:
    C: int32[4] = 0
    state: int32[4] @ Stateful = 0
    for i in range(4):
        state[i] += A[i]
        C[i] = state[i]
    return C


def counts_slowly(A: int32[4]) -> int32[4]:
    C: int32[4] = 0
    state: int32[4] @ Stateful = 0
    for i in range(4):
        C[i] = state[i] + A[i]
    return C


def test_state_is_an_input_and_an_output():
    plain = allo.customize(counts)
    assert allo.verify(plain, allo.customize(counts))
    outcome = compare(plain, allo.customize(counts_slowly))
    assert outcome.differing == 4 and "state" in outcome.message


@df.region()
def pipe(A: int32[8], B: int32[8]):
    link: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def produce(a: int32[8]):
        for i in range(8):
            value: int32 = a[i] + 1
            link.put(value)

    @df.kernel(mapping=[1], args=[B])
    def consume(b: int32[8]):
        for i in range(8):
            b[i] = link.get() * 2


def straight(A: int32[8], B: int32[8]):
    for i in range(8):
        B[i] = 2 * A[i] + 2


def test_a_dataflow_region_equals_the_straight_program():
    assert allo.verify(df.customize(pipe), allo.customize(straight))


@df.region()
def ring(A: int32[8], B: int32[8]):
    there: Stream[int32, 2]
    back: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[B])
    def asks(b: int32[8]):
        for i in range(8):
            there.put(i)
            b[i] = back.get() + 1

    @df.kernel(mapping=[1], args=[A])
    def answers(a: int32[8]):
        for i in range(8):
            k: int32 = there.get()
            value: int32 = a[k] * 2
            back.put(value)


def unring(A: int32[8], B: int32[8]):
    for i in range(8):
        B[i] = A[i] + A[i] + 1


@df.region()
def stuck(A: int32[8], B: int32[8]):
    link: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def short(a: int32[8]):
        for i in range(7):
            link.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def waits(b: int32[8]):
        for i in range(8):
            b[i] = link.get()


def test_processes_that_wait_for_each_other_are_followed():
    assert allo.verify(df.customize(ring), allo.customize(unring))
    assert compare(df.customize(ring), allo.customize(straight)).differing == 8


def test_a_get_that_waits_for_ever_is_refused_at_its_line():
    s = df.customize(stuck)
    with pytest.raises(UndecidableError) as caught:
        allo.verify(s, s)
    assert "This get from link waits for ever" in str(caught.value)
    assert "b[i] = link.get()" in str(caught.value)


# --- what cannot be followed ---------------------------------------------------------------


def runs_n(A: int32[8], n: index) -> int32[8]:
    B: int32[8] = 0
    for i in range(n):
        B[i] = A[i]
    return B


def test_a_bound_that_depends_on_data_is_refused_at_its_line():
    s = allo.customize(runs_n)
    with pytest.raises(UndecidableError) as caught:
        allo.verify(s, s)
    assert "How often the loop i runs depends on data" in str(caught.value)
    assert "for i in range(n):" in str(caught.value)
    assert "help: bound the loop by a constant" in str(caught.value)


def searches(A: int32[8]) -> int32:
    i: int32 = 0
    while A[i] > 0:
        i += 1
    return i


def test_a_while_on_data_is_refused():
    s = allo.customize(searches)
    with pytest.raises(UndecidableError, match="Whether this loop goes on depends on data"):
        allo.verify(s, s)


def long(A: int32[100, 100]) -> int32[100, 100]:
    B: int32[100, 100] = 0
    for i, j in allo.grid(100, 100):
        B[i, j] = A[i, j]
    return B


def test_the_step_limit_is_an_error():
    s = allo.customize(long)
    with pytest.raises(StepLimitError, match="runs more than 1000 operations") as caught:
        allo.verify(s, s, max_steps=1000)
    assert "max_steps" in str(caught.value.help)
    assert allo.verify(s, s)


def smaller(A: int32[4]) -> int32[4]:
    return A


def of_bytes(A: int8[8]) -> int32[8]:
    B: int32[8] = 0
    return B


def with_more(A: int32[8], B: int32[8]) -> int32[8]:
    C: int32[8] = 0
    return C


def plain_eight(A: int32[8]) -> int32[8]:
    C: int32[8] = 0
    return C


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (smaller, "plain_eight has A: i32[8] where smaller has A: i32[4]."),
        (of_bytes, "plain_eight has A: i32[8] where of_bytes has A: i8[8]."),
        (with_more, "plain_eight has 1 arguments and with_more has 2."),
    ],
)
def test_different_signatures_are_an_error(other, text):
    with pytest.raises(SignatureMismatchError) as caught:
        allo.verify(allo.customize(plain_eight), allo.customize(other))
    assert caught.value.message == f"The programs cannot be compared: {text}"
    assert "the other is" in str(caught.value)


def test_only_schedules_can_be_compared():
    with pytest.raises(BoundaryError, match="argument 2 is a function"):
        allo.verify(allo.customize(plain_eight), plain_eight)


def of_any_length(A: int32[...], B: int32[4]):
    for i in range(4):
        B[i] = A[i]


def test_arrays_of_any_length_are_refused():
    s = allo.customize(of_any_length)
    with pytest.raises(UndecidableError, match="takes or returns an array without a fixed size"):
        allo.verify(s, s)


def product(A: int8[8, 8], B: int8[8, 8], C: int32[8, 8]):
    for i, j in allo.grid(8, 8):
        C[i, j] = 0
        for k in range(8):
            C[i, j] += A[i, k] * B[k, j]


def test_a_systolic_array_is_a_matrix_product():
    text = (Path(__file__).parent.parent / "data" / "dataflow_systolic_i8.mlir").read_text()
    systolic = Schedule.from_text(text, "top")
    assert allo.verify(allo.customize(product), systolic)
    wrong = Schedule.from_text(text.replace("arith.addi %s, %w", "arith.subi %s, %w"), "top")
    assert compare(allo.customize(product), wrong).differing == 64


def steps_that_are_not_positive(A: int32[8]):
    n: int32 = 0
    for i in range(0, 8, n):
        A[i] = 1
    n = -2
    for j in range(7, 0, n):
        A[j] = 2
    n = 3
    for k in range(0, 8, n):
        A[k] = 3


def the_last_loop_alone(A: int32[8]):
    for k in range(3):
        A[3 * k] = 3


def test_a_loop_whose_step_is_not_positive_has_no_iteration():
    with_steps, alone = map(allo.customize, (steps_that_are_not_positive, the_last_loop_alone))
    assert allo.verify(with_steps, alone)
