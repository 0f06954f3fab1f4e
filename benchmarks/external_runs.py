"""What the benchmarks of arrays in external memory have in common: runs beside the CPU, rates of requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from allo.backend.sim import external_memory
from allo.customize import Schedule
from benchmarks.harness import Row

TOLERANCE = 1e-4
"""Of the largest element, against NumPy, which adds in another order."""
ELEMENTS, COUNT, CLOCK = 1 << 24, 16_384, 300
"""Of an array that is asked for single elements; how many of these; the clock asked for, MHz."""
LEAST = 0.6
"""Share of the model's limit that many requests under way must reach."""


class Reference(Protocol):
    """A kernel of PolyBench: its arguments at a size, and what NumPy makes of them."""

    @property
    def inputs(self) -> Callable[[np.random.Generator, tuple[int, ...]], Sequence[Any]]:
        """Random arguments."""

    @property
    def reference(self) -> Callable[..., None]:
        """NumPy's result, in place."""


def same_as_cpu(kernel: Reference, size: tuple[int, ...], schedule: Schedule, hardware: Any) -> Any:
    """A built design after a run on random arguments of a size.

    Raises:
        RuntimeError: when its elements are not those of the CPU build.
    """
    ours, cpu, numpy = (kernel.inputs(np.random.default_rng(12), size) for _ in range(3))
    hardware(*ours)
    schedule.build()(*cpu)
    kernel.reference(*numpy)
    for a, b, c in zip(ours, cpu, numpy, strict=True):
        if a.tobytes() != b.tobytes():
            raise RuntimeError(f"{schedule.top_func_name}: RTL and CPU differ.")
        np.testing.assert_allclose(b, c, rtol=0, atol=TOLERANCE * np.abs(c).max())
    return hardware


def on_channels(hardware: Any, arrays: Sequence[str]) -> Any:
    """A design with each array on a channel of HBM2 of its own, with banks, rows and refresh."""
    mhz = hardware.report.fmax_mhz
    channels = external_memory("hbm2", clock_mhz=mhz, timing="dram")
    return hardware.variant(memory=dict(zip(arrays, channels, strict=False)))


def request_rows(what: str, ran: Any, most: float, outstanding: int) -> list[Row]:
    """Elements a second of a run, beside the limit of the memory model.

    Args:
        most: the limit, in million elements a second.
        outstanding: requests under way; of more than one, ``LEAST`` of the limit is asked for.
    """
    mhz = ran.report.fmax_mhz
    rate = COUNT / (ran.cycles / mhz)
    many = outstanding > 1
    named = f"{outstanding} requests under way" if many else "one request at a time"
    key = f"external.{what}.{'many' if many else 'one'}"
    figures: Mapping[str, float] = {
        f"{key}.cycles": ran.cycles,
        f"{key}.rate": round(rate, 1),
        f"{key}.model.rate": round(most, 1),
        f"{key}.share": round(100 * rate / most, 1),
    }
    note = (
        f"{ran.cycles:,} cycles for {COUNT:,} elements at an estimated {mhz:.0f} MHz; the model alone: "
        f"{most:.1f} M/s; hbm2, timing dram"
    )
    rows = []
    if many:
        wanted = f"{what}, {named}, at {100 * LEAST:.0f} % of the model's limit"
        rows.append(Row(wanted, rate, "M/s", "limit", LEAST * most, at_most=False))
    rows.append(Row(f"{what}, {named}", rate, "M/s", "model", most, note=note, figures=figures))
    return rows
