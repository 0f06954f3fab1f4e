"""The kernels of PolyBench 4.2.1, each a module of this package with the same four names.

A kernel's module has ``SIZES`` (problem sizes by name, ``tiny`` the one small enough for random RTL
simulation), ``schedule(size)``, ``inputs(rng, size)`` and ``reference(*arrays)``, which works in
place as the kernel does, adds in its order and so gives its bits.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

import numpy as np

from allo.customize import Schedule

NAMES = (
    "adi",
    "atax",
    "bicg",
    "cholesky",
    "correlation",
    "covariance",
    "deriche",
    "doitgen",
    "durbin",
    "fdtd_2d",
    "floyd_warshall",
    "gemver",
    "gesummv",
    "gramschmidt",
    "heat_3d",
    "jacobi_1d",
    "jacobi_2d",
    "lu",
    "ludcmp",
    "mvt",
    "nussinov",
    "seidel_2d",
    "symm",
    "syr2k",
    "syrk",
    "three_mm",
    "trisolv",
    "trmm",
)


class Kernel(Protocol):
    """What a kernel's module offers."""

    SIZES: Mapping[str, tuple[int, ...]]

    def schedule(self, size: tuple[int, ...]) -> Schedule:
        """The scheduled kernel for one problem size."""

    def inputs(self, rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        """Random arguments, outputs included, on which the kernel is well conditioned."""

    def reference(self, *arrays: np.ndarray) -> None:
        """The kernel in NumPy, in place."""


def load(name: str) -> Kernel:
    """The module of one kernel.

    Raises:
        KeyError: when there is no such kernel.
    """
    if name not in NAMES:
        raise KeyError(f"PolyBench has no kernel {name!r}; there are {', '.join(NAMES)}.")
    return cast(Kernel, importlib.import_module(f"{__package__}.{name}"))
