"""The kernels of the open flows: sizes, schedules, and the cycles that were published.

Sizes are those of Calyx's own sources: 8, and 8 by 12 where PolyBench's matrices are not square.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, int32

from ..solvers import durbin, lu, trisolv
from . import matrices, solvers, triangles, vectors
from .cells import schedule_cells
from .schedules import (
    pipeline_innermost,
    pipeline_outermost,
    solve_rows,
    spread,
    whole_roots,
)

LOW, HIGH = -1000, 1000
"""Range of random elements; sums and products wrap at 32 bits all the same."""


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel at one size.

    Attributes:
        kernel: its plain source; None where the design is written with cells.
        size: what its templates are instantiated with, behind the element type where they have one.
        best: the best schedule that is known.
        published: cycles by the name of the flow.
        note: what a reader needs to know of the comparison.
        element: the element type of a source for any; None where the source names it.
    """

    name: str
    kernel: Callable[..., object] | None
    size: tuple[int, ...]
    best: Callable[[Schedule], Schedule]
    published: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    element: AlloType | None = None

    def plain(self) -> Schedule:
        """The source without a schedule."""
        if self.kernel is None:
            return schedule_cells(*self.size)
        types = [] if self.element is None else [self.element]
        return allo.customize(self.kernel, instantiate=[*types, *self.size])

    def pipelined(self) -> Schedule | None:
        """``pipeline`` alone, None where the source has processes."""
        return None if self.kernel is None else pipeline_innermost(self.plain())

    def scheduled(self) -> Schedule:
        """The best schedule."""
        return self.best(self.plain())

    def arguments(self, rng: np.random.Generator) -> list[np.ndarray | int]:
        """Random arguments, those that are overwritten included."""
        s = self.plain()
        values = s.func_args[s.top_func_name]
        return [
            rng.integers(LOW, HIGH, value.shape).astype(np.int32)
            if value.shape
            else int(rng.integers(LOW, HIGH))
            for value in values
        ]


def _calyx(calyx: int, vivado: int) -> Mapping[str, int]:
    return {"Calyx": calyx, "Vivado HLS": vivado}


ROOT = "integer root, rounded down, a bit at a time"
QUOTIENT = "int32 quotients cut toward zero; by zero as the language defines it"

CASES = (
    Case("gemm", matrices.gemm, (8, 8, 8), spread, _calyx(9265, 2684)),
    Case("2mm", matrices.two_mm, (8, 8, 8, 8), spread, _calyx(15571, 3718)),
    Case("3mm", matrices.three_mm, (8, 8, 8, 8, 8), spread, _calyx(17487, 5043)),
    Case("atax", vectors.atax, (8, 8), spread, _calyx(2255, 715)),
    Case("bicg", vectors.bicg, (8, 8), spread, _calyx(1083, 218)),
    Case("mvt", vectors.mvt, (8,), spread, _calyx(1861, 597)),
    Case("gesummv", vectors.gesummv, (8,), spread, _calyx(2209, 532)),
    Case("gemver", vectors.gemver, (8,), spread, _calyx(3719, 1105)),
    Case("syrk", triangles.syrk, (8, 12), spread, _calyx(12075, 2631), "C is 12×12"),
    Case("syr2k", triangles.syr2k, (8, 12), spread, _calyx(17183, 3712), "C is 12×12"),
    Case("symm", triangles.symm, (8, 8), spread, _calyx(9721, 2033)),
    Case("trmm", triangles.trmm, (8, 12), spread, _calyx(5255, 1553), "B is 8×12"),
    Case("trisolv", trisolv.trisolv, (8,), pipeline_innermost, _calyx(460, 377), QUOTIENT, int32),
    Case("lu", lu.lu, (8,), pipeline_innermost, _calyx(3191, 1817), QUOTIENT, int32),
    Case("ludcmp", solvers.ludcmp, (8,), solve_rows, _calyx(4203, 1603), QUOTIENT),
    Case("cholesky", solvers.cholesky, (8,), whole_roots, _calyx(2514, 1385), ROOT),
    Case("durbin", durbin.durbin, (8,), spread, _calyx(905, 366), QUOTIENT, int32),
    Case("doitgen", matrices.doitgen, (8, 8, 8, 8), spread, _calyx(49479, 14545)),
    Case(
        "gramschmidt",
        solvers.gramschmidt,
        (8, 12),
        spread,
        _calyx(18613, 9037),
        f"A is 8×12; {ROOT}",
    ),
    Case("systolic", None, (8, 8, 8), lambda s: s, {"Calyx": 205, "Vivado HLS": 2210}, "later 29"),
    Case("matmul 30", matrices.matmul, (30,), pipeline_innermost, {"Dynamatic": 33647}),
    Case("2mm 10", matrices.two_mm, (10, 10, 10, 10), pipeline_innermost, {"Dynamatic": 16003}),
    Case("bicg 30", vectors.bicg, (30, 30), pipeline_outermost, {"R-HLS": 10263}),
    Case("fir 1000", vectors.fir, (1000,), pipeline_innermost, {"Dynamatic": 1011}),
)
NAMES = tuple(case.name for case in CASES)
