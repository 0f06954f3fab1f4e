"""PolyBench kernels on a budget of float units: a schedule each, made by hand, for any budget.

They are what the search is compared with, and the designs of ``scripts/bench rtl_polybench``. A budget is a
number of float32 multiplier-adder pairs, and a schedule takes it as a parameter. Where a budget is a number
of DSPs, :func:`most_pairs` tells how many pairs these make.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

import numpy as np

from allo.customize import Schedule
from allo.designs.polybench.budgets import NAMES


class Budgeted(Protocol):
    """What the module of a kernel offers."""

    SIZES: Mapping[str, tuple[int, ...]]

    def schedule(self, size: tuple[int, ...], pairs: int) -> Schedule:
        """The kernel on at most so many multipliers and as many adders."""

    def inputs(self, rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        """Random arguments, outputs included."""

    def reference(self, *arrays: np.ndarray) -> np.ndarray | None:
        """The kernel in NumPy, in place."""

    def operations(self, size: tuple[int, ...]) -> int:
        """Float multiplications and additions of one run."""


DSPS_OF_MULTIPLIER = 2
"""Of a float32 multiplier on UltraScale+. An adder is made of lookup tables."""
ADDERS = {"jacobi_2d": 4}
"""Adders beside each multiplier, where they are more than one."""


def most_pairs(name: str, dsps: int) -> int:
    """The most pairs that a schedule can be given for so many DSPs, as many as its adders.

    Raises:
        KeyError: when there is no such kernel.
    """
    _check(name)
    return dsps // DSPS_OF_MULTIPLIER * ADDERS.get(name, 1)


def load(name: str) -> Budgeted:
    """The module of one kernel.

    Raises:
        KeyError: when there is no such kernel.
    """
    _check(name)
    return cast(Budgeted, importlib.import_module(f"{__package__}.{name}"))


def _check(name: str) -> None:
    if name not in NAMES:
        raise KeyError(f"There is no schedule of {name!r}; there are {', '.join(NAMES)}.")


__all__ = ["ADDERS", "DSPS_OF_MULTIPLIER", "NAMES", "Budgeted", "load", "most_pairs"]
