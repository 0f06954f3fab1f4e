"""Random programs in Icarus Verilog: the comparison passes, and sees wrong hardware."""

from __future__ import annotations

import re

import pytest

from tests.fuzz.generator import make_program
from tests.fuzz.runner.builds import build
from tests.fuzz.runner.evaluate import Prepared, customized, evaluate
from tests.fuzz.runner.icarus import fault_in_icarus
from tests.fuzz.runner.space import namespace
from tests.fuzz.runner.verdict import OK, Verdict
from tests.verilog.readers import with_icarus

pytestmark = with_icarus
SEEDS = (77038, 77056, 77155, 77324, 77495)
"""Icarus refused the first two, which chose a bank and then bits of its word in one expression. It read
beside the memories of the others: it does not wrap a sum that stands in the brackets."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_program_passes(seed: int) -> None:
    verdict = evaluate(make_program(seed), ["icarus"], lambda _: None)
    assert verdict.agreed == ["icarus"], verdict.detail


FAULTS = {
    "other behaviour": ("assign done = ", "assign done = ~", r"FAIL: \d+ differences in 9 words"),
    "unreadable": ("module kernel(", "module kernal(", "Unknown module type: kernel"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_wrong_hardware_is_seen(name: str) -> None:
    right, wrong, said = FAULTS[name]
    program = make_program(77038)
    with namespace(program) as space:
        prepared = Prepared(program, space, customized(program, space), Verdict(program.seed, OK))
        module = build(prepared, "icarus")
        assert right in module.design.verilog
        module.design.verilog = module.design.verilog.replace(right, wrong)
        found = fault_in_icarus(program, module)
    assert re.search(said, found), found
