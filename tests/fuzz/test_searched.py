"""Autoscheduled programs: they equal the oracle, and a search that does what it may not is seen."""

from __future__ import annotations

from typing import Any

import pytest

import allo
import allo.explore.search as search

from .generator import make_program
from .generator.program import Argument, Program
from .generator.searched import AUTOSCHEDULED
from .planted.faults import FAULTS
from .runner.evaluate import evaluate
from .runner.verdict import Verdict

SEED = 77_000_000
SOURCE = """
import allo
from allo.ir.types import float32

def top(A: float32[16, 6], x: float32[6], y: float32[16]):
    for i in range(16):
        for j in allo.reduction(6):
            y[i] += A[i, j] * x[j]
"""


def product(**asked: object) -> Program:
    """A program with float sums, and what its search is asked for."""
    arguments = [Argument("A", "float32", 32, shape=(16, 6))]
    arguments += [Argument(n, "float32", 32, shape=(s,)) for n, s in (("x", 6), ("y", 16))]
    searched = {"device": "u280", "seconds": 1.0, "reassociate": False, **asked}
    return Program(7, SOURCE, "top", arguments, steps=[], runs=1, searched=searched)


def run(program: Program, *targets: str) -> Verdict:
    return evaluate(program, list(targets), lambda _: None)


def test_autoscheduled_programs_equal_the_oracle() -> None:
    verdicts = [run(make_program(SEED + n, AUTOSCHEDULED), "cpu", "jit") for n in (0,)]
    assert {v.status for v in verdicts} == {"ok"}
    assert any("autoschedule" in v.agreed for v in verdicts)


def test_other_programs_are_not_searched() -> None:
    asked = [make_program(SEED + n, AUTOSCHEDULED) for n in range(30)]
    assert not any(make_program(SEED + n).searched for n in range(30))
    assert all(AUTOSCHEDULED in p.features and not p.copied for p in asked)
    assert {p.searched["objective"] for p in asked} == {"cycles", "area", "throughput"}
    assert any("max_dsp" in p.searched for p in asked)
    assert Program.from_json(asked[0].to_json()).searched == asked[0].searched


def test_sums_in_an_order_that_was_not_asked_for_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(product(), "cpu").status == "ok"
    made = allo.autoschedule

    def reordered(*given: Any, **asked: Any) -> Any:
        return made(*given, **{**asked, "reassociate": True})

    monkeypatch.setattr(allo, "autoschedule", reordered)
    seen = run(product(seconds=8.0), "cpu")
    assert (seen.status, seen.target, seen.reason) == ("wrong", "cpu", "values differ")


def test_a_limit_that_is_not_held_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "excess", lambda *_: "")
    seen = run(product(max_lut=640), "cpu")
    assert (seen.status, seen.target) == ("wrong", "autoschedule")
    assert "more LUT than 640" in seen.detail


def test_faults_of_the_search_are_planted_in_autoscheduled_programs() -> None:
    assert {f.name for f in FAULTS if f.only == AUTOSCHEDULED} == {"trees_unasked", "limit_unheld"}
