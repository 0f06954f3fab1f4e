"""The demo's designs on every target: CPU, HLS and RTL agree bit for bit, cycles are as predicted."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

import numpy as np
import pytest

from allo.designs.polybench import product
from allo.designs.polybench.blas import gemm, gemm_i8
from allo.designs.polybench.products import two_mm
from allo.designs.polybench.suite import DESIGNS, Design
from allo.errors import PartitionError, ScheduleError, UnknownHandleError

MODULES: dict[str, ModuleType] = {"gemm": gemm, "gemm_i8": gemm_i8, "two_mm": two_mm}
INPUTS = 20
MAX_SCHEDULE_LINES = 12


def ids(design: Design) -> str:
    return design.name


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and left.tobytes() == right.tobytes()


@pytest.mark.parametrize("design", DESIGNS, ids=ids)
def test_cpu_gives_numpys_bits(design: Design) -> None:
    kernel = design.schedule().build()
    rng = np.random.default_rng(7)
    for _ in range(INPUTS):
        arrays = design.inputs(rng)
        assert same_bits(kernel(*arrays), design.reference(*arrays))


@pytest.mark.parametrize("design", DESIGNS, ids=ids)
def test_rtl_gives_the_cpus_bits_in_the_predicted_cycles(design: Design) -> None:
    schedule = design.schedule()
    kernel, hardware = schedule.build(), schedule.build(target="verilog")
    rng = np.random.default_rng(8)
    for _ in range(INPUTS):
        arrays = design.inputs(rng)
        assert same_bits(hardware(*arrays), kernel(*arrays))
        assert hardware.cycles == hardware.report.cycles


@pytest.mark.parametrize("name", ["gemm", "two_mm"])
def test_special_values_pass_through_alike(name: str) -> None:
    """Negative zero, subnormals, infinities and NaN among the factors."""
    design = next(d for d in DESIGNS if d.name == name)
    schedule = design.schedule()
    kernel, hardware = schedule.build(), schedule.build(target="verilog")
    finite = np.array([-0.0, 0.0, 1e-45, -1e-40, 1.2e-38, 3.4e38, -1.0], np.float32)
    rng = np.random.default_rng(9)
    arrays = design.inputs(rng)
    for array in arrays:
        places = rng.integers(0, array.size, array.size // 50)
        array.flat[places] = rng.choice(finite, len(places))
    arrays[0][3, 5], arrays[0][7, 2], arrays[-1][9, 9] = np.nan, np.inf, -np.inf
    expected, found = kernel(*arrays), hardware(*arrays)
    numbers = ~np.isnan(expected)
    assert (np.isnan(found) == ~numbers).all()
    assert same_bits(found[numbers], expected[numbers])
    assert 0 < numbers.sum() < numbers.size


@pytest.mark.parametrize("design", DESIGNS, ids=ids)
def test_csim_gives_the_cpus_bits(design: Design, tmp_path) -> None:  # type: ignore[no-untyped-def]
    schedule = design.schedule()
    kernel = schedule.build()
    csim = schedule.build(target="vitis_hls", mode="csim", project=str(tmp_path / "project"))
    rng = np.random.default_rng(10)
    for _ in range(3):
        arrays = design.inputs(rng)
        expected = kernel(*arrays)
        result = np.zeros_like(expected)
        csim(*arrays, result)
        assert same_bits(result, expected)


def schedule_lines(*functions) -> int:  # type: ignore[no-untyped-def]
    """Calls of a primitive: statements in which ``s.`` is called, ``customize`` apart."""
    count = 0
    for function in functions:
        for node in ast.walk(ast.parse(inspect.getsource(function))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                count += isinstance(owner, ast.Name) and owner.id == "s"
    return count


@pytest.mark.parametrize("name", MODULES)
def test_schedules_are_short(name: str) -> None:
    lines = schedule_lines(MODULES[name].schedule, product.schedule_product)
    assert 8 < lines <= MAX_SCHEDULE_LINES


@pytest.mark.parametrize("design", DESIGNS, ids=ids)
def test_the_products_run_at_one_step_a_cycle(design: Design) -> None:
    report = design.schedule().build(target="verilog").report
    loops = [
        loop
        for function in report.functions
        for outer in function.loops
        for loop in (outer, *outer.children)
        if loop.pipelined and loop.trips and loop.trips > 1000
    ]
    assert loops
    assert {loop.ii for loop in loops} == {1}
    assert design.float_operations == (report.float_ops or 0)


def small_product():  # type: ignore[no-untyped-def]
    import allo

    return allo.customize(product.product, instantiate=[gemm.float32, gemm.float32, 8, 8, 8])


def test_a_dimension_is_partitioned_once() -> None:
    s = product.schedule_product(gemm.float32, gemm.float32, (8, 16, 8), 4)
    with pytest.raises(
        PartitionError, match=r"Cannot partition the same array on dimension 2 twice: B\."
    ):
        s.partition(s.B, dim=2)


def test_the_innermost_loop_cannot_hold_the_row() -> None:
    s = small_product()
    before = str(s.module)
    with pytest.raises(
        ScheduleError, match=r"product\.py:16:9: .*cannot buffer out at loop k: it is the innermost"
    ):
        s.buffer_at(s.out, axis="k")
    assert str(s.module) == before


def test_an_unknown_loop_names_the_loops_there_are() -> None:
    with pytest.raises(UnknownHandleError, match=r"No such loop 'l'.*\n.*the loops i, j, k\."):
        small_product().pipeline("l")
