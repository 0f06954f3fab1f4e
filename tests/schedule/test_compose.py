"""compose: a callee's schedule on its instance."""

from __future__ import annotations

import pytest

from allo.errors import ScheduleError, UnknownHandleError
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
