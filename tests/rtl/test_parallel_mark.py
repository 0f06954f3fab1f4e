"""``parallel`` alone gives a loop no hardware: the report says so, and what does."""

from __future__ import annotations

import pytest

import allo
from allo.customize import Schedule
from allo.ir.types import int32


def scaled() -> Schedule:
    def kernel(a: int32[4, 8], b: int32[4, 8]):
        for i in range(4):
            for j in range(8):
                b[i, j] = a[i, j] * 3

    return allo.customize(kernel)


def notes_of(s: Schedule) -> list[str]:
    return [note for note in s.build(target="verilog").report.notes if "parallel" in note]


@pytest.mark.parametrize("loop", ["i", "j"])
def test_the_report_says_that_iterations_run_one_after_another(loop: str):
    s = scaled()
    before = s.build(target="verilog").report.cycles
    s.parallel(loop)
    (note,) = notes_of(s)
    line = 14 if loop == "i" else 15
    assert note.startswith(f"Loop {loop} (") and f"test_parallel_mark.py:{line}:" in note
    assert note.endswith(
        "is marked parallel, and its iterations run one after another all the same: "
        "`unroll` it for copies that run at once, or `pipeline` it."
    )
    assert s.build(target="verilog").report.cycles == before


@pytest.mark.parametrize("other", ["unroll", "pipeline"])
def test_a_loop_with_hardware_of_its_own_has_no_note(other: str):
    s = scaled()
    s.parallel("j")
    getattr(s, other)("j")
    assert notes_of(s) == []


def test_a_loop_inside_a_pipelined_one_has_no_note():
    s = scaled()
    s.parallel("j")
    s.pipeline("i")
    assert notes_of(s) == []
