"""skew, and reorder of loops that it shifted: wavefronts."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import allo
from allo.errors import IllegalTransformError, ScheduleError
from allo.ir.types import int32
from tests.interpreter import copied, run_module
from tests.schedule.support import check_golden, count, loops, refused

T, N = 4, 8


def seidel(A: int32[10]):
    for t in range(4):
        for i in range(1, 9):
            A[i] = A[i - 1] + A[i] * 3 + A[i + 1]


def seidel2d(A: int32[6, 7]):
    for t in range(3):
        for i in range(1, 5):
            for j in range(1, 6):
                A[i, j] = A[i - 1, j + 1] + A[i, j - 1] - A[i, j] + A[i + 1, j] * 2 + A[i, j + 1]


def triangle(A: int32[6, 6]):
    for i in range(0, 6, 2):
        for j in range(i, 6):
            A[i, j] = A[i, j] + i * j


def trickle(A: int32[8], n: int32[1]):
    for i in range(8):
        for j in range(n[0]):
            A[i] = A[i] + j


def called(B: int32[10]):
    seidel(B)


TARGETS = pytest.mark.parametrize(
    "target",
    [{}, {"target": "vhls", "mode": "csim"}, {"target": "verilog", "simulator": "jit"}],
    ids=["cpu", "csim", "rtl"],
)


def same_as_unscheduled(kernel, s, **target) -> None:
    shape = kernel.__annotations__["A"].shape
    want = np.random.default_rng(4).integers(-99, 99, shape).astype(np.int32)
    got = want.copy()
    allo.customize(kernel).build()(want)
    s.build(**target)(got)
    np.testing.assert_array_equal(got, want)


def test_skew_shifts_bounds_and_subscripts():
    s = allo.customize(seidel)
    s.skew("t", "i", 2)
    assert loops(s) == ["t", "i"]
    check_golden(s, "skew")


def test_a_wavefront_of_a_gauss_seidel_nest():
    """reorder breaks a dependence before, and none after; with factor 2 the inner loop is free."""
    s = allo.customize(seidel)
    refused(s, IllegalTransformError, "Cannot reorder i, t: it breaks", lambda: s.reorder("i", "t"))
    s.skew("t", "i", 2)
    s.reorder("i", "t")
    s.parallel("t")
    s.pipeline("t")
    assert loops(s) == ["i", "t"]
    check_golden(s, "skew_reorder")


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_any_factor_computes_the_same(factor):
    s = allo.customize(seidel)
    s.skew("t", "i", factor)
    same_as_unscheduled(seidel, s)
    s.reorder("i", "t")
    same_as_unscheduled(seidel, s)


@TARGETS
def test_skewed_loops_compute_the_same_on_every_target(target):
    s = allo.customize(seidel)
    s.skew("t", "i", 2)
    same_as_unscheduled(seidel, s, **target)


@TARGETS
def test_a_wavefront_computes_the_same_on_every_target(target):
    s = allo.customize(seidel)
    s.skew("t", "i", 2)
    s.reorder("i", "t")
    s.pipeline("t")
    same_as_unscheduled(seidel, s, **target)


def test_a_factor_too_small_leaves_a_dependence():
    s = allo.customize(seidel)
    s.skew("t", "i")
    s.reorder("i", "t")
    refused(s, IllegalTransformError, "Cannot run loop t in parallel", lambda: s.parallel("t"))


@TARGETS
def test_planes_of_three_loops(target):
    s = allo.customize(seidel2d)
    refused(s, IllegalTransformError, "reorder", lambda: s.reorder("i", "j", "t"))
    s.skew("t", "i", 2)
    s.skew("t", "j", 2)
    s.skew("i", "j", 1)
    s.reorder("i", "j", "t")
    s.parallel("t")
    same_as_unscheduled(seidel2d, s, **target)


def test_steps_and_bounds_that_depend_on_the_outer_loop():
    s = allo.customize(triangle)
    s.skew("i", "j", 3)
    same_as_unscheduled(triangle, s)
    refused(
        s,
        ScheduleError,
        r"Cannot reorder j, i: the bounds of loop j depend on loop i, which would move inside it, "
        r"and are not linear with steps of 1\.",
        lambda: s.reorder("j", "i"),
    )


def test_compose_replays_skew_on_the_callee():
    inner, s = allo.customize(seidel), allo.customize(called)
    inner.skew("t", "i", 2)
    inner.reorder("i", "t")
    s.compose(inner)
    assert count(s, "floordiv 2") == 1
    got, want = np.arange(10, dtype=np.int32), np.arange(10, dtype=np.int32)
    s.build()(got)
    allo.customize(seidel).build()(want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("kernel", "call", "message"),
    [
        (
            seidel,
            ("t", "i", 0),
            r"skew i: the factor must be positive, got 0\..*"
            r"help: give the number of iterations by which the inner loop runs ahead\.",
        ),
        (seidel, ("t", "i", 1.5), r"skew i: the factor must be an integer, got 1\.5\."),
        (
            seidel,
            ("i", "t"),
            r"skew t: it does not stand inside loop i\..*"
            r'help: name the outer loop first: s\.skew\("i", "j"\)\.',
        ),
        (seidel, ("t", "t"), r"skew t: it does not stand inside loop t\."),
        (
            trickle,
            ("i", "j"),
            r"skew j: the bounds of loop j are not affine\..*"
            r"help: only loops whose bounds are constants or affine in outer loops can be skewed\.",
        ),
    ],
)
def test_skew_refuses(kernel, call, message):
    s = allo.customize(kernel)
    refused(s, ScheduleError, message, lambda: s.skew(*call))


@settings(max_examples=25)
@given(st.data())
def test_random_nests_that_were_shifted_keep_the_answer(data):
    """Three loops of random bounds, two of them skewed, in every order that is legal."""
    small = st.integers(-2, 3)
    lows, extents = (data.draw(st.tuples(small, small, small)) for _ in range(2))
    bounds = [(low + 2, low + 2 + extent + 3) for low, extent in zip(lows, extents, strict=True)]
    source = f"""
def kernel(A: int32[12, 12, 12]):
    for i in range{bounds[0]}:
        for j in range{bounds[1]}:
            for k in range{bounds[2]}:
                A[i, j, k] = A[i, j, k] * 3 + i - 2 * j + 5 * k
"""
    s, original = (allo.customize(source, global_vars={"int32": int32}) for _ in range(2))
    factor = st.integers(1, 3)
    for outer, inner in data.draw(st.permutations([("i", "j"), ("i", "k"), ("j", "k")])):
        s.skew(outer, inner, data.draw(factor))
    order = data.draw(st.permutations(["i", "j", "k"]))
    try:
        s.reorder(*order)
    except ScheduleError:
        event("refused")
    array = np.arange(12**3).reshape(12, 12, 12).astype(object)
    want, got = copied([array]), copied([array])
    run_module(original.module, "kernel", want)
    run_module(s.module, "kernel", got)
    assert (want[0] == got[0]).all()
