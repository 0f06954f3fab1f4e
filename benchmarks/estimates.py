"""The estimates of resources of 24 designs against Yosys, for the default family and those nextpnr routes.

    scripts/python benchmarks/estimates.py [--device NAME] [--only NAME …] [--others] [--json FILE]

The formulas of the estimate were fitted while the errors of these 24 were known. ``--others`` measures
designs of the gallery that are not among them.

What Yosys answers is kept in the cache, so a second run is quick. A resource of which Yosys counts fewer
than ``LEAST`` is shown and not judged: one lookup table more or less is then many per cent.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from allo.backend import devices
from allo.errors import AlloError
from benchmarks.harness import ROOT
from benchmarks.kernels import (
    axpy,
    float_gemm,
    float_quotients,
    gemm,
    kept,
    largest,
    pipelined,
    quotients,
    wide,
)

DEVICES = (devices.DEFAULT_DEVICE, *devices.routed())
KINDS = ("lut", "ff", "dsp", "bram")
LEAST = {"lut": 50, "ff": 50, "dsp": 1, "bram": 1}
MEDIAN_LIMIT, WORST_LIMIT = 0.10, 0.25
TIME_LIMIT = 1200.0
GALLERY = {
    "signal": ("fir", "biquad", "cordic"),
    "numeric": ("histogram", "prefix_sum", "reciprocal", "spmv", "systolic_matvec"),
    "sorting": ("bitonic", "merge_streams", "insertion_queue"),
    "image": ("convolution", "median"),
    "crypto": ("crc32", "lfsr"),
    "strings": ("run_length", "levenshtein"),
}
OTHERS = {
    "crypto": ("chacha20", "sha256"),
    "image": ("life",),
    "signal": ("fft",),
    "strings": ("smith_waterman",),
}

KERNELS: tuple[tuple[Callable[..., Any], str], ...] = (
    (gemm, "k"),
    (kept, ""),
    (largest, "i"),
    (axpy, "i"),
    (quotients, "i"),
    (float_quotients, "i"),
    (wide, "i"),
)


def designs(*, others: bool = False) -> dict[str, Callable[[], Any]]:
    """Makers of the schedules, by name; with ``others``, of designs that the formulas have not seen."""
    found: dict[str, Callable[[], Any]] = {}
    for family, names in (OTHERS if others else GALLERY).items():
        for name in names:
            found[name] = _gallery(f"allo.designs.gallery.{family}.{name}")
    for kernel, loop in ((float_gemm, "k"),) if others else KERNELS:
        found[kernel.__name__] = _own(kernel, loop)
    return found


def _gallery(module: str) -> Callable[[], Any]:
    return lambda: importlib.import_module(module).schedule()


def _own(kernel: Callable[..., Any], loop: str) -> Callable[[], Any]:
    return lambda: pipelined(kernel, [loop] if loop else [])


@dataclass(frozen=True)
class Figure:
    """One resource of one design; ``error`` is None where it is not judged."""

    design: str
    device: str
    kind: str
    estimate: int
    yosys: int
    error: float | None


def measure(name: str, make: Callable[[], Any], device: str) -> list[Figure]:
    """Build a design, estimate and synthesise it."""
    built = make().build(
        target="verilog", device=device, clock_mhz=devices.family(device).usual_mhz
    )
    estimate = built.report.resources
    found = built.synthesize(timeout=TIME_LIMIT).resources
    figures = []
    for kind in KINDS:
        ours, theirs = estimate.get(kind, 0), found[kind]
        error = abs(ours - theirs) / theirs if theirs >= LEAST[kind] else None
        if error is None and abs(ours - theirs) > LEAST[kind]:
            error = abs(ours - theirs) / LEAST[kind]
        figures.append(Figure(name, device, kind, ours, theirs, error))
    return figures


def shown(figures: list[Figure]) -> str:
    """A line of the table."""
    parts = []
    for figure in figures:
        error = "     –" if figure.error is None else f"{figure.error:6.1%}"
        parts.append(f"{figure.estimate:7,} {figure.yosys:7,} {error}")
    return f"{figures[0].design:16} {figures[0].device:5} " + "  ".join(parts)


def summary(figures: list[Figure]) -> bool:
    """Print median and worst error of each resource; whether the limits hold."""
    held = True
    for device in sorted({f.device for f in figures}):
        for kind in KINDS:
            judged = [
                f for f in figures if f.device == device and f.kind == kind and f.error is not None
            ]
            if not judged:
                continue
            errors = [f.error for f in judged if f.error is not None]
            worst = max(judged, key=lambda f: f.error or 0.0)
            middle = median(errors)
            held = held and middle <= MEDIAN_LIMIT and max(errors) <= WORST_LIMIT
            print(
                f"{device:5} {kind.upper():5} {len(judged):3} designs: median {middle:.1%}, "
                f"worst {max(errors):.1%} ({worst.design})"
            )
    print(
        f"limits (median {MEDIAN_LIMIT:.0%}, worst {WORST_LIMIT:.0%}):",
        "held" if held else "FAILED",
    )
    return held


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device", choices=devices.synthesised(), help="one family only")
    parser.add_argument("--only", nargs="+", default=[], help="names of designs")
    parser.add_argument("--others", action="store_true", help="designs that are not among the 24")
    default = ROOT / "out" / "benchmarks" / "estimates.json"
    parser.add_argument("--json", type=Path, default=default, help="where to write the figures")
    options = parser.parse_args()
    heads = "  ".join(f"{kind.upper():>7} {'Yosys':>7} {'error':>6}" for kind in KINDS)
    print(f"{'design':16} {'device':5}" + heads)
    rows: list[Figure] = []
    for name, make in designs(others=options.others).items():
        if options.only and name not in options.only:
            continue
        for device in [options.device] if options.device else DEVICES:
            try:
                figures = measure(name, make, device)
            except AlloError as error:
                print(f"{name:16} {device:5} {type(error).__name__}: {error.message}", flush=True)
                continue
            rows += figures
            print(shown(figures), flush=True)
    held = summary(rows)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
