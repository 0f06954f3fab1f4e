"""compose: a callee's schedule on its instance."""

from __future__ import annotations

import pytest

import allo
from allo.errors import ScheduleError, UnknownHandleError
from allo.ir.types import int32
from allo.schedule import Schedule
from tests.schedule.support import check_golden, count, full_text, kernel, refused, text


def two_instances() -> Schedule:
    return kernel("instances")


def callee(name: str, shape: str = "8x8xi32") -> Schedule:
    source = f"""
    func.func @{name}(%A: memref<{shape}>) attributes {{
        arg_names = ["A"], arg_types = ["i32"], itypes = "s", otypes = "", res_types = []}} {{
      affine.for %i = 0 to 8 {{
        affine.for %j = 0 to 8 {{
          %a = affine.load %A[%i, %j] {{from = "A"}} : memref<{shape}>
          affine.store %a, %A[%i, %j] {{to = "A"}} : memref<{shape}>
        }} {{loop_name = "j"}}
      }} {{loop_name = "i", op_name = "S_i_j_0"}}
      return
    }}"""
    return Schedule.from_text(source)


def test_compose_replays_on_the_instance():
    inner = callee("inner")
    inner.split("j", 4)
    inner.pipeline(inner.get_loops().S_i_j_0["j.outer"])
    inner.unroll("inner:j.inner")
    inner.partition(inner.A, dim=2)
    before = full_text(inner)
    s = two_instances()
    s.compose(inner)
    assert full_text(inner) == before
    check_golden(s, "compose")


def test_compose_by_id():
    s = two_instances()
    first, second = callee("inner"), callee("inner")
    first.pipeline("j")
    second.pipeline("i")
    s.compose(first)
    s.compose(second, id="b")
    assert count(s, "pipeline_ii") == 2
    assert s.get_loops("inner").S_i_j_0.j.loop.attributes["pipeline_ii"].value == 1
    assert "pipeline_ii" in s.get_loops("inner_b").S_i_j_0.i.loop.attributes


def test_compose_gives_each_instance_its_own_state():
    s = two_instances()
    s.compose(callee("inner"), id="b")
    assert "@__stateful_inner_n_1_b" in text(s)
    assert count(s, "memref.global") == 2


def test_compose_refuses_other_shapes():
    s = two_instances()
    refused(
        s,
        ScheduleError,
        r"compose: the schedule is of inner\(i32\[8x9\]\) -> \(\), but inner here is "
        r"inner\(i32\[8x8\]\) -> \(\)\.",
        lambda: s.compose(callee("inner", "8x9xi32")),
    )


def test_compose_refuses_unknown_functions():
    s = two_instances()
    refused(
        s,
        UnknownHandleError,
        r"compose: function iner is not called by top\.\nhelp: did you mean 'inner'\?",
        lambda: s.compose(callee("iner")),
    )
    with pytest.raises(TypeError, match="The first argument must be a Schedule object, got int"):
        s.compose(3)
    refused(
        s,
        ScheduleError,
        "Cannot find schedule for kernel print",
        lambda: s.compose(print),
    )


def test_compose_that_fails_half_way_changes_nothing():
    s = two_instances()
    s.split("inner:j", 2)
    inner = callee("inner")
    inner.pipeline("i")
    inner.unroll("j")
    refused(
        s,
        UnknownHandleError,
        r"No such loop 'j'.*note: while composing unroll of inner on inner\.",
        lambda: s.compose(inner),
    )


def test_compose_replays_the_defaults_of_the_callee():
    """A call without an argument meant the callee's top, not this one."""
    inner, s = callee("inner"), two_instances()
    inner.inline()
    inner.dataflow("inner")
    s.compose(inner)
    marked = [line for line in text(s).splitlines() if "func.func" in line and "inline" in line]
    assert [line.split("@")[1].split("(")[0] for line in marked] == ["inner"]
    assert "dataflow" in marked[0]


def test_compose_replays_names_of_arrays_without_a_function():
    inner, s = callee("inner"), two_instances()
    inner.reshape("A", (64,))
    s.compose(inner, id="b")
    assert "func.func @inner_b(%arg0: memref<64xi32>)" in text(s)


def first(A: int32[8], X: int32[8]):
    for i in range(8):
        X[i] = A[i] + 1


def second(X: int32[8], B: int32[8]):
    for i in range(8):
        B[i] = X[i] * 2


def middle(A: int32[8], B: int32[8]):
    X: int32[8]
    first(A, X)
    second(X, B)


def around(A: int32[8], B: int32[8], C: int32[8]):
    middle(A, B)
    second(B, C)


def test_compose_finds_the_instance_of_a_consumer():
    """`second` has another caller, so the composed function gets a copy, and `to` must name that."""
    inner, s = allo.customize(middle), allo.customize(around)
    inner.to(inner.X, "second", depth=2)
    s.compose(inner)
    assert '@second_middle(%arg0: memref<8xi32, "stream:2">' in text(s)
    assert "@second(%arg0: memref<8xi32>" in text(s)
