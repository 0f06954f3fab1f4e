"""``compose(..., id=…)`` reaches one instance: what it calls is cloned where others call it as well."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError, UnknownHandleError
from allo.ir.types import float32, int32
from allo.library import nn
from tests.compatibility.runs import check_results, numbers


def inner[T, M: int32](A: T[M]) -> T[M]:
    B: T[M] = 0
    for i in range(M):
        B[i] = A[i] + 1
    return B


def middle[T, M: int32](A: T[M]) -> T[M]:
    C: T[M] = inner[T, M](A)
    for k in range(M):
        C[k] = C[k] * 2
    return C


def outer[T, M: int32](A: T[M]) -> T[M]:
    return middle[T, M, "deep"](A)


def twice(A: int32[8]) -> int32[8]:
    X: int32[8] = middle[int32, 8, "p"](A)
    Y: int32[8] = middle[int32, 8, "q"](X)
    return Y


def pipelined(s: allo.Schedule) -> dict[str, int]:
    """Function to the number of its pipelined loops, of those that have any."""
    texts = {
        op.attributes["sym_name"].value: str(op)
        for op in s.module.body.operations
        if op.operation.name == "func.func"
    }
    return {n: t.count("pipeline_ii") for n, t in texts.items() if "pipeline_ii" in t}


def expected(A: np.ndarray) -> np.ndarray:
    return ((A + 1) * 2 + 1) * 2


def test_a_schedule_of_a_callee_reaches_one_instance():
    one = allo.customize(middle, instantiate=[int32, 8])
    one.pipeline("inner:i")
    one.pipeline("k")
    s = allo.customize(twice)
    s.compose(one, id="p")
    assert pipelined(s) == {"inner_p": 1, "middle_p": 1}
    A = numbers(8)
    check_results(s, [A], expected(A))


def test_a_composed_schedule_of_a_callee_reaches_one_instance():
    leaf = allo.customize(inner, instantiate=[int32, 8])
    leaf.pipeline("i", initiation_interval=2)
    one = allo.customize(middle, instantiate=[int32, 8])
    one.compose(leaf)
    s = allo.customize(twice)
    s.compose(one, id="q")
    assert pipelined(s) == {"inner_q": 1}
    s.compose(one, id="p")
    assert pipelined(s) == {"inner_q": 1, "inner": 1}, "the last one that calls it needs no copy"
    A = numbers(8)
    check_results(s, [A], expected(A))


def test_compositions_of_any_depth():
    leaf = allo.customize(inner, instantiate=[int32, 8])
    leaf.pipeline("i")
    one = allo.customize(middle, instantiate=[int32, 8])
    one.compose(leaf)
    whole = allo.customize(outer, instantiate=[int32, 8])
    whole.compose(one, id="deep")

    def both(A: int32[8]) -> int32[8]:
        X: int32[8] = outer[int32, 8, "a"](A)
        Y: int32[8] = outer[int32, 8, "b"](X)
        return Y

    s = allo.customize(both)
    s.compose(whole, id="b")
    assert pipelined(s) == {"inner_b": 1}
    A = numbers(8)
    check_results(s, [A], expected(A))


def test_two_instances_with_schedules_of_their_own():
    def layers(X: float32[4, 4], W: float32[4, 4], b: float32[4]) -> float32[4, 4]:
        H: float32[4, 4] = nn.linear2d[float32, float32, float32, 4, 4, 4, "one"](X, W, b)
        R: float32[4, 4] = nn.relu2d[float32, 4, 4](H)
        return nn.linear2d[float32, float32, float32, 4, 4, 4, "two"](R, W, b)

    s = allo.customize(layers)
    s.compose(nn.linear2d, id="two")
    assert pipelined(s) == {"linear2d_two": 3}
    s.compose(nn.relu2d, instantiate=[float32, 4, 4])
    assert pipelined(s) == {"linear2d_two": 3, "relu2d": 1}
    X, W, b = (numbers(*shape).astype(np.float32) for shape in ((4, 4), (4, 4), (4,)))
    hidden = np.maximum(X @ W.T + b, 0)
    check_results(s, [X, W, b], hidden @ W.T + b)


def test_a_library_kernel_composed_onto_its_own_schedule():
    s = allo.customize(nn.linear2d, instantiate=[float32, float32, float32, 4, 5, 6])
    s.compose(nn.linear2d)
    assert pipelined(s) == {"linear2d": 3}
    X, W, b = (numbers(*shape).astype(np.float32) for shape in ((4, 6), (5, 6), (5,)))
    check_results(s, [X, W, b], X @ W.T + b)
    again = allo.customize(nn.softmax, instantiate=[float32, 4])
    again.compose(nn.softmax, instantiate=[float32, 4])
    assert pipelined(again)["softmax"] >= 2


def test_a_schedule_on_another_schedule_of_its_kernel():
    first = allo.customize(middle, instantiate=[int32, 8])
    first.pipeline("k")
    first.unroll("inner:i", factor=2)
    second = allo.customize(middle, instantiate=[int32, 8])
    second.compose(first)
    assert str(second.module) == str(first.module)
    with pytest.raises(ScheduleError, match="schedule of middle cannot be replayed on itself"):
        second.compose(second)
    other = allo.customize(middle, instantiate=[int32, 9])
    with pytest.raises(ScheduleError, match=r"schedule is of middle\(i32\[8\]\)"):
        other.compose(first)


def test_an_instance_that_does_not_exist_is_refused():
    leaf = allo.customize(inner, instantiate=[int32, 8])
    s = allo.customize(twice)
    with pytest.raises(UnknownHandleError, match="function inner_p is not called by twice"):
        s.compose(leaf, id="p")
    one = allo.customize(middle, instantiate=[int32, 8])
    with pytest.raises(
        UnknownHandleError, match="middle_r is not called by twice.\nhelp: did you mean 'middle_q'"
    ):
        s.compose(one, id="r")
