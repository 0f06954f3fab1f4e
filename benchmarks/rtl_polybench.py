"""PolyBench at MEDIUM on three budgets of float units: cycles beside the best published figures.

scripts/python benchmarks/rtl_polybench.py [--kernel NAME ...] [--budget PAIRS ...] [--clock MHZ] [--simulate]

Cycles are those of the report, which counts static designs exactly. The rows of the smallest budget, and with
``--simulate`` all rows, are also run in the in-process simulator, and every element is compared with the CPU
build of the same schedule (same bits) and with NumPy. Lookup tables, flip-flops, DSPs and block RAMs are
estimates of the whole design. Peers are the best published designs of at most as many DSPs as the budget has
at 5 DSPs a pair, in cycles of RTL simulation; where there are none, the cycles that the vendor's tool
estimated for Allo, of any number of DSPs.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np

from allo.designs.polybench.budgets import NAMES, Budgeted, load
from allo.dialects.reports.figures import DesignReport
from allo.errors import CapacityWarning
from benchmarks.harness import Row, finish

DSPS = {44: 220, 512: 2560, 1804: 9024}
"""DSPs of the published designs that a budget of pairs is compared with."""
DEVICE = {"lut": 1_303_680, "ff": 2_607_360, "dsp": 9024, "bram": 4032}
"""What a U280 has."""
FITTING = {
    "gemm": 1040,
    "two_mm": 960,
    "three_mm": 980,
    "atax": 1100,
    "bicg": 1100,
    "mvt": 1100,
    "gesummv": 1100,
    "correlation": 1100,
    "syrk": 1100,
    "syr2k": 1100,
}
"""Pairs of the largest budget that the device has lookup tables for."""
SIZE = "medium"
TOLERANCE = 1e-4
"""Of the largest element, against NumPy, which adds in another order."""
WINS = 12
"""Kernels, of 13, on which a column shall take fewer cycles than its peer."""

Peer = tuple[int, str]
_STREAM, _CSYNTH = "Stream-HLS", "Allo, csynth"
PUBLISHED: dict[str, tuple[Peer, Peer, Peer]] = {
    "gemm": ((236_034, "HeteroCL"), (24_051, _STREAM), (7_100, _STREAM)),
    "two_mm": ((378_254, _STREAM), (36_352, _STREAM), (11_832, _STREAM)),
    "three_mm": ((601_511, _STREAM), (49_092, _STREAM), (14_357, _STREAM)),
    "atax": ((15_855, _STREAM), (2_180, _STREAM), (2_180, _STREAM)),
    "bicg": ((8_033, _STREAM), (1_112, _STREAM), (1_112, _STREAM)),
    "mvt": ((8_041, _STREAM), (667, _STREAM), (468, "Allo")),
    "gesummv": ((3_177, _STREAM), (673, _STREAM), (673, _STREAM)),
    **{
        kernel: ((cycles, _CSYNTH),) * 3
        for kernel, cycles in (
            ("jacobi_2d", 58_801),
            ("correlation", 498_690),
            ("symm", 426_805),
            ("syrk", 293_543),
            ("syr2k", 296_183),
            ("trmm", 486_011),
        )
    },
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A kernel on a budget."""

    report: DesignReport
    operations: int
    seconds: float
    megabytes: float
    simulated: bool

    @property
    def cycles(self) -> int:
        """Of one run."""
        return self.report.cycles or 0

    @property
    def utilisation(self) -> float:
        """Useful float operations of each unit and cycle."""
        return self.operations / (self.report.float_units * self.cycles)

    def note(self) -> str:
        """The figures beside the cycles."""
        found = self.report.resources
        used = ", ".join(f"{found.get(name, 0):,} {name.upper()}" for name in DEVICE)
        return (
            f"{self.report.float_units:,} float units at {self.utilisation:.3f}; {used}"
            f"{'' if fits(self) else ', MORE THAN THE DEVICE HAS'}; "
            f"{self.seconds:.1f} s to {self.megabytes:.1f} MB of Verilog"
            f"{'; simulated' if self.simulated else ''}"
        )


