"""Pipelined loops have a little more room than the program; nothing else may go on where it gets stuck."""

from __future__ import annotations

from pathlib import Path

import pytest

from .generator.program import Program
from .runner.builds import build
from .runner.evaluate import STUCK, Failed, Prepared, namespace, prepare, run_module
from .runner.replay import found_program
from .runner.room import DEEP, with_deep_fifos
from .runner.verdict import OK, WRONG, Verdict

KEPT = Path(__file__).parent / "found" / "pipelined_producer_has_room.py"
"""Six gets from a FIFO of one word before six from a FIFO of two, which are filled in turn."""


def network(*, pipelined: bool) -> Program:
    program = found_program(KEPT)
    if not pipelined:
        program.steps = []
    return program


def verdict_of(program: Program, *, changed: bool = False) -> Verdict:
    """Run on the in-process engine; ``changed`` plants a wrong element in what the hardware answers."""
    verdict = Verdict(program.seed, OK)
    with namespace(program) as space:
        prepared: Prepared = prepare(program, space, verdict, lambda _: None)
        assert prepared.want == [STUCK]
        module = build(prepared, "jit")

        def called(*arguments: object) -> object:
            results = module(*arguments)
            if changed:
                arguments[1][0] += 1  # type: ignore[index]
            return results

        called.report, called.cycles = module.report, 0  # type: ignore[attr-defined]
        called.design = module.design  # type: ignore[attr-defined]
        try:
            run_module(prepared, "jit", called, lambda _: None)
        except Failed:
            pass
    return verdict


def test_a_pipelined_producer_may_end_where_the_program_is_stuck() -> None:
    verdict = verdict_of(network(pipelined=True))
    assert (verdict.status, verdict.agreed) == (OK, ["jit"])


def test_its_answer_must_be_that_of_deep_fifos() -> None:
    verdict = verdict_of(network(pipelined=True), changed=True)
    assert (verdict.status, verdict.reason) == (WRONG, "values differ")


def test_without_a_pipelined_loop_hardware_gets_stuck_too() -> None:
    verdict = verdict_of(network(pipelined=False))
    assert (verdict.status, verdict.agreed) == (OK, ["jit"])


def test_an_answer_without_a_pipelined_loop_is_wrong() -> None:
    program = network(pipelined=True)
    verdict = Verdict(program.seed, OK)
    with namespace(program) as space:
        prepared = prepare(program, space, verdict, lambda _: None)
        module = build(prepared, "jit")
        verdict.steps.clear()
        with pytest.raises(Failed):
            run_module(prepared, "jit", module, lambda _: None)
    assert (verdict.status, verdict.reason) == (WRONG, "stuck")


def test_only_depths_change() -> None:
    program = network(pipelined=False)
    deep = with_deep_fifos(program)
    changed = [
        (a, b)
        for a, b in zip(program.source.splitlines(), deep.source.splitlines(), strict=True)
        if a != b
    ]
    assert changed == [
        ("    s0: Stream[Fixed(7, 4), 1]", f"    s0: Stream[Fixed(7, 4), {DEEP}]"),
        ("    s1: Stream[Int(16), 2]", f"    s1: Stream[Int(16), {DEEP}]"),
    ]
