"""PolyBench from external memory: vectors stay on chip, matrices pass once or are fetched whole."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

import numpy as np

from allo.customize import Schedule

from .shape import Shape

NAMES = (
    "gesummv",
    "mvt",
    "atax",
    "bicg",
    "gemm",
    "two_mm",
    "three_mm",
    "symm",
    "syrk",
    "syr2k",
    "trmm",
)


class Design(Protocol):
    """What the module of a kernel offers.

    ``ARRAYS`` are its arguments; ``SHAPES`` are those for ``one`` channel a matrix, for ``many``, and for
    the ``mini`` size.
    """

    SIZES: Mapping[str, tuple[int, ...]]
    SHAPES: Mapping[str, Shape]
    ARRAYS: tuple[str, ...]

    def schedule(self, size: tuple[int, ...], shape: Shape) -> Schedule:
        """The design."""

    def inputs(self, rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        """Random arguments, outputs included."""

    def reference(self, *arrays: np.ndarray) -> None:
        """The kernel in NumPy, in place."""

    def bytes_needed(self, size: tuple[int, ...]) -> dict[str, int]:
        """Bytes of each array that a run has to move, once."""


def load(name: str) -> Design:
    """The module of one kernel.

    Raises:
        KeyError: when there is no such kernel.
    """
    if name not in NAMES:
        raise KeyError(f"There is no design of {name!r}; there are {', '.join(NAMES)}.")
    return cast(Design, importlib.import_module(f"{__package__}.{name}"))
