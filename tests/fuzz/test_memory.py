"""Programs from memory: placed, laid out and cached arguments, and what they see."""

from __future__ import annotations

from .generator import make_program
from .generator.memory import FROM_MEMORY
from .generator.program import Step
from .planted.faults import FAULTS
from .planted.run import SEED as PLANTED
from .planted.run import _jobs
from .runner.evaluate import evaluate
from .runner.pool import Pool

SEED = 9_000_001
FAULT = {f.name: f for f in FAULTS}
SEEN = {"layout_keeps_the_order": 29, "cache_not_filled": 30, "cache_not_written_back": 3}
"""Faults, and the first program of ``scripts/fuzz --planted`` that sees each."""


def test_programs_from_memory_equal_the_oracle_on_every_engine() -> None:
    verdicts = [
        evaluate(make_program(SEED + n, FROM_MEMORY), ["cpu", "jit"], lambda _: None)
        for n in range(6)
    ]
    assert {v.status for v in verdicts} == {"ok"}
    assert all({"cpu", "jit"} <= set(v.agreed) for v in verdicts)
    applied = {step[0] for v in verdicts for step in v.steps}
    assert {"place", "cache"} <= applied


def test_arrays_on_several_channels_run_in_csim() -> None:
    found = []
    for seed in range(SEED, SEED + 40):
        program = make_program(seed, FROM_MEMORY)
        program.steps = [Step("place", ({"buffer": [program.top, "A0"]}, "hbm[0:2]"))]
        if program.arguments[0].shape and program.arguments[0].name == "A0":
            found.append(evaluate(program, ["csim"], lambda _: None))
            break
    assert [(v.status, v.agreed, len(v.steps)) for v in found] == [("ok", ["csim"], 1)]


def test_other_programs_have_no_memory_of_their_own() -> None:
    for seed in range(20):
        plain, asked = make_program(seed), make_program(seed, FROM_MEMORY)
        assert FROM_MEMORY not in plain.features
        assert FROM_MEMORY in asked.features
        assert {"interface", "memory"} & set(asked.options)


def test_planted_faults_of_memory_are_seen() -> None:
    found = {}
    for name in ("", *SEEN):
        wanted = SEEN if not name else {name: SEEN[name]}
        with Pool(1, fault=name) as pool:
            jobs = [job for n in wanted for job in _jobs(FAULT[n], [PLANTED + wanted[n] - 1])]
            found[name] = {v.status for _, v in pool.run(jobs)}
    assert found == {"": {"ok"}} | dict.fromkeys(SEEN, {"wrong"})
