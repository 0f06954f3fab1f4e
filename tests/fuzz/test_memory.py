"""Programs from memory: placed, laid out and cached arguments, and what they see."""

from __future__ import annotations

from .generator import make_program
from .generator.memory import FROM_MEMORY
from .planted.faults import FAULTS
from .planted.run import SEED as PLANTED
from .planted.run import _jobs
from .runner.evaluate import evaluate
from .runner.pool import Pool

SEED = 9_000_000


def test_programs_from_memory_equal_the_oracle_on_every_engine() -> None:
    verdicts = [
        evaluate(make_program(SEED + n, FROM_MEMORY), ["cpu", "jit"], lambda _: None)
        for n in range(6)
    ]
    assert {v.status for v in verdicts} == {"ok"}
    assert all({"cpu", "jit"} <= set(v.agreed) for v in verdicts)
    applied = {step[0] for v in verdicts for step in v.steps}
    assert {"place", "cache"} <= applied


def test_other_programs_have_no_memory_of_their_own() -> None:
    for seed in range(20):
        plain, asked = make_program(seed), make_program(seed, FROM_MEMORY)
        assert FROM_MEMORY not in plain.features
        assert FROM_MEMORY in asked.features
        assert {"interface", "memory"} & set(asked.options)


def test_a_layout_that_keeps_the_order_is_seen() -> None:
    fault = next(f for f in FAULTS if f.name == "layout_keeps_the_order")
    found = []
    for name in ("", fault.name):
        with Pool(1, fault=name) as pool:
            found += [v.status for _, v in pool.run(_jobs(fault, [PLANTED + 11]))]
    assert found == ["ok", "wrong"]
