"""Units and ports that are bound anew so that a pipeline need not wait for those of the one before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import allo
from allo.customize import Schedule
from allo.ir.types import float32
from tests.figures_plugin import Held


def by_units(
    A: float32[32], B: float32[32], C: float32[32], D: float32[32], E: float32[32]
) -> None:
    for i in range(32, name="first"):
        B[i] = A[i] + 1.5 + 2.5
        D[i] = A[i] + 3.5
    for i in range(32, name="second"):
        E[i] = (C[i] + 1.0) * (C[i] + 2.0)


def by_ports(A: float32[2, 32], B: float32[32], C: float32[32], D: float32[32]) -> None:
    for i in range(32, name="first"):
        B[i] = A[0, i] * A[0, i] + A[1, i]
    for i in range(32, name="second"):
        C[i] = A[1, i]
    for i in range(31, name="third"):
        D[i] = A[1, i] + A[1, i + 1]


def together(A: float32[2, 32], B: float32[32], C: float32[32], D: float32[32]) -> None:
    """Two late loads of a bank, at once of two iterations, keep both of its ports."""
    for i in range(31, name="first"):
        B[i] = A[0, i] * A[0, i] + A[1, i] + A[1, i + 1]
    for i in range(32, name="second"):
        C[i] = A[1, i]
    for i in range(31, name="third"):
        D[i] = A[1, i] + A[1, i + 1]


def scheduled(kernel: Callable[..., None]) -> Schedule:
    """Its loops as pipelines; the rows of a table are banks."""
    s = allo.customize(kernel)
    for _, band in s.get_loops():
        for _, loop in band:
            s.pipeline(loop)
    if kernel is not by_units:
        s.partition(s.A, dim=1)
    return s


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize(
    ("kernel", "shapes", "earlier"),
    [
        # Both first sums of the second pipeline are issued a cycle after the last ones of the first.
        (by_units, [(32,)] * 5, True),
        # The late load of the first pipeline leaves a port to the second one, which starts at once.
        (by_ports, [(2, 32)] + [(32,)] * 3, True),
        (together, [(2, 32)] + [(32,)] * 3, False),
    ],
)
def test_a_pipeline_starts_on_what_the_one_before_no_longer_uses(
    kernel: Callable[..., None],
    shapes: list[tuple[int, ...]],
    earlier: bool,
    simulator: str,
    figures: Held,
) -> None:
    s = scheduled(kernel)
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    expected = [a.copy() for a in arrays]
    s.build()(*expected)
    module = s.build(target="verilog", simulator=simulator)
    module(*arrays)
    for one, other in zip(arrays, expected, strict=True):
        assert one.tobytes() == other.tobytes()
    assert module.cycles == module.report.cycles
    if earlier:
        figures.hold(f"rtl.bound_anew.{kernel.__name__}.cycles", module.cycles)
