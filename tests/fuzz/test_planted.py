"""Planted faults: each still fits the compiler, and a fault is seen where it must be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .planted import Fault, changed
from .planted.faults import FAULTS
from .planted.run import CATCHES, SEED, Baseline, _jobs, see
from .runner.pool import Pool

SIGN = next(f for f in FAULTS if f.name == "sign_extension")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_fault_changes_one_place_of_the_compiler(fault: Fault) -> None:
    source = fault.file.read_text()
    with_fault = changed(fault, source)
    assert with_fault != source
    assert compile(with_fault, str(fault.file), "exec")


PARTS = 3
FIRSTS = {
    about["name"]: about["first"]
    for about in json.loads((Path(__file__).parent / "campaigns" / "planted.json").read_text())[
        "faults"
    ]
}


@pytest.mark.parametrize("part", range(PARTS))
def test_the_first_program_that_sees_each_fault_passes_without_it(part: int) -> None:
    """The programs that see most: one for each fault of the recorded campaign (scripts/fuzz --planted)."""
    recorded = [f for f in FAULTS if f.name in FIRSTS][part::PARTS]
    jobs = {repr(job): job for f in recorded for job in _jobs(f, [SEED + FIRSTS[f.name] - 1])}
    with Pool(1) as pool:
        found = {v.seed: v.status for _, v in pool.run(list(jobs.values()))}
    assert len(found) >= 8
    assert {seed: status for seed, status in found.items() if status not in ("ok", "reject")} == {}


def test_a_fault_that_no_longer_fits_is_refused() -> None:
    with pytest.raises(ValueError, match="The fault sign_extension is stale: its words occur 0"):
        changed(SIGN, "x = 1\n")


def test_names_and_rules_are_distinct() -> None:
    assert len({f.name for f in FAULTS}) == len({f.rule for f in FAULTS}) == len(FAULTS) >= 30


def test_programs_see_a_fault_and_nothing_without_it() -> None:
    jobs = [{"seed": seed, "targets": ["cpu"]} for seed in range(1_000_000, 1_000_012)]
    with Pool(1) as pool:
        sound = [v.status for _, v in pool.run(jobs)]
    with Pool(1, fault=SIGN.name) as pool:
        faulty = [v.status for _, v in pool.run(jobs)]
    assert set(sound) <= {"ok", "reject"}
    assert "wrong" in faulty


def test_a_fault_is_run_until_five_programs_have_seen_it() -> None:
    seen = see(SIGN, 60, 1, Baseline(1))
    assert (seen.name, seen.caught, seen.how) == ("sign_extension", CATCHES, "wrong on cpu")
    assert seen.first is not None
    assert seen.first <= seen.programs < 60
    again = see(SIGN, seen.first, 1, Baseline(1))
    assert (again.first, again.programs, again.caught) == (seen.first, seen.first, 1)


def test_a_program_that_fails_without_the_fault_does_not_see_it() -> None:
    class Failing(Baseline):
        def fails(self, seed: int, fault: Fault) -> bool:
            return True

    seen = see(SIGN, 6, 1, Failing(1))
    assert (seen.first, seen.programs, seen.caught, seen.how) == (None, 6, 0, "")


def test_faults_come_before_the_compiler() -> None:
    asked = (
        "import sys, tests.fuzz.planted.faults; print([n for n in sys.modules if n[:5] == 'allo.'])"
    )
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
