"""The estimates of 40 designs against Yosys and nextpnr: those looked into, and those held out.

    scripts/python benchmarks/estimate_halves.py [--measure] [--seeds N] [--half NAME] [--only NAME …]
        [--device NAME] [--minutes N]

Eleven designs are of the 24 that the formulas were fitted to. 29 are new: MachSuite, the rest of the gallery
and kernels like those of CHStone. The order of the SHA-256 of their names says which: these eleven and the
first nine of the new ones are *fitted*, and their errors may be looked into; the other 20 are *held out*:
no model is changed for one of them. The kernels of ``fresh_kernels.py`` have been *looked at* since they were
measured, and so have those of ``OPENED``. Those of ``unseen_kernels.py`` were fresh for an earlier model, and
*measured once*; ``newest_kernels.py`` has the *fresh* ones, which are held
out, too: they were measured before an estimate of one was made. So were the *latest* ones of
``latest_kernels.py``, written when the model of now was closed.

What the tools measured is kept in ``estimate_halves.json`` with a fingerprint of the Verilog, in which the
lines of Python do not count. ``--measure`` measures what is missing there or was measured of another
Verilog. Estimates are always made anew.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import median, median_low
from typing import Any

from allo.backend import devices
from allo.designs.gallery.catalogue import ENTRIES
from allo.designs.machsuite import kernels as machsuite
from allo.dialects.text.verilog import without_comments
from allo.errors import AlloError, AlloWarning
from benchmarks import (
    chstone_kernels,
    estimates,
    fresh_kernels,
    latest_kernels,
    newest_kernels,
    unseen_kernels,
)

FAMILIES = (devices.DEFAULT_DEVICE, devices.routed()[0])
KEPT = Path(__file__).with_suffix(".json")
OTHERS = ("chacha20", "sha256", "life", "fft", "smith_waterman")
OPENED = (
    *("fft", "nw", "cic", "leb128", "radix_sort", "dilate", "mandelbrot"),
    *("speck", "binary_gcd", "bit_stuffing", "shell_sort", "md5"),
    *("dfmul", "aes", "kmp", "floyd_warshall", "haar", "a51", "adler32"),
    "half_products",
)
"""Held out or fresh once; what Yosys makes of them has been looked into since."""
KNOWN, LOOKED_INTO = 11, 9
"""So many of the 24 known designs, and of the new ones, are fitted."""
TOO_LARGE = ("md_grid", "md_knn", "backprop", "chacha20")
"""Over 5,000 lines of Verilog, which take Yosys many minutes; left out before anything was measured."""
AREA_LIMITS, CLOCK_LIMITS = (0.06, 0.20), (0.08, 0.20)
"""Median and worst."""
LEAST = estimates.LEAST
TIME_LIMIT = 900.0

Maker = Callable[[], Any]


def _in_order(names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: sha256(name.encode()).hexdigest())


def known_designs() -> dict[str, Maker]:
    """Those of the designs that the formulas were fitted to."""
    makers = estimates.designs()
    return {name: makers[name] for name in _in_order(list(makers))[:KNOWN]}


def new_designs() -> dict[str, Maker]:
    """The designs that nothing was fitted to before the halves were told apart."""
    found: dict[str, Maker] = {
        e.name: lambda entry=e: entry.load().schedule() for e in ENTRIES if e.name in OTHERS
    }
    for name in machsuite.NAMES:
        found[name] = lambda name=name: _of_machsuite(name)
    for name in chstone_kernels.KERNELS:
        found[name] = lambda name=name: chstone_kernels.schedule(name)
    return {name: found[name] for name in _in_order([n for n in found if n not in TOO_LARGE])}


def _of_machsuite(name: str) -> Any:
    kernel = machsuite.load(name)
    return kernel.schedule(kernel.SIZES["full"])


def looked_at_designs() -> dict[str, Maker]:
    """Ten more, which were fresh until their errors were looked into."""
    return {name: lambda name=name: fresh_kernels.schedule(name) for name in fresh_kernels.KERNELS}


def measured_once_designs() -> dict[str, Maker]:
    """Ten that were fresh for an earlier model; nobody has looked into those that are not ``OPENED``."""
    return {
        name: lambda name=name: unseen_kernels.schedule(name) for name in unseen_kernels.KERNELS
    }


def fresh_designs() -> dict[str, Maker]:
    """Ten that no estimate was made of before the tools measured them; held out but for ``OPENED`` ones."""
    return {
        name: lambda name=name: newest_kernels.schedule(name) for name in newest_kernels.KERNELS
    }


def latest_designs() -> dict[str, Maker]:
    """Nine more, written and measured when the causes found with those before had been mended."""
    return {
        name: lambda name=name: latest_kernels.schedule(name) for name in latest_kernels.KERNELS
    }


def halves() -> dict[str, dict[str, Maker]]:
    """The makers of the schedules by name: the two halves, those looked at since, and fresh ones."""
    new = list(new_designs().items())
    later = measured_once_designs(), fresh_designs(), latest_designs()
    closed = dict(new[LOOKED_INTO:]), *later
    opened = {name: makers.pop(name) for makers in closed for name in OPENED if name in makers}
    return {
        "fitted": known_designs() | dict(new[:LOOKED_INTO]),
        "held out": closed[0],
        "looked at": looked_at_designs() | opened,
        "measured once": closed[1],
        "fresh": closed[2],
        "latest": closed[3],
    }


@dataclass(frozen=True)
class Row:
    """One figure of one design; ``error`` is signed, and None where the tool counts fewer than ``LEAST``."""

    design: str
    half: str
    device: str
    kind: str
    estimate: float
    measured: float

    @property
    def error(self) -> float | None:
        """How far the estimate is off."""
        least = LEAST.get(self.kind, 0)
        if self.measured >= max(least, 1e-9):
            return self.estimate / self.measured - 1.0
        off = self.estimate - self.measured
        return off / least if abs(off) > least else None

    @property
    def figures(self) -> dict[str, float]:
        """What ``scripts/figures --update`` records."""
        key = f"estimates.{self.design}.{self.device}"
        return {
            f"{key}.estimated.{self.kind}": self.estimate,
            f"{key}.measured.{self.kind}": self.measured,
        }


def recorded(find: Callable[[str], float], known: Callable[[str], bool]) -> list[Row]:
    """The rows that recorded figures tell of, by their keys."""
    rows = []
    for half, makers in halves().items():
        for name in makers:
            for device in FAMILIES:
                for kind in (*estimates.KINDS, "mhz"):
                    keys = Row(name, half, device, kind, 0, 0).figures
                    if all(known(key) for key in keys):
                        rows.append(Row(name, half, device, kind, *(find(key) for key in keys)))
    return rows


def built(make: Maker, device: str) -> Any:
    """The design for a family, at the clock its designs often have."""
    return make().build(target="verilog", device=device, clock_mhz=devices.family(device).usual_mhz)


def fingerprint(verilog: str) -> str:
    """Of a Verilog text without its comments, and without the lines of Python in its names."""
    text = re.sub(r"_l\d+(?=_|\b)", "_l", without_comments(verilog))
    return sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Design:
    """One design, built for one family."""

    name: str
    half: str
    device: str
    mod: Any

    @property
    def key(self) -> str:
        """Its name among the measured figures, with what the family is among the two."""
        return f"{self.name}, {'default' if self.device == FAMILIES[0] else 'routed'}"

    def kept(self) -> dict[str, Any]:
        """What was measured of this Verilog; empty where nothing was."""
        found: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        figures: dict[str, Any] = found.get(self.key, {})
        return figures if figures.get("verilog") == fingerprint(self.mod.verilog) else {}

    def keep(self, figures: dict[str, Any]) -> None:
        """Write measured figures into the file."""
        found = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        found[self.key] = {"verilog": fingerprint(self.mod.verilog), **figures}
        KEPT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def measure(designs: list[Design], seeds: int, until: float) -> None:
    """Ask the tools for what is missing, short designs first: the areas, then one seed after another."""
    short = sorted(designs, key=lambda design: len(design.mod.verilog))
    for seed in range(seeds + 1):
        for design in short:
            kept = design.kept()
            routes = devices.family(design.device).routing is not None
            known = str(seed) in kept.get("mhz", {}) if seed else "lut" in kept
            if known or time.monotonic() > until or (seed and not (routes and kept)):
                continue
            start = time.perf_counter()
            try:
                if seed:
                    routed = design.mod.synthesize(route=True, seed=seed, timeout=TIME_LIMIT)
                    kept["mhz"][str(seed)] = round(routed.fmax_mhz, 2)
                else:
                    kept = {**design.mod.synthesize(timeout=TIME_LIMIT).resources, "mhz": {}}
            except AlloError as error:
                print(f"{design.key}: {type(error).__name__}: {error.message}", flush=True)
                continue
            design.keep(kept)
            print(f"{design.key} {seed}: {time.perf_counter() - start:.0f} s", flush=True)


def rows_of(design: Design) -> list[Row]:
    """The figures of a design beside those that are kept."""
    report, kept = design.mod.report, design.kept()
    place = design.name, design.half, design.device
    found = [
        Row(*place, kind, report.resources.get(kind, 0), kept[kind])
        for kind in estimates.KINDS
        if kept
    ]
    if kept.get("mhz"):
        reached = median_low(kept["mhz"].values())
        found.append(Row(*place, "mhz", round(between_registers(report), 1), reached))
    return found


def between_registers(report: Any) -> float:
    """The estimated clock of a design with registers at its ports, between which the tool routes it."""
    return float(min(report.fmax_mhz, report.registered_mhz or report.fmax_mhz))


def summary(rows: list[Row], half: str, device: str, kind: str) -> dict[str, Any] | None:
    """Median and worst error of one kind of figure, and the design that has the worst."""
    judged = [r for r in rows if (r.half, r.device, r.kind) == (half, device, kind)]
    errors = {r.design: r.error for r in judged if r.error is not None}
    if not errors:
        return None
    worst = max(errors, key=lambda name: abs(errors[name]))
    middle = median(abs(error) for error in errors.values())
    return {"designs": len(errors), "median": middle, "worst": errors[worst], "of": worst}


def shown(rows: list[Row]) -> str:
    """A line of the table."""
    parts = []
    for row in rows:
        error = "      –" if row.error is None else f"{row.error:+7.1%}"
        parts.append(f"{row.estimate:8,} {row.measured:8,} {error}")
    return f"{rows[0].design:16} {rows[0].half:9} {rows[0].device:5} " + " ".join(parts)


def summed_up(rows: list[Row]) -> bool:
    """Print median and worst error of each half, family and kind; whether all limits hold."""
    held = True
    for half in dict.fromkeys(row.half for row in rows):
        for device in FAMILIES:
            for kind in (*estimates.KINDS, "mhz"):
                found = summary(rows, half, device, kind)
                if found is None:
                    continue
                middle, worst = CLOCK_LIMITS if kind == "mhz" else AREA_LIMITS
                held = held and found["median"] <= middle and abs(found["worst"]) <= worst
                print(
                    f"{half:9} {device:5} {kind:5} {found['designs']:3} designs: median "
                    f"{found['median']:.1%}, worst {found['worst']:+.1%} ({found['of']})"
                )
    return held


def main() -> int:
    """Measure where asked to, estimate, print; 1 when a limit fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--measure", action="store_true", help="ask the tools for what is missing")
    parser.add_argument("--seeds", type=int, default=3, help="of nextpnr; 0 routes nothing")
    parser.add_argument("--half", choices=tuple(halves()), help="one half only")
    parser.add_argument("--only", nargs="+", default=[], help="names of designs")
    parser.add_argument("--device", choices=FAMILIES, help="one family only")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after so long")
    options = parser.parse_args()
    warnings.simplefilter("ignore", AlloWarning)
    until = time.monotonic() + 60 * options.minutes
    known = chosen(options.half, options.only, [options.device] if options.device else FAMILIES)
    if options.measure:
        measure(known, options.seeds, until)
    rows: list[Row] = []
    for design in known:
        found = rows_of(design)
        rows += found
        print(shown(found) if found else f"{design.key} is not measured", flush=True)
    held = summed_up(rows)
    if options.json:
        figures = {key: value for row in rows for key, value in row.figures.items()}
        options.json.write_text(json.dumps({"rows": [{"figures": figures}]}, indent=1) + "\n")
    return 0 if held else 1


def chosen(half: str | None, only: Sequence[str], families: Sequence[str]) -> list[Design]:
    """The designs of one half or both, built; all of them where ``only`` is empty."""
    return [
        Design(name, of, device, built(make, device))
        for of, makers in halves().items()
        for name, make in makers.items()
        for device in families
        if half in (None, of) and (not only or name in only)
    ]


if __name__ == "__main__":
    raise SystemExit(main())
