"""The small int32 kernels of the open flows: results on CPU and hardware, cycles below the published ones."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.designs.polybench.open.cases import CASES, Case
from allo.designs.polybench.open.solvers import root
from allo.errors import CompileTimeError

BY_NAME = {case.name: case for case in CASES}
CLOCK_MHZ = 1000 / 7


def check(case: Case, schedule, limit: int) -> None:  # type: ignore[no-untyped-def]
    """Equal results on equal arguments, in the predicted cycles, of which there are at most ``limit``."""
    arguments = case.arguments(np.random.default_rng(5))
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    changed = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    case.plain().build()(*expected)
    assert any(not np.array_equal(a, b) for a, b in zip(changed, expected, strict=True))
    hardware = schedule.build(target="verilog", simulator="jit", clock_mhz=CLOCK_MHZ)
    hardware(*arguments)
    for position, (a, b) in enumerate(zip(arguments, expected, strict=True)):
        np.testing.assert_array_equal(a, b, err_msg=f"argument {position}")
    assert hardware.report.cycles in (None, hardware.cycles)
    assert hardware.cycles <= limit


@pytest.mark.parametrize("name", ["2mm", "bicg", "gesummv", "syrk", "trmm", "trisolv", "cholesky"])
def test_pipeline_alone_takes_fewer_cycles_than_vivado_hls(name: str) -> None:
    case = BY_NAME[name]
    schedule = case.pipelined()
    assert schedule is not None
    check(case, schedule, case.published["Vivado HLS"] - 1)


@pytest.mark.parametrize(("name", "limit"), [("gemm", 20), ("atax", 25), ("durbin", 150)])
def test_the_best_schedules(name: str, limit: int) -> None:
    case = BY_NAME[name]
    check(case, case.scheduled(), limit)


def test_a_systolic_product_of_8_takes_26_cycles() -> None:
    case = BY_NAME["systolic"]
    check(case, case.scheduled(), 26)


def test_a_sum_that_starts_at_zero_is_one_pipeline_of_interval_1() -> None:
    """The store of zero under the first iteration's condition takes no port of its own."""
    schedule = BY_NAME["3mm"].pipelined()
    assert schedule is not None
    report = schedule.build(target="verilog", clock_mhz=CLOCK_MHZ).report
    assert [(loop.trips, loop.ii) for loop in report.functions[0].loops] == [(512, 1)] * 3


@pytest.mark.parametrize("x", [0, 1, 3, 4, 2**31 - 1, 46340**2, 46340**2 - 1])
def test_roots_are_rounded_down(x: int) -> None:
    assert allo.customize(root).build()(x) == int(x**0.5)


def test_a_size_of_too_few_numbers_is_refused() -> None:
    case = Case("gemm", BY_NAME["gemm"].kernel, (8, 8), lambda s: s)
    text = r"gemm has 3 template parameters \(P, Q, R\), but 2 values were given"
    with pytest.raises(CompileTimeError, match=text):
        case.plain()
