"""The clock that designs reach after place and route, against the clock asked for and the estimate.

    scripts/python benchmarks/fmax.py [--device NAME] [--only NAME …] [--clock MHZ] [--seeds N]
        [--router NAME]

Every design is built for a device family at the clock, synthesised by Yosys, and placed and routed by nextpnr
for the family's part between registers at its ports. With ``--seeds`` it is placed and routed that
often, with the seeds 1, 2, …, and the median counts. Crowded designs, such as the 8 × 8 array, are routed by
nextpnr's ``router2`` and take minutes, unless ``--router`` names one. What the tools answer is kept in the
cache.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median_low
from typing import Any

import allo
from allo.backend import devices
from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.netlist.modules import Netlist
from allo.backend.rtl.operators import OperatorLibrary
from allo.backend.rtl.resources.design import module_resources
from allo.backend.synth import Synthesis, synthesize
from allo.customize import Schedule
from allo.errors import AlloError
from allo.ir.types import int8, int32
from allo.library.systolic_array import schedule_systolic_array, systolic_array
from benchmarks.harness import ROOT
from benchmarks.kernels import float_gemm, gemm, pipelined

DEVICE = devices.routed()[0]
CLOCK_MHZ = 100.0
ERROR_LIMIT = 0.20
TIME_LIMIT = 1500.0
GALLERY = {
    "fir": "signal.fir",
    "histogram": "numeric.histogram",
    "crc32": "crypto.crc32",
    "convolution": "image.convolution",
    "bitonic": "sorting.bitonic",
    "spmv": "numeric.spmv",
}
UNITS = {
    "float add": ("arith.addf", 2),
    "float multiply": ("arith.mulf", 2),
    "float divide": ("arith.divf", 2),
    "float square root": ("math.sqrt", 1),
}


@dataclass(frozen=True)
class Routes:
    """How nextpnr routes: with which seeds of its random numbers (None: its own), which router and device."""

    seeds: tuple[int | None, ...] = (None,)
    router: str = "auto"
    device: str = DEVICE


@dataclass(frozen=True)
class Row:
    """One design: what it takes, its cycles (of a unit, its latency), and the clock that it reaches."""

    design: str
    cycles: int | None
    lut: int
    ff: int
    dsp: int
    bram: int
    asked_mhz: float
    reached_mhz: float
    estimated_mhz: float
    path: str
    all_mhz: tuple[float, ...] = ()

    @property
    def meets(self) -> bool:
        """Whether the clock asked for is reached."""
        return self.reached_mhz >= self.asked_mhz

    @property
    def error(self) -> float:
        """How far the estimate is from the clock reached."""
        return self.estimated_mhz / self.reached_mhz - 1.0


def _pipelined(kernel: Callable[..., Any], loop: str) -> Callable[[], Schedule]:
    return lambda: pipelined(kernel, [loop])


def _systolic(size: int) -> Callable[[], Schedule]:
    parameters = [int8, int8, int32, size, 16, size]
    return lambda: schedule_systolic_array(allo.customize(systolic_array, instantiate=parameters))


def _gallery(module: str) -> Callable[[], Schedule]:
    return lambda: importlib.import_module(f"allo.designs.gallery.{module}").schedule()


def designs() -> dict[str, Callable[[], Schedule]]:
    """Makers of the schedules, by name."""
    return {
        "gemm int8": _pipelined(gemm, "k"),
        "gemm float32": _pipelined(float_gemm, "j"),
        "systolic 4×4": _systolic(4),
        "systolic 8×8": _systolic(8),
        **{name: _gallery(module) for name, module in GALLERY.items()},
    }


def measure_design(
    name: str, make: Callable[[], Schedule], clock_mhz: float, routes: Routes
) -> Row:
    """Build a design, and place and route it."""
    built = make().build(target="verilog", device=routes.device, clock_mhz=clock_mhz)
    report = built.report
    found = _routed(built.verilog, built.design.top, clock_mhz, routes)
    return _row(name, report.cycles, found, report.fmax_mhz or 0.0)


def measure_unit(name: str, clock_mhz: float, routes: Routes) -> Row:
    """Place and route a float unit by itself."""
    op, operands = UNITS[name]
    unit = OperatorLibrary(routes.device, clock_mhz).find(op, ("f32",) * operands, "f32")
    assert unit.unit_module is not None
    module = replace(unit.unit_module("rtl"), private=False)
    timing = module_resources(Netlist([module]), routes.device)[unit.module].timing
    estimated = 1000.0 / timing.worst.delay_ns
    found = _routed(export_verilog(module.text()), unit.module, clock_mhz, routes)
    return _row(name, unit.latency, found, round(estimated, 1))


def _routed(verilog: str, top: str, clock_mhz: float, routes: Routes) -> list[Synthesis]:
    """A design as each seed places and routes it."""
    return [
        synthesize(
            verilog,
            top,
            routes.device,
            clock_mhz=clock_mhz,
            route=True,
            seed=seed,
            router=routes.router,
            timeout=TIME_LIMIT,
        )
        for seed in routes.seeds
    ]


def _row(name: str, cycles: int | None, runs: list[Synthesis], estimated: float) -> Row:
    reached = {run.routing.fmax_mhz: run for run in runs if run.routing is not None}
    found = reached[median_low([run.routing.fmax_mhz for run in runs if run.routing is not None])]
    routing = found.routing
    assert routing is not None
    steps = routing.critical_path
    path = " ".join(f"{s.kind[:1]}{s.delay_ns:.1f}" for s in steps)
    places = dict.fromkeys(s.place.rpartition("/")[2] for s in steps if s.place)
    return Row(
        name, cycles, found.lut, found.ff, found.dsp, found.bram,
        routing.asked_mhz, routing.fmax_mhz, estimated, f"{path} {', '.join(places)}",
        tuple(run.routing.fmax_mhz for run in runs if run.routing is not None),
    )  # fmt: skip


def main() -> int:
    """Measure, print, write; 1 when a design misses the clock, or its estimate is too far off."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[], help="names of designs")
    parser.add_argument("--clock", type=float, default=CLOCK_MHZ, help="megahertz asked for")
    parser.add_argument("--device", choices=devices.routed(), default=DEVICE, help="family")
    parser.add_argument("--seeds", type=int, default=0, help="how many seeds; 0: nextpnr's own")
    parser.add_argument("--router", choices=devices.routers(), default="auto", help="of nextpnr")
    default = ROOT / "out" / "benchmarks" / "fmax.json"
    parser.add_argument("--json", type=Path, default=default, help="where to write the figures")
    options = parser.parse_args()
    print(f"{'design':18} cycles     LUT      FF  DSP BRAM  asked reached estimate")
    rows: list[Row] = []
    routes = Routes(tuple(range(1, options.seeds + 1)) or (None,), options.router, options.device)
    failed = False
    for name in [*UNITS, *designs()]:
        if options.only and name not in options.only:
            continue
        try:
            if name in UNITS:
                row = measure_unit(name, options.clock, routes)
            else:
                row = measure_design(name, designs()[name], options.clock, routes)
        except AlloError as error:
            print(f"{name:18} {type(error).__name__}: {error.message}", flush=True)
            failed = True
            continue
        rows.append(row)
        cycles = "–" if row.cycles is None else f"{row.cycles:,}"
        missed = "" if row.meets else f"MISSED  {row.path}"
        every = " ".join(f"{mhz:.1f}" for mhz in row.all_mhz) if len(row.all_mhz) > 1 else ""
        print(
            f"{name:18} {cycles:>6} {row.lut:7,} {row.ff:7,} {row.dsp:4} {row.bram:4} "
            f"{row.asked_mhz:6.0f} {row.reached_mhz:7.1f} {row.error:+8.1%}  {every} {missed}",
            flush=True,
        )
    options.json.parent.mkdir(parents=True, exist_ok=True)
    if rows:
        far = max(rows, key=lambda row: abs(row.error))
        print(
            f"the estimate is at most {abs(far.error):.1%} off ({far.design}); limit {ERROR_LIMIT:.0%}"
        )
        failed = failed or abs(far.error) > ERROR_LIMIT
    figures = [asdict(row) | {"meets": row.meets, "error": row.error} for row in rows]
    options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if not failed and all(row.meets for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
