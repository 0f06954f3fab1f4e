"""Programs of a fixed seed and of a fresh one; every program that once failed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.verilog.readers import HAS_ICARUS

from .generator.make import make_program
from .runner.campaign import Settings, Tally, run_campaign
from .runner.main import commit
from .runner.replay import found_program, run_one
from .runner.verdict import REJECT

FIXED, FRESH_PROGRAMS = 2_000_000, 12
MOST_REJECTS = 0.1
LEAST_BY_THE_ORACLE = 0.8
"""Floats that are summed in another order or flushed have the CPU build for a reference."""
FOUND = sorted((Path(__file__).parent / "found").glob("*.py"))


def failures(tally: Tally) -> str:
    """What failed, with the command that shows each again."""
    return "\n".join(
        f"scripts/fuzz --replay {about['seed']}: {about['status']} {about['target']} {about['detail']}"
        for about in tally.failures
    )


def test_programs_of_a_fixed_seed() -> None:
    targets = ("cpu", "jit", "icarus") if HAS_ICARUS else ("cpu", "jit")
    settings = Settings(
        seed=FIXED,
        programs=300,
        targets=targets,
        csim=0.1,
        verilator=0.05,
        icarus=0.05,
        workers=1,
    )
    tally = run_campaign(settings)
    assert not tally.failures, failures(tally)
    assert tally.programs == programs
    assert tally.status[REJECT] <= MOST_REJECTS * programs, tally.rejects
    assert not [reason for reason in tally.rejects if reason.startswith("oracle")], tally.rejects
    assert tally.oracle >= LEAST_BY_THE_ORACLE * programs
    assert tally.agreed["icarus"] >= programs // 30 or "icarus" not in targets
    assert not [phase for phase in tally.phases if phase.startswith("batch does not compile")]
    assert tally.agreed["csim"] >= programs // 15 and tally.agreed["verilator"] >= programs // 30
    assert min(tally.agreed["cpu"], tally.agreed["jit"]) >= (1 - MOST_REJECTS) * programs


def fresh_seed() -> int:
    """Another seed at every commit, so that a failure can be seen again; any one outside a checkout."""
    digest = commit() or f"{random.SystemRandom().randrange(1 << 40):x}"
    return int(digest[:10], 16)


def test_programs_of_a_fresh_seed() -> None:
    seed = fresh_seed()
    tally = run_campaign(Settings(seed=seed, programs=FRESH_PROGRAMS, workers=1))
    assert not tally.failures, failures(tally)
    assert tally.programs == FRESH_PROGRAMS, f"seed {seed}"


@pytest.mark.parametrize("file", FOUND, ids=lambda f: f.stem)
def test_a_program_that_once_failed(file: Path) -> None:
    program = found_program(file)
    verdict = run_one(program, ["cpu", "jit"])
    assert not verdict.failed, f"{verdict.signature}\n{verdict.detail}"
    assert verdict.status == "ok", verdict.detail


def test_a_program_survives_being_kept(tmp_path: Path) -> None:
    from .runner.evaluate import scheduled
    from .runner.verdict import Verdict
    from .shrink import file_text

    program = make_program(FIXED + 3)
    verdict = Verdict(program.seed, "wrong", "cpu", "values differ", 'A\\B """ ends', steps=[])
    kept = scheduled(program, verdict)
    file = tmp_path / "kept.py"
    file.write_text(file_text(kept, verdict))
    assert found_program(file).to_json() == kept.to_json()
