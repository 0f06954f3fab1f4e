"""Planted faults: each still fits the compiler, and a fault is seen where it must be."""

from __future__ import annotations

import pytest

from .planted import Fault, changed
from .planted.faults import FAULTS
from .runner.pool import Pool

SIGN = next(f for f in FAULTS if f.name == "sign_extension")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_fault_changes_one_place_of_the_compiler(fault: Fault) -> None:
    source = fault.file.read_text()
    with_fault = changed(fault, source)
    assert with_fault != source
    assert compile(with_fault, str(fault.file), "exec")


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
