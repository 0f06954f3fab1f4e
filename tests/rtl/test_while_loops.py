"""What a loop around a ``while`` does not do, and the rewritings that its messages name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.errors import AlloWarning, UnsupportedOpError
from allo.ir.types import int32

N = 8
TARGETS: dict[str, dict[str, str]] = {
    "cpu": {},
    "csim": {"target": "vhls", "mode": "csim"},
    "jit": {"target": "verilog", "simulator": "jit"},
}


def halved(a: int32[N], y: int32[N], z: int32[N]):
    for i in range(N):
        x: int32 = a[i]
        while x > 3:
            x = x - 1
        y[i] = x
    for j in range(N):
        x: int32 = a[j]
        while x > 3:
            x = x - 2
        z[j] = x


def bounded(a: int32[N], y: int32[N], z: int32[N]):
    """The same, by loops with a bound."""
    for i in range(N):
        x: int32 = a[i]
        for k in range(9):
            if x <= 3:
                break
            x = x - 1
        y[i] = x
    for j in range(N):
        x: int32 = a[j]
        for k in range(9):
            if x <= 3:
                break
            x = x - 2
        z[j] = x


def run(kernel: Callable[..., Any], target: str, schedule: Callable[[Any], None]) -> Any:
    """A built module whose results are those of the text as Python."""
    s = allo.customize(kernel)
    schedule(s)
    module = s.build(**TARGETS[target])
    a = np.array([3, 9, 0, 12, -5, 4, 7, 11], np.int32)
    got, want = ([a.copy(), *np.zeros((2, N), np.int32)] for _ in range(2))
    module(*got)
    halved(*want)
    np.testing.assert_array_equal(got, want)
    return module


def pipelines(s: Any) -> None:
    s.pipeline("i")
    s.pipeline("j")


def test_a_pipeline_around_a_while_is_refused_with_the_rewriting():
    s = allo.customize(halved)
    s.pipeline("i")
    for ask in (s.estimate, lambda: s.build(target="verilog")):
        with pytest.raises(UnsupportedOpError) as caught:
            ask()
        line = halved.__code__.co_firstlineno + 3
        assert f"test_while_loops.py:{line}:15: A while loop stands inside a" in str(caught.value)
        assert "while x > 3:\n" in str(caught.value) and "^^^^^" in str(caught.value)
        assert caught.value.help == (
            "a for loop with a bound and a break in its place joins the pipeline; else pipeline or "
            "unroll no loop around it."
        )


@pytest.mark.parametrize("target", TARGETS)
def test_the_loop_with_a_bound_joins_the_pipeline(target: str):
    module = run(bounded, target, pipelines)
    if target == "jit":
        assert [loop.ii for loop in module.report.functions[0].loops] == [1, 1]


def test_loops_around_a_while_wait_for_each_other_and_say_what_helps():
    module = run(halved, "jit", lambda s: None)
    said = allo.customize(halved).estimate()
    for report in (module.report, said):
        for loop in report.functions[0].loops:
            assert "holds a while loop (test_while_loops.py:" in loop.limit
            assert "`s.dataflow` of the function lets it run beside others" in loop.limit


@pytest.mark.parametrize("target", TARGETS)
def test_as_processes_they_run_at_once(target: str):
    module = run(halved, target, lambda s: s.dataflow("halved"))
    if target == "jit":
        assert module.cycles < 0.7 * run(halved, target, lambda s: None).cycles


@pytest.mark.parametrize("factor", [0, 4])
@pytest.mark.parametrize("ask", ["build", "estimate"])
def test_copies_take_area_and_say_so(factor: int, ask: str):
    def searching(a: int32[N], y: int32[N]):
        for i in range(N):
            x: int32 = a[i]
            while x > 3:
                x = x - 1
            y[i] = x

    plain, s = allo.customize(searching), allo.customize(searching)
    s.unroll("i", factor)
    with pytest.warns(AlloWarning, match="they take area and save no cycle"):
        report = s.build(target="verilog").report if ask == "build" else s.estimate()
    assert report.resources["lut"] > 2 * plain.estimate().resources["lut"]
    for loop in report.functions[0].loops if factor else ():
        assert "`s.unroll` of it never does" in loop.limit
