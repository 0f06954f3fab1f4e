"""PolyBench at MEDIUM on three budgets of DSPs: cycles beside the best published figures.

scripts/python benchmarks/rtl_polybench.py [--kernel NAME ...] [--budget DSPS ...] [--equal-pairs]
    [--clock MHZ] [--subnormals keep] [--simulate | --report]

A schedule gets as many multiplier-adder pairs as the DSPs of the budget and the lookup tables of a U280
make by the estimate of the whole design. With ``--equal-pairs`` it gets at most a pair for every 5 DSPs,
which is what a pair takes in the published designs; ours takes 2, because its adder is made of lookup tables.

Without ``--clock`` a design is compiled for the clock of ``polybench_bounds.asked_mhz``, those of equal pairs
for the lower one of the two.

Floats flush subnormals to zero, as those of the vendor's units in the published designs do;
``--subnormals keep`` builds the larger units that keep them.

Cycles are those of the report, which counts static designs exactly. The rows of the smallest budget, and with
``--simulate`` all rows, are also run in the in-process simulator, and every element is compared with the CPU
build of the same schedule (same bits) and with NumPy; with ``--report`` nothing is emitted and none is run.
Lookup tables, flip-flops, DSPs and block RAMs are estimates of the whole design. Peers are the best published
designs of at most as many DSPs, in cycles of RTL simulation; where there are none, the cycles that the
vendor's tool estimated for Allo, of any number of DSPs. Beside the utilisation of the units stands what the
size allows (``polybench_bounds.py``), with the key of a reason where that is less than 0.95. The time for a
share of a U280 is compared with Stream-HLS (``polybench_shares.py``).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from allo.backend.devices import DEFAULT_DEVICE, resources_of
from allo.dialects.reports.figures import DesignReport
from allo.errors import CapacityWarning
from benchmarks.harness import Row, command_line, finish
from benchmarks.polybench_bounds import FED, LOWER, REASONS, Bound, asked_mhz, bound
from benchmarks.polybench_shares import STREAM_HLS, WANTED, Taken, gain, mean, microseconds
from tests.designs.by_hand import NAMES, Budgeted, load, most_pairs

BUDGETS = {220: 44, 2560: 512, 9024: 1804}
"""DSPs of the published designs of a column, and the pairs that these make at 5 DSPs each."""
DEVICE = {kind: resources_of(DEFAULT_DEVICE)[kind] for kind in ("lut", "ff", "dsp", "bram")}
"""What a U280 has."""
SIZE = "medium"
TOLERANCE = 1e-4
"""Of the largest element, against NumPy, which adds in another order."""
GIVEN = {
    ("gesummv", 220): 100,
    ("three_mm", 9024): 1760,
    ("correlation", 9024): 1600,
    ("symm", 9024): 1760,
    ("trmm", 9024): 1660,
}
"""Pairs with which the search starts for a budget of DSPs, where more take fewer cycles but are busy for less
of them. For gesummv the tiles of 100 pairs divide the matrix."""
TRIES = 12
"""Designs that are estimated for a row, at most."""
WINS = 12
"""Kernels, of 13, on which a column shall take fewer cycles than its peer."""


class Asked(TypedDict):
    """Options of a build that a design is measured with."""

    clock_mhz: float
    subnormals: str


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
    """A kernel on a budget of DSPs, by a schedule for so many pairs."""

    report: DesignReport
    budget: int
    pairs: int
    asked_mhz: float
    operations: int
    bound: Bound
    simulated: bool
    emitted: str = ""

    @property
    def cycles(self) -> int:
        """Of one run."""
        return self.report.cycles or 0

    @property
    def taken(self) -> Taken:
        """Its time, and what it takes of the device."""
        found = self.report.resources
        us = microseconds(self.cycles, self.report.fmax_mhz or 0.0, self.asked_mhz)
        return Taken(us, found["lut"], found["dsp"])

    @property
    def utilisation(self) -> float:
        """Useful float operations of each unit and cycle."""
        return self.operations / (self.report.float_units * self.cycles)

    def note(self) -> str:
        """The figures beside the cycles."""
        found = self.report.resources
        used = ", ".join(f"{found.get(name, 0):,} {name.upper()}" for name in DEVICE)
        return (
            f"{self.taken.us:.1f} µs at {self.report.fmax_mhz:.0f} MHz by estimate; "
            f"{self.report.float_units:,} float units at {self.utilisation:.3f}, where the size allows "
            f"{self.bound.utilisation:.3f}{self.bound.reason and f' ({self.bound.reason})'}; {used}"
            f"{'' if excess(self.report, self.budget) <= 1 else ', MORE THAN THERE ARE'}"
            f"{self.emitted}{'; simulated' if self.simulated else ''}"
        )


def excess(report: DesignReport, budget: int) -> float:
    """The largest share that a design takes of the budget's DSPs and of what a U280 has."""
    have = DEVICE | {"dsp": budget}
    return max(report.resources.get(name, 0) / most for name, most in have.items())


