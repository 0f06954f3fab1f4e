"""What the kernels of a benchmark suite have in common: one module a kernel, with the same four names."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

import numpy as np

from allo.customize import Schedule


class Kernel(Protocol):
    """What a kernel's module offers."""

    SIZES: Mapping[str, tuple[int, ...]]

    def schedule(self, size: tuple[int, ...]) -> Schedule:
        """The scheduled kernel for one problem size."""

    def inputs(self, rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        """Random arguments, outputs included, on which the kernel is well conditioned."""

    def reference(self, *arrays: np.ndarray) -> np.ndarray | int | None:
        """The kernel in NumPy: works in place, and returns what the kernel returns."""


def load_kernel(suite: str, package: str, modules: Mapping[str, str], name: str) -> Kernel:
    """The module of one kernel of a suite.

    Args:
        suite: the suite's name, for the message.
        package: the package its modules lie in.
        modules: the kernels there are, and where in the package each one's module lies.
        name: the one asked for.

    Raises:
        KeyError: when there is no such kernel.
    """
    if name not in modules:
        raise KeyError(f"{suite} has no kernel {name!r}; there are {', '.join(modules)}.")
    return cast(Kernel, importlib.import_module(f"{package}.{modules[name]}"))
