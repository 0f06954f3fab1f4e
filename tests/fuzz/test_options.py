"""Options of builds: which are drawn, how often, and what becomes of a refusal."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from allo.backend.devices import families
from allo.dialects.options.table import options_of
from allo.errors import AlloError, InterfaceError, VerificationError

from .generator import make_program
from .generator.options import BUILD, DRAWN, LEFT_OUT, OUTSIDE, SET, TARGETS, drawn
from .generator.program import Argument, Program
from .runner import builds
from .runner.builds import MAY_BE_REFUSED, RefusedWithoutReason, hardware_options
from .runner.campaign import Tally
from .runner.evaluate import evaluate
from .runner.verdict import ERROR, OK

PROGRAMS = 800
SEED = 7_000


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [make_program(seed) for seed in range(SEED, SEED + PROGRAMS)]


def test_every_option_of_build_is_drawn_or_left_out_for_a_reason() -> None:
    """A new option of ``build`` fails here until it is drawn, or classed with the reason why not."""
    known = {name for group in ("build", *TARGETS) for name in options_of(group)}
    classed = [*DRAWN, *SET, *LEFT_OUT]
    assert sorted(classed) == sorted(set(classed))
    assert known - set(classed) == set()
    assert set(classed) - known == set()


def test_each_option_is_drawn_in_many_programs(programs: list[Program]) -> None:
    found = Counter(name for p in programs for name in drawn(p))
    assert {name: found[name] for name in DRAWN if found[name] < PROGRAMS / 160} == {}
    assert set(found) == set(DRAWN)
    assert sum(bool(p.options) for p in programs) > PROGRAMS / 2
    assert sum(p.restarted for p in programs) > PROGRAMS / 10


def test_values_reach_every_device_and_every_kind_of_interface(programs: list[Program]) -> None:
    devices = Counter(p.options["device"] for p in programs if "device" in p.options)
    assert set(devices) == set(families())
    asked = [kind for p in programs for kind in p.options.get("interface", {}).values()]
    kinds = {kind["kind"] if isinstance(kind, dict) else kind for kind in asked}
    assert kinds == {"memory", "m_axi", "axis", "s_axilite", "port"}
    assert {p.options["stalls"] for p in programs if "stalls" in p.options} == {0.0, 0.1, 0.5}
    clocks = [v for p in programs for n, v in p.options.items() if n in ("clock_mhz", "frequency")]
    assert (min(clocks), max(clocks)) == (1, 600)
    unused = [p for p in programs if "unused arguments" in p.features and "interface" in p.options]
    assert len(unused) >= 3


def test_streams_at_buses_are_passed_in_one_call() -> None:
    """Words that an AXI4-Stream took ahead wait for the next call, so a second one would give others."""
    program = make_program(54_000_014, "ports")
    assert program.options["interface"]["A0"] == "axis" and program.runs == 1
    assert evaluate(program, ["jit"], lambda _: None).agreed == ["jit"]
    program.runs = 2
    verdict = evaluate(program, ["jit"], lambda _: None)
    assert (verdict.status, verdict.target) == ("wrong", "jit")


def test_the_text_of_a_program_does_not_depend_on_its_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from .generator import options

    before = [make_program(seed).source for seed in range(20)]
    monkeypatch.setattr(options, "SHARE", 0.0)
    assert [make_program(seed).source for seed in range(20)] == before


def test_only_a_test_bench_lacks_what_surrounds_a_design() -> None:
    program = _doubling({"clock_mhz": 100, "interface": {"A": "axis"}, "stalls": 0.5})
    program.options["subnormals"] = "flush"
    assert set(hardware_options(program, "jit")) == {"clock_mhz", "interface", "stalls"}
    assert hardware_options(program, "jit") == hardware_options(program, "verilator")
    assert set(hardware_options(program, "icarus")) == {"clock_mhz"}
    assert not set(BUILD) & set(OUTSIDE)


# --- refusals ---------------------------------------------------------------------------

_DOUBLING = """from allo.ir.types import *

def kernel(A: int32[4]):
    for i in range(4):
        A[{0}] += i