def fits(measured: Measured) -> bool:
    """Whether a U280 has what the design takes."""
    found = measured.report.resources
    return all(found.get(name, 0) <= have for name, have in DEVICE.items())


def measure(name: str, budget: int, clock: float, simulate: bool) -> Measured:
    """Build a kernel, and run it against the CPU build and NumPy."""
    kernel = load(name)
    size = kernel.SIZES[SIZE]
    pairs = min(budget, FITTING.get(name, budget))
    began = time.process_time()
    schedule = kernel.schedule(size, pairs)
    hardware = schedule.build(target="verilog", simulator="jit", clock_mhz=clock, device="xcup")
    megabytes = len(str(hardware)) / 1e6
    seconds = time.process_time() - began
    if simulate:
        found, cpu = _run(kernel, hardware), _run(kernel, schedule.build())
        if any(a.tobytes() != b.tobytes() for a, b in zip(found, cpu, strict=True)):
            raise RuntimeError(f"{name} on {budget} pairs: RTL and CPU differ.")
        if hardware.cycles != hardware.report.cycles:
            raise RuntimeError(f"{name} on {budget} pairs: not the cycles of the report.")
        for a, b in zip(cpu, _run(kernel, kernel.reference), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE * np.abs(b).max())
    return Measured(hardware.report, kernel.operations(size), seconds, megabytes, simulate)


def _run(kernel: Budgeted, function) -> tuple[np.ndarray, ...]:  # type: ignore[no-untyped-def]
    """All arguments after a run on the random arguments of the benchmark, and the result."""
    arrays = kernel.inputs(np.random.default_rng(12), kernel.SIZES[SIZE])
    result = function(*arrays)
    return arrays if result is None else (*arrays, np.asarray(result))


def row_of(name: str, budget: int, measured: Measured) -> Row:
    """The cycles of a kernel beside those of its peer."""
    cycles, who = PUBLISHED[name][list(DSPS).index(budget)]
    against = who if who == _CSYNTH else f"{who}, at most {DSPS[budget]:,} DSP"
    return Row(
        f"{name}, {budget:,} pairs",
        measured.cycles,
        "cycles",
        against,
        cycles,
        note=measured.note(),
    )


def verdicts(budget: int, rows: list[Row], measured: list[Measured]) -> list[Row]:
    """What a whole column shows."""
    fewer = sum(row.value < row.reference for row in rows)
    full = [m.report.resources.get("lut", 0) / DEVICE["lut"] for m in measured]
    column = f"{budget:,} pairs"
    return [
        Row(
            f"{column}: kernels with fewer cycles", fewer, "", "limit", WINS - 13 + len(rows), False
        ),
        Row(f"{column}: the largest share of the LUTs", max(full), "", "device", 1, True),
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails or results differ."""
    parser = argparse.ArgumentParser(description="PolyBench on budgets", add_help=False)
    parser.add_argument("--kernel", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--budget", nargs="+", type=int, choices=DSPS, default=[*DSPS])
    parser.add_argument("--clock", type=float, default=300.0, help="MHz")
    parser.add_argument("--simulate", action="store_true", help="all rows, which takes minutes")
    given, rest = parser.parse_known_args()
    warnings.simplefilter("ignore", CapacityWarning)
    rows, columns = [], []
    for budget in given.budget:
        simulate = given.simulate or budget == min(DSPS)
        measured = [measure(name, budget, given.clock, simulate) for name in given.kernel]
        pairs = zip(given.kernel, measured, strict=True)
        column = [row_of(name, budget, found) for name, found in pairs]
        rows += column
        columns += verdicts(budget, column, measured)
    title = f"PolyBench MEDIUM, fp32, on budgets of multiplier-adder pairs, {given.clock:.0f} MHz"
    return finish("rtl_polybench", title, [*rows, *columns], rest)


if __name__ == "__main__":
    sys.exit(main())
