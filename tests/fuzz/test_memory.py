"""Programs from memory: placed, laid out and cached arguments, and what they see."""

from __future__ import annotations

from .generator import make_program
from .generator.memory import FROM_MEMORY
from .runner.evaluate import evaluate

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
