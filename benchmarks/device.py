"""The estimates of one device family against Yosys and nextpnr, for the small designs it is calibrated by.

    scripts/measure-device FAMILY [--only NAME …] [--others] [--seeds N] [--unrouted] [--json FILE]

``--others`` measures four designs that no figure was fitted to. Clocks are the median of ``--seeds`` runs of
nextpnr. The estimated path is the longest between registers, with those that routing puts at the ports;
``†`` marks one with a part that nextpnr does not time on the family (``Routing.untimed`` of its record).
What the tools answer is kept in the cache.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median_low
from typing import Any

import allo
from allo.backend import devices
from allo.backend.rtl.netlist.modules import Netlist
from allo.backend.rtl.resources.design import module_resources
from allo.backend.rtl.resources.paths import Path as SignalPath
from allo.backend.rtl.resources.paths import Step
from allo.errors import AlloError
from allo.ir.types import int32
from benchmarks.harness import ROOT
from benchmarks.kernels import gemm

KINDS = ("lut", "ff", "dsp", "bram")
CELLS, LIMIT = 10, 0.20
"""Cells, or part of what Yosys counts, that an estimate may be off."""
GALLERY = (
    "crypto.crc32", "numeric.histogram", "signal.fir", "strings.run_length", "image.convolution",
    "crypto.lfsr",
)  # fmt: skip
OTHERS = ("numeric.prefix_sum", "sorting.merge_streams", "strings.levenshtein", "signal.biquad")


@dataclass(frozen=True)
class Row:
    """One design: (estimated, found) of each resource and of the clock; whether nextpnr times it."""

    design: str
    device: str
    resources: dict[str, tuple[int, int]]
    mhz: tuple[float, float] | None
    timed: bool
    error: str = ""

    @property
    def far(self) -> list[str]:
        """The figures that are further off than they may be."""
        found = [
            kind
            for kind, (ours, theirs) in self.resources.items()
            if abs(ours - theirs) > max(CELLS if kind in ("lut", "ff") else 0, LIMIT * theirs)
        ]
        if self.mhz is not None and self.timed and abs(self.mhz[0] / self.mhz[1] - 1.0) > LIMIT:
            found.append("mhz")
        return found

    def shown(self) -> str:
        """A line of the table."""
        cells = [f"{kind} {ours:,} / {theirs:,}" for kind, (ours, theirs) in self.resources.items()]
        if self.mhz is not None:
            ours, theirs = self.mhz
            cells.append(
                f"MHz {ours:.1f} / {theirs:.1f} ({ours / theirs - 1.0:+.0%})"
                + "†" * (not self.timed)
            )
        marks = [f"FAR {', '.join(self.far)}"] * bool(self.far) + [self.error] * bool(self.error)
        return f"{self.design:14} " + "  ".join([*cells, *marks])


def counter(n: int32) -> int32:
    """A sum under a condition, with nothing else around it."""
    total: int32 = 0
    for i in range(1000):
        if i < n:
            total += i
    return total


def _gemm() -> Any:
    schedule = allo.customize(gemm)
    schedule.pipeline("k")
    return schedule


def designs(*, others: bool) -> dict[str, Callable[[], Any]]:
    """Makers of the schedules, by name."""
    found: dict[str, Callable[[], Any]] = {}
    if not others:
        found = {"gemm": _gemm, "counter": lambda: allo.customize(counter)}
    for name in OTHERS if others else GALLERY:
        module = f"allo.designs.gallery.{name}"
        found[name.rpartition(".")[2]] = lambda module=module: importlib.import_module(
            module
        ).schedule()
    return found


def longest(built: Any, netlist: Netlist | None, family: str) -> SignalPath:
    """The longest estimated path between registers at the ports; in the design alone of a large text."""
    if netlist is None:
        parts = built.report.critical_path
        steps = tuple(Step(part.what, part.delay_ns, part.place) for part in parts)
        return SignalPath(1000.0 / built.report.fmax_mhz, steps)
    delays = devices.family(family).signals
    timing = module_resources(netlist, family)[built.design.top].timing
    first, last = SignalPath(delays.clock_out), SignalPath(delays.setup)
    paths = [timing.worst, *(first.then(end) for end in timing.ends.values())]
    paths += [start.then(last) for start in timing.starts.values()]
    paths += [first.then(way).then(last) for _, way in timing.through.values()]
    return max(paths, key=lambda path: path.delay_ns)


def measure(name: str, make: Callable[[], Any], family: str, seeds: int) -> Row:
    """Build a design and ask the tools; without seeds it is not routed."""
    record = devices.family(family)
    built = make().build(target="verilog", device=family, clock_mhz=record.usual_mhz)
    netlist = built.design.netlist  # it is let go of with the report
    found = built.synthesize().resources
    ours = built.report.resources
    resources = {kind: (ours.get(kind, 0), found[kind]) for kind in KINDS}
    routing = record.routing
    if not seeds or routing is None:
        return Row(name, family, resources, None, False)
    path = longest(built, netlist, family)
    timed = routing.times([step.what for step in path.steps])
    try:
        runs = [built.synthesize(route=True, seed=k).routing for k in range(1, seeds + 1)]
    except AlloError as error:
        return Row(name, family, resources, None, timed, error.message)
    reached = median_low([run.fmax_mhz for run in runs])
    return Row(name, family, resources, (round(1000.0 / path.delay_ns, 1), reached), timed)


def main() -> int:
    """Measure, print, write; 1 where a figure is further off than it may be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("family", choices=devices.synthesised())
    parser.add_argument("--only", nargs="+", default=[], help="names of designs")
    parser.add_argument(
        "--others", action="store_true", help="the designs that nothing was fitted to"
    )
    parser.add_argument(
        "--seeds", type=int, default=1, help="runs of nextpnr, of which the median counts"
    )
    parser.add_argument("--unrouted", action="store_true", help="no place and route")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    rows = []
    for name, make in designs(others=options.others).items():
        if options.only and name not in options.only:
            continue
        seeds = 0 if options.unrouted else options.seeds
        rows.append(measure(name, make, options.family, seeds))
        print(rows[-1].shown(), flush=True)
    path = options.json or ROOT / "out" / "benchmarks" / f"device_{options.family}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return int(any(row.far for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