"""


def _doubling(options: dict[str, Any], at: str = "i") -> Program:
    arguments = [Argument("A", "Int(32)", 32, 0, (4,))]
    program = Program(1, _DOUBLING.format(at), "kernel", arguments, steps=[])
    program.options = options
    return program


def test_an_option_that_is_refused_by_name_is_left_out_alone_and_counted() -> None:
    program = _doubling({"clock_mhz": 77, "interface": {"A": "axis"}, "stalls": 0.1}, "3 - i")
    built: list[dict[str, Any]] = []
    kept = builds._hardware
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            builds, "_hardware", lambda p, t, drawn: built.append(drawn) or kept(p, t, drawn)
        )
        verdict = evaluate(program, ["jit"], lambda _: None)
    assert (verdict.status, verdict.agreed) == (OK, ["jit"]), verdict.detail
    assert [about.split(":")[:2] for about in verdict.declined] == [
        ["interface", " InterfaceError"]
    ]
    assert built == [program.options, {"clock_mhz": 77}]  # the option that is named goes first
    tally = Tally()
    tally.add(verdict)
    assert tally.options == {"clock_mhz": 1, "interface": 1, "stalls": 1}
    assert tally.declined.total() == 1


def test_one_program_in_four_has_its_resources_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    estimated: list[int] = []
    monkeypatch.setattr(
        "allo.backend.rtl.design.HardwareDesign.estimate_resources",
        lambda self: estimated.append(program.seed),
    )
    for seed in range(1, 9):
        program = _doubling({}, "i")
        program.seed = seed
        assert evaluate(program, ["jit"], lambda _: None).agreed == ["jit"]
    assert set(estimated) == {4, 8}


_REMAINDERS = """from allo.ir.types import *

def kernel(A: float32[4]):
    for i in range(4):
        A[i] = A[i] % 3.0
"""


def test_remainders_of_floats_have_the_cycles_that_they_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(builds, "MAX_CYCLES", 200)
    arguments = [Argument("A", "float32", 32, 0, (4,))]
    program = Program(1, _REMAINDERS, "kernel", arguments, steps=[])
    verdict = evaluate(program, ["jit"], lambda _: None)
    assert (verdict.status, verdict.target) == (ERROR, "jit run")
    assert "was not done after 200 cycles" in verdict.detail
    program.features = ["float remainders"]
    assert evaluate(program, ["jit"], lambda _: None).agreed == ["jit"]


def _refusing(error: AlloError, of: str) -> Any:
    def hardware(prepared: Any, target: str, drawn: dict[str, Any]) -> Any:
        if of in drawn:
            raise error
        return object()

    return hardware


@pytest.mark.parametrize(
    ("error", "option"),
    [
        (VerificationError("the design does not verify"), "interface"),
        (AlloError("custom op hw.module is unknown: text that does not parse"), "interface"),
        (InterfaceError("No."), "overlap_loops"),
        (InterfaceError("No."), "subnormals_of_hardware"),
        (InterfaceError("The device has no multipliers."), "device"),
    ],
    ids=["verification", "CIRCT", "an option for all", "an unknown option", "other words"],
)
def test_a_wrong_refusal_is_an_error(
    error: AlloError, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "_hardware", _refusing(error, option))
    verdict = evaluate(_doubling({option: 1, "stalls_of": 2}), ["jit"], lambda _: None)
    assert (verdict.status, verdict.target) == (ERROR, "jit build")
    assert verdict.declined == []
    named = type(error).__name__ if option == "interface" else RefusedWithoutReason.__name__
    assert verdict.reason.startswith(named), verdict.reason


def test_an_option_that_is_not_the_cause_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that no options let be built is a reject, as before."""

    def refuses(*_: object) -> None:
        raise InterfaceError("There is no such hardware.")

    monkeypatch.setattr(builds, "_hardware", refuses)
    verdict = evaluate(_doubling({"clock_mhz": 9}), ["jit"], lambda _: None)
    assert (verdict.status, verdict.declined) == ("reject", [])


def test_all_refusable_options_are_drawn() -> None:
    assert set(MAY_BE_REFUSED) <= set(DRAWN)


# --- starting anew ------------------------------------------------------------------------

_COUNTING = """from allo.ir.types import *

def kernel(A: int32[4]):
    n: int32 @ Stateful = 5
    n += 1
    A[0] = n
"""


def test_a_design_that_keeps_its_state_behind_a_reset_is_wrong() -> None:
    arguments = [Argument("A", "Int(32)", 32, 0, (4,))]
    program = Program(1, _COUNTING, "kernel", arguments, steps=[], restarted=True)
    assert evaluate(program, ["jit"], lambda _: None).status == OK
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("allo.backend.sim.module.RTLModule.reset", lambda self: None)
        verdict = evaluate(program, ["jit"], lambda _: None)
    assert (verdict.status, verdict.target) == ("wrong", "jit")
    assert verdict.detail.startswith("call 0 behind a reset: A[0]: 9 in place of 6"), verdict.detail