def fitting(name: str, budget: int, most: int, asked: Asked) -> tuple[int, DesignReport]:
    """The pairs, at most so many, whose design the budget's DSPs and a U280 suffice for, and its report.

    Fewer pairs are tried until they suffice, and then more again, as long as that is worth a try.
    """
    kernel = load(name)
    fits: list[tuple[int, int, DesignReport]] = []

    def share_of(pairs: int) -> tuple[float, DesignReport]:
        schedule = kernel.schedule(kernel.SIZES[SIZE], pairs)
        report = schedule.estimate(device=DEFAULT_DEVICE, **asked)
        share = excess(report, budget)
        if share <= 1 or pairs == 1:
            fits.append((report.cycles or 0, pairs, report))
        return share, report

    pairs, too_many = most, most + 1
    for _ in range(TRIES):
        share, report = share_of(pairs)
        too_many = too_many if fits and fits[-1][1] == pairs else pairs
        least = max((n for _, n, _ in fits), default=0)
        if too_many - least <= max(1, least // 50):
            break
        used = min(pairs - 1, report.float_units // 2)
        pairs = (least + too_many) // 2 if fits else max(1, int(used / max(share, 1.005)))
    if fits[0][1] < most:  # tiles of fewer pairs may fit the extents better
        for percent in (96, 90):
            share_of(max(1, fits[0][1] * percent // 100))
    _, pairs, report = min(fits, key=lambda fit: fit[:2])
    return pairs, report


def measure(name: str, budget: int, most: int, asked: Asked, run: bool | None) -> Measured:
    """Build a kernel on at most so many pairs, and run it against the CPU build and NumPy.

    Args:
        run: whether to run it; None: do not emit it either.
    """
    kernel = load(name)
    size = kernel.SIZES[SIZE]
    pairs, report = fitting(name, budget, most, asked)
    operations = kernel.operations(size)
    limit = bound(name, size, report.float_units, operations, asked["clock_mhz"])
    found = Measured(report, budget, pairs, asked["clock_mhz"], operations, limit, bool(run))
    if run is None:
        return found
    began = time.process_time()
    schedule = kernel.schedule(size, pairs)
    hardware = schedule.build(target="verilog", simulator="jit", device=DEFAULT_DEVICE, **asked)
    megabytes = len(str(hardware)) / 1e6
    seconds = time.process_time() - began
    emitted = f"; {seconds:.1f} s to {megabytes:.1f} MB of Verilog"
    if run:
        reference = schedule.build(subnormals=asked["subnormals"])
        ours, cpu = _run(kernel, hardware), _run(kernel, reference)
        if any(a.tobytes() != b.tobytes() for a, b in zip(ours, cpu, strict=True)):
            raise RuntimeError(f"{name} on {pairs} pairs: RTL and CPU differ.")
        if hardware.cycles != report.cycles:
            raise RuntimeError(f"{name} on {pairs} pairs: not the cycles of the report.")
        for a, b in zip(cpu, _run(kernel, kernel.reference), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE * np.abs(b).max())
    return replace(found, emitted=emitted)


def _run(kernel: Budgeted, function) -> tuple[np.ndarray, ...]:  # type: ignore[no-untyped-def]
    """All arguments after a run on the random arguments of the benchmark, and the result."""
    arrays = kernel.inputs(np.random.default_rng(12), kernel.SIZES[SIZE])
    result = function(*arrays)
    return arrays if result is None else (*arrays, np.asarray(result))


def row_of(name: str, measured: Measured, *, equal_pairs: bool) -> Row:
    """The cycles of a kernel beside those of its peer."""
    column = f"pairs_{BUDGETS[measured.budget]}" if equal_pairs else f"dsp_{measured.budget}"
    taken = measured.report.resources
    figures: dict[str, float] = {"cycles": measured.cycles}
    if not equal_pairs:
        figures |= {"dsp": taken["dsp"], "lut": taken["lut"], "units": measured.report.float_units}
        figures["mhz"] = round(measured.report.fmax_mhz or 0.0, 1)
    cycles, who = PUBLISHED[name][list(BUDGETS).index(measured.budget)]
    against = who if who == _CSYNTH else f"{who}, at most {measured.budget:,} DSP"
    what = f"{name}, {measured.pairs:,} pairs"
    recorded = {f"polybench.{name}.{column}.{what}": value for what, value in figures.items()}
    return Row(
        what, measured.cycles, "cycles", against, cycles, note=measured.note(), figures=recorded
    )


def verdicts(column: str, rows: list[Row], measured: list[Measured], *, judged: bool) -> list[Row]:
    """What a whole column shows; ``judged``: whether it shall be fewer cycles."""
    fewer = sum(row.value < row.reference for row in rows)
    least, shall = WINS - 13 + len(rows), False if judged else None
    shares = [excess(m.report, m.budget) for m in measured]
    fed = [m for m in measured if m.bound.utilisation >= FED]
    busy = sum(m.utilisation >= FED for m in fed)
    return [
        Row(f"{column}: kernels with fewer cycles", fewer, "", "limit", least, shall),
        Row(f"{column}: the largest share of a resource", max(shares), "", "there", 1, True),
        Row(
            f"{column}: rows that the size can feed, at 0.95 or more",
            busy,
            "",
            "such rows",
            len(fed),
        ),
    ]


def shares(column: str, names: Sequence[str], measured: Sequence[Measured]) -> list[Row]:
    """The speed for a share of a U280 beside that of Stream-HLS, where all its kernels are measured."""
    found = dict(zip(names, measured, strict=True))
    if not STREAM_HLS.keys() <= found.keys():
        return []
    which = list(BUDGETS).index(measured[0].budget)
    gains = [gain(found[name].taken, peers[which]) for name, peers in STREAM_HLS.items()]
    what = f"{column}: speed for a share of a U280, Stream-HLS's being 1, mean of {len(gains)}"
    return [Row(what, mean(gains), "", "asked for", WANTED[which])]


def main() -> int:
    """Measure, print, write; 1 when a limit fails or results differ."""
    parser = command_line(__doc__)
    parser.add_argument("--kernel", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--budget", nargs="+", type=int, choices=BUDGETS, default=[*BUDGETS])
    parser.add_argument("--equal-pairs", action="store_true", help="a pair for every 5 DSPs")
    parser.add_argument("--clock", type=float, help="MHz, of every design")
    parser.add_argument("--subnormals", choices=("keep", "flush"), default="flush")
    parser.add_argument("--simulate", action="store_true", help="all rows, which takes minutes")
    parser.add_argument("--report", action="store_true", help="emit and simulate nothing")
    given = parser.parse_args()
    warnings.simplefilter("ignore", CapacityWarning)
    rows, columns = [], []
    for budget in given.budget:
        run = None if given.report else given.simulate or budget == min(BUDGETS)
        measured = []
        for name in given.kernel:
            most = GIVEN.get((name, budget), most_pairs(name, budget))
            most = BUDGETS[budget] if given.equal_pairs else most
            usual = LOWER if given.equal_pairs else asked_mhz(name, budget)
            asked: Asked = {
                "clock_mhz": given.clock or usual,
                "subnormals": given.subnormals,
            }
            measured.append(measure(name, budget, most, asked, run))
        column = [
            row_of(name, found, equal_pairs=given.equal_pairs)
            for name, found in zip(given.kernel, measured, strict=True)
        ]
        rows += column
        title = f"at most {BUDGETS[budget]:,} pairs" if given.equal_pairs else f"{budget:,} DSP"
        columns += verdicts(title, column, measured, judged=not given.equal_pairs)
        columns += shares(title, given.kernel, measured)
    title = "PolyBench MEDIUM, fp32, on budgets of DSPs"
    name = "rtl_polybench_pairs" if given.equal_pairs else "rtl_polybench"
    status = finish(name, title, [*rows, *columns], given.json)
    for key, reason in REASONS.items():
        if key:
            print(f"({key}) {reason}")
    return status


if __name__ == "__main__":
    sys.exit(main())
