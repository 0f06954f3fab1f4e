"""A worker's crash belongs to its program alone, also for callers that stop at the first answer."""

from __future__ import annotations

import copy
import json

from .generator import Program, make_program
from .runner.pool import Pool
from .runner.verdict import CRASH, Verdict


def first_verdict(pool: Pool, program: Program) -> Verdict:
    """As the shrinker asks: one job, one answer, the rest of the run left."""
    job = {"program": json.loads(program.to_json()), "targets": ["cpu"]}
    return next(v for _, v in pool.run([job]))


def test_the_program_after_a_crash_has_a_verdict_of_its_own() -> None:
    sound = make_program(2_000_003)
    aborting = copy.copy(sound)
    aborting.source = "import os\nos.abort()\n" + sound.source
    with Pool(1) as pool:
        crash = first_verdict(pool, aborting)
        after = first_verdict(pool, sound)
    assert (crash.status, crash.reason) == (CRASH, "SIGABRT")
    assert after.status == "ok", after.detail
    assert "cpu" in after.agreed
