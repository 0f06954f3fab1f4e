"""One flow on every target: the simulator or CPU, csim as a project, RTL in process, and Verilator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import allo
import allo.dataflow as df

TARGETS: dict[str, dict[str, Any]] = {
    "cpu": {"target": "llvm"},
    "csim": {"target": "vitis_hls", "mode": "csim"},
    "jit": {"target": "verilog", "simulator": "jit"},
}
VERILATOR = {"verilator": {"target": "verilog", "simulator": "verilator"}}


def check_region(
    program: Any,
    arrays: list[np.ndarray],
    expected: np.ndarray,
    folder: Path,
    *,
    schedule: Any = None,
    verilator: bool = False,
    exact: bool = True,
) -> None:
    """Every element of a region's last array, on every target and by the interpreter.

    Args:
        schedule: of the region; otherwise each target builds the plain one.
        exact: whether floats must be those of the CPU, bit for bit, beside being near to ``expected``.
    """
    found = np.zeros_like(expected)
    allo.interpret(program)(*[a.copy() for a in arrays], found)
    check_close(found, expected, "interpret")
    first = found
    for name, options in {**TARGETS, **(VERILATOR if verilator else {})}.items():
        built = dict(options, target="simulator") if name == "cpu" else dict(options)
        if name == "csim":
            built["project"] = str(folder / "project")
        module = (schedule or df.customize(program)).build(**built)
        found = np.zeros_like(expected)
        module(*[a.copy() for a in arrays], found)
        check_close(found, expected, name)
        if exact:
            np.testing.assert_array_equal(found, first, err_msg=name)


def check_kernel(
    schedule: Any,
    arrays: list[np.ndarray],
    expected: np.ndarray,
    folder: Path,
    *,
    verilator: bool = False,
) -> None:
    """Every element that a scheduled kernel returns, on every target; floats as the CPU has them."""
    first = None
    for name, options in {**TARGETS, **(VERILATOR if verilator else {})}.items():
        built = dict(options)
        if name == "csim":
            built["project"] = str(folder / "project")
        found = np.asarray(schedule.build(**built)(*[a.copy() for a in arrays]))
        check_close(found, expected, name)
        first = found if first is None else first
        np.testing.assert_array_equal(found, first, err_msg=name)
    assert (folder / "project" / "kernel.cpp").exists()


def check_close(found: np.ndarray, expected: np.ndarray, name: str) -> None:
    """Integers equal, floats near."""
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=name)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=name)
