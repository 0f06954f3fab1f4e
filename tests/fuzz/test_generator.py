"""The generator: the same seed gives the same program, and every feature is common."""

from __future__ import annotations

from collections import Counter

import pytest

from .generator import FEATURES, Program, make_program
from .runner.evaluate import evaluate


@pytest.mark.parametrize("seed", range(0, 40, 7))
def test_a_seed_is_a_program(seed: int) -> None:
    first, second = make_program(seed), make_program(seed)
    assert first == second
    assert Program.from_json(first.to_json()).to_json() == first.to_json()


def test_every_kind_and_feature_is_common() -> None:
    found: Counter[str] = Counter()
    for seed in range(1200):
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
    }
    assert {name: found[name] for name in wanted if found[name] < 3} == {}


@pytest.mark.parametrize("seed", [99167, 20011649])
def test_programs_that_once_left_an_array_stay_inside(seed: int) -> None:
    """A triangular loop in a loop to 6; a bound of run time from the low bits of an Int(96)."""
    verdict = evaluate(make_program(seed), [], lambda _: None)
    assert (verdict.status, verdict.oracle) == ("ok", True), verdict.detail


def test_a_program_that_leaves_an_array_is_rejected_as_such() -> None:
    program = make_program(99167)
    program.source = program.source.replace("C[(j + i) % 6, ", "C[5 - j, ")
    program.steps = []
    verdict = evaluate(program, ["cpu"], lambda _: None)
    assert (verdict.status, verdict.target, verdict.agreed) == ("reject", "oracle", [])
    assert verdict.reason.startswith("BoundsError: "), verdict.detail


def test_a_feature_may_be_asked_for_or_left_out() -> None:
    assert "structs" in make_program(3, "structs").features
    assert "nests" not in make_program(3, skip=("nests",)).features
    with pytest.raises(ValueError, match="No program has the feature 'goto'"):
        make_program(3, "goto")
