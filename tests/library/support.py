"""Build a library kernel plain and with its default schedule, and compare both with a reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import allo
from allo.dialects.verify import verify


def builds(kernel: Callable[..., Any], template: list[Any]) -> list[Any]:
    """The CPU builds of a kernel: as written, and under its default schedule if it has one."""
    schedules = [allo.customize(kernel, instantiate=template)]
    if hasattr(kernel, "default_schedule"):
        schedules.append(kernel.default_schedule(template))
    for s in schedules:
        verify(s.module, top=s.top_func_name, places=True)
    return [s.build() for s in schedules]


def check(kernel: Callable[..., Any], template: list[Any], args: list[Any], expected: Any) -> None:
    """Every element against the reference; floats within 1e-5 of it (relative or absolute)."""
    for module in builds(kernel, template):
        got = module(*args)
        assert got.shape == expected.shape
        if np.issubdtype(got.dtype, np.integer):
            np.testing.assert_array_equal(got, expected)
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def floats(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed + sum(shape)).standard_normal(shape) * scale).astype(
        np.float32
    )


def int8s(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).integers(-128, 128, shape).astype(np.int8)
