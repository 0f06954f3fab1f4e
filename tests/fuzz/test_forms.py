"""Programs built from copies of their schedules, and from files that are edited behind their import."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest

import allo.frontend.source as source
from allo.schedule import Schedule

from .generator import make_program
from .generator.make import EDITS
from .generator.program import Argument, Program
from .runner import forms
from .runner.evaluate import evaluate
from .runner.verdict import OK, WRONG, Verdict

_TEXT = """from allo.ir.types import *

def kernel(A: Int(32)[4], n: int32):
    v: Int(32) = n
    for i in range(4):
        A[i] += v + 3
"""


def _program(**about: Any) -> Program:
    arguments = [Argument("A", "Int(32)", 32, 0, (4,)), Argument("n", "Int(32)", 32)]
    return Program(1, _TEXT, "kernel", arguments, **about)


def _evaluated(program: Program, *targets: str) -> Verdict:
    return evaluate(program, list(targets or ("cpu",)), lambda _: None)


def test_all_forms_are_drawn() -> None:
    programs = [make_program(seed) for seed in range(9_000, 10_000)]
    edits = Counter(p.edited for p in programs if p.edited)
    assert set(edits) == set(EDITS) == {*forms.REFUSED, *forms.HARMLESS}
    assert sum(edits.values()) == sum("edited sources" in p.features for p in programs) > 20
    assert sum(p.copied for p in programs) == sum("copies" in p.features for p in programs) > 30


# --- edited sources -----------------------------------------------------------------


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_source_is_refused_or_changes_nothing(edit: str) -> None:
    verdict = _evaluated(_program(edited=edit, steps=[]))
    assert (verdict.status, verdict.agreed, verdict.oracle) == (OK, ["cpu"], True), verdict.detail


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        ("shifted", "# edited\ndef kernel(A"),
        ("number", "range(5)"),
        ("declared", "A: Int(33)[4]"),
        ("local", "v: index = n"),
    ],
)
def test_an_edit_changes_what_its_name_says(edit: str, text: str) -> None:
    made = forms.REFUSED[edit](_program())
    assert made is not None
    assert text in made or (edit == "number" and "v + 4" in made)


@pytest.mark.parametrize(
    ("rule", "edit"),
    [("_is_edited", "number"), ("_is_edited", "local"), ("_declares_otherwise", "declared")],
)
def test_a_compiler_that_takes_the_new_text_is_wrong(
    rule: str, edit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, rule, lambda *_: False)
    verdict = _evaluated(_program(edited=edit, steps=[]))
    assert (verdict.status, verdict.target) == (WRONG, "edited source")
    assert verdict.detail.endswith("(changed after it was imported) is not")


# --- copies -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_copy_and_its_original_are_right(seed: int) -> None:
    program = make_program(600 + seed, "copies", skip=("deadlock", "check_bounds"))
    verdict = _evaluated(program, "cpu", "jit")
    assert (verdict.status, verdict.agreed[-1]) == (OK, "copy"), verdict.detail


def test_a_copy_that_shares_its_module_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def shared(schedule: Schedule) -> Schedule:
        made = object.__new__(type(schedule))
        made.__dict__.update(schedule.__dict__)
        return made

    monkeypatch.setattr(Schedule, "__copy__", shared)
    monkeypatch.setattr(Schedule, "__deepcopy__", lambda schedule, _: shared(schedule))
    verdicts = [_evaluated(make_program(600 + n, "nests"), "cpu") for n in range(2)]
    assert {v.status for v in verdicts} == {OK}
    found = [_evaluated(_copied(make_program(600 + n, "nests")), "cpu").reason for n in range(6)]
    assert "a schedule changed with its copy" in found


def _copied(program: Program) -> Program:
    made = copy.copy(program)
    made.copied, made.reassociated, made.options = True, False, {}
    return made


def test_a_module_that_is_copied_is_wrong() -> None:
    with pytest.raises(forms.Misbehaved, match="neither copied nor pickled"):
        forms.refuses_copies({"a": "dict"})
