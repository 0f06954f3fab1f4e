"""Cells that stayed equal after ``unfold`` are one function of the C++ text, from 17 on."""

from __future__ import annotations

import re

import numpy as np
import pytest

from allo.errors import ScheduleError
from allo.ir.types import int8, int32
from allo.library.systolic import systolic


def cells_of(text: str) -> tuple[list[str], list[str]]:
    """The functions of cells that a text defines, and those it calls."""
    defined = re.findall(r"^void (PE_kernel\w*)\($", text, re.MULTILINE)
    called = re.findall(r"^  (PE_kernel\w*)\(C, \d", text, re.MULTILINE)
    return defined, called


def product(Mt: int, Nt: int):
    return systolic.default_schedule([int8, int8, int32, Mt, 3, Nt, Mt, Nt])


@pytest.mark.parametrize("target", ["vhls", "vitis_hls", "catapult"])
def test_seventeen_cells_are_one_function(target):
    s = product(17, 1)
    module = s.build(target=target)
    text = module.hls_code
    assert cells_of(text) == (["PE_kernel_0_0"], ["PE_kernel_0_0"] * 17)
    marked = "  #pragma HLS function_instantiate variable=i\n"
    assert text.count(marked) == (0 if target == "catapult" else 1)
    assert "function_instantiate variable=j" not in text
    rng = np.random.default_rng(0)
    A, B = rng.integers(-128, 128, (17, 3)), rng.integers(-128, 128, (3, 1))
    C = np.zeros((17, 1), np.int32)
    module(A.astype(np.int8), B.astype(np.int8), C)
    np.testing.assert_array_equal(C, A @ B)


def test_sixteen_cells_keep_their_functions():
    text = product(4, 4).build(target="vhls").hls_code
    names = [f"PE_kernel_{i}_{j}" for i in range(4) for j in range(4)]
    assert cells_of(text) == (names, names)
    assert "function_instantiate" not in text


def test_a_cell_with_a_schedule_of_its_own_stays():
    s = product(6, 3)
    s.unroll("PE_kernel_2_1:k", factor=3)
    module = s.build(target="vhls")
    defined, called = cells_of(module.hls_code)
    assert defined == ["PE_kernel_0_0", "PE_kernel_2_1"]
    assert called.count("PE_kernel_0_0") == 17
    assert called.index("PE_kernel_2_1") == 2 * 3 + 1
    A, B = np.arange(18, dtype=np.int8).reshape(6, 3), np.arange(9, dtype=np.int8).reshape(3, 3)
    C = np.zeros((6, 3), np.int32)
    module(A, B, C)
    np.testing.assert_array_equal(C, A.astype(int) @ B)


def test_the_schedule_keeps_every_function():
    s = product(5, 4)
    before = str(s.module)
    s.build(target="vhls")
    assert str(s.module) == before
    assert all(f"@PE_kernel_{i}_{j}(" in before for i in range(5) for j in range(4))


def test_a_report_of_csim_names_every_cell():
    module = product(5, 4).build(target="vhls")
    assert cells_of(module.hls_code)[0] == ["PE_kernel_0_0"]
    simulation = module.csim_code().simulation
    named = [name for name, _ in simulation.calls if name.startswith("PE_kernel")]
    assert named == [f"PE_kernel_{i}_{j}" for i in range(5) for j in range(4)]


def test_cells_of_two_kinds_that_are_too_few_stay():
    s = product(6, 3)
    with pytest.raises(ScheduleError, match="PE_kernel"):
        s.pipeline("PE_kernel:k")  # the copies are what is left of it
    for i in range(6):
        s.pipeline(f"PE_kernel_{i}_0:k", initiation_interval=2)
    defined, called = cells_of(s.build(target="vhls").hls_code)
    assert len(defined) == len(set(called)) == 18
