"""Run a scheduled program on the CPU, in csim and in the in-process simulator of its RTL."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.engine import engine

TARGETS = ("llvm", "vhls", "verilog")


def check_results(schedule: Any, args: list[np.ndarray], expected: np.ndarray) -> None:
    """Every element of what a program returns, on every target."""
    for target in TARGETS:
        found = schedule.build(target=target, **engine(target))(*args)
        np.testing.assert_array_equal(found, expected, err_msg=target)


def check_outputs(schedule: Any, args: list[np.ndarray], expected: np.ndarray) -> None:
    """Every element that a program writes to its last argument, on every target."""
    for target in TARGETS:
        found = np.zeros_like(expected)
        schedule.build(target=target, **engine(target))(*args, found)
        np.testing.assert_array_equal(found, expected, err_msg=target)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """int32 from -20 to 19."""
    return np.random.default_rng(seed + sum(shape)).integers(-20, 20, shape).astype(np.int32)
