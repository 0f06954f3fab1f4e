"""The generator: the same seed gives the same program, and every feature is common."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import allo

from .generator import FEATURES, Program, make, make_program
from .generator.values import inputs
from .runner.evaluate import OUTSIDE, Failed, Prepared, compare, evaluate, outcomes
from .runner.space import namespace
from .runner.verdict import Verdict


@pytest.mark.parametrize("seed", range(0, 40, 7))
def test_a_seed_is_a_program(seed: int) -> None:
    first, second = make_program(seed), make_program(seed)
    assert first == second
    assert Program.from_json(first.to_json()).to_json() == first.to_json()


def test_every_kind_and_feature_is_common() -> None:
    found: Counter[str] = Counter()
    for seed in range(2000):
        found.update(make_program(seed).features)
    assert set(FEATURES) <= set(found)
    wanted = {
        "guards",
        "short circuits",
        "while",
        "negative steps",
        "triangular bounds",
        "runtime bounds",
        "bits",
        "bit stores",
        "structs",
        "views",
        "slices",
        "tensors",
        "calls",
        "templates",
        "captured arrays",
        "captured scalars",
        "stateful",
        "windows",
        "stages",
        "networks",
        "deadlock",
        "break and continue",
        "early return",
        "blocks",
        "meta_for",
        "meta_if",
        "check_bounds",
        "reassociated",
        "modes",
        "arrays returned",
        "calls in expressions",
        "keyword arguments",
        "parts as arguments",
        "arrays passed twice",
        "unused arguments",
        "options",
        "copies",
        "edited sources",
        "array fields",
        "stateful structs",
        "run-time steps",
        "float remainders",
        "handed over",
        "stream arguments",
        "two rates",
    }
    assert {name: found[name] for name in wanted if found[name] < 3} == {}


_RUN = ("tries", "records", "asserted", "forever", "packets", "strides", "remainders", "handed")


@pytest.mark.parametrize("kind", [*_RUN, "ports"])
def test_a_kind_runs_with_the_schedule_it_is_made_for(kind: str) -> None:
    program = make_program(502, kind)
    program.options, program.reassociated, program.copied = {}, False, False
    verdict = evaluate(program, ["cpu", "jit"], lambda _: None)
    assert (verdict.status, verdict.oracle) == ("ok", True), verdict.detail
    assert verdict.agreed == ["cpu", "jit"]
    applied = {step[0] for step in verdict.steps}
    assert kind != "asserted" or {"pipeline", "dependence"} <= applied


@pytest.mark.parametrize(
    ("kind", "features", "words"),
    [
        ("packets", {"array fields"}, r'A0\[.*\]\["[de]"\]\[.*\] '),
        ("packets", {"stateful structs"}, r"k0: S0(\[\d\])? @ Stateful"),
        ("strides", {"run-time steps"}, r"for \w+ in range\(.*, .*, .*[a-z].*\):"),
        ("remainders", {"float remainders"}, r"Z\[i0\] = .*%"),
        ("handed", {"handed over"}, r"go0\.get\(\)"),
        ("ports", {"stream arguments"}, r"def top\(A0: Stream\["),
    ],
)
def test_a_kind_holds_what_it_is_for(kind: str, features: set[str], words: str) -> None:
    programs = [make_program(seed, kind) for seed in range(20)]
    found = [p for p in programs if features <= set(p.features)]
    assert len(found) >= 5
    assert sum(bool(re.search(words, p.source)) for p in found) >= len(found) / 2


def test_inputs_of_structs_have_arrays_in_them() -> None:
    program = next(
        p
        for p in (make_program(seed, "packets") for seed in range(40))
        if any(a.kind == "struct" and a.shape is None for a in p.arguments)
    )
    given = dict(zip([a.name for a in program.arguments], inputs(program, 0), strict=True))
    fields = {a.name: a.fields for a in program.arguments}["r0"]
    shapes = {name: tuple(about[2]) for name, kind, about in fields if kind == "array"}
    assert shapes == {n: v.shape for n, v in given["r0"].items() if isinstance(v, np.ndarray)}
    assert {name: given["A0"].dtype[name].shape for name in shapes} == shapes


def _without_newer_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs as they were when these seeds were found."""
    newer = ("sweeps", "guarded", "constants", "tries", "records", "asserted", "forever")
    for name in (*newer, "packets", "strides", "remainders", "handed", "ports"):
        monkeypatch.delitem(make._AIMED, name)


@pytest.mark.parametrize("seed", [99167, 20011649])
def test_programs_that_once_left_an_array_stay_inside(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A triangular loop in a loop to 6; a bound of run time from the low bits of an Int(96)."""
    _without_newer_kinds(monkeypatch)
    verdict = evaluate(make_program(seed), [], lambda _: None)
    assert (verdict.status, verdict.oracle) == ("ok", True), verdict.detail


def test_a_program_that_leaves_an_array_is_rejected_as_such(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _without_newer_kinds(monkeypatch)
    program = make_program(99167)
    program.source = program.source.replace("C[(j + i) % 6, ", "C[5 - j, ")
    assert "C[5 - j, " in program.source
    program.steps = []
    verdict = evaluate(program, ["cpu"], lambda _: None)
    assert (verdict.status, verdict.target, verdict.agreed) == ("reject", "oracle", [])
    assert verdict.reason.startswith("BoundsError: "), verdict.detail


def _first_that_leaves() -> Program:
    """A program made to leave its arrays of which some call does."""
    for seed in range(40):
        program = make_program(seed, "outside")
        with namespace(program) as space:
            if outcomes(program, allo.interpret(space["kernel"]))[-1] == OUTSIDE:
                return program
    raise AssertionError("no program leaves its arrays")


def test_a_call_that_leaves_an_array_ends_alike_on_every_target() -> None:
    program = _first_that_leaves()
    verdict = evaluate(program, ["cpu", "jit"], lambda _: None)
    assert (verdict.status, verdict.agreed) == ("ok", ["cpu", "jit"]), verdict.detail
    program.checked = False
    verdict = evaluate(program, ["cpu"], lambda _: None)
    assert (verdict.status, verdict.target) == ("reject", "oracle")


def test_a_target_that_answers_where_a_call_leaves_an_array_is_wrong() -> None:
    program = _first_that_leaves()
    with namespace(program) as space:
        want = outcomes(program, allo.interpret(space["kernel"]))
    got = [(inputs(program, 0), []) if call == OUTSIDE else call for call in want]
    prepared = Prepared(program, {}, None, Verdict(program.seed, "ok"), want)
    with pytest.raises(Failed):
        compare(prepared, "cpu", got)
    assert prepared.verdict.status == "wrong"
    assert "an answer in place of out of bounds" in prepared.verdict.detail


def test_a_feature_may_be_asked_for_or_left_out() -> None:
    assert "structs" in make_program(3, "structs").features
    assert "nests" not in make_program(3, skip=("nests",)).features
    with pytest.raises(ValueError, match="No program has the feature 'goto'"):
        make_program(3, "goto")
