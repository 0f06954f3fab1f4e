"""Estimate small wide accelerators, and keep what their processes take, for the search.

    scripts/python designs/llm/plan/measure.py [--only processes|ternary|merged|kernels] [--workers N]

Each estimate is that of the compiler for the whole design (``Schedule.estimate``), at 300 MHz for
UltraScale+: 100 designs, half a minute of CPU each. The figures go to ``designs/llm/data``:
``processes.json``, and of the designs that are in ``ternary.json`` and ``merged.json``, there anew. The large
kernels of the designs in ``kernels.json`` are estimated alone, in seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from dataclasses import asdict
from multiprocessing import get_context
from typing import Any

from rich.console import Console

import allo
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.plan.fifos import CLOCK_MHZ
from allo.designs.llm.plan.fits import KINDS
from allo.designs.llm.plan.merged import (
    FOLDED,
    KERNELS,
    MERGED,
    bits_of,
    path_of,
    process_of,
    shape_of,
)
from allo.designs.llm.plan.reports import OTHERWISE, PROCESSES, TERNARY, depths_of, process_name
from allo.designs.llm.stage import Loops
from allo.designs.llm.wide.build import schedule, stages_of
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.stages.sizes import sizes_of

SHAPE = {"layers": 2, "d": 256, "heads": 4, "ffn": 1024, "context": 64, "vocab": 100}
WIDTHS: dict[str, Any] = {"channels": 4, "lanes": 32, "vector": 8, "heads": 2, "prefetch": 64}
LARGE = {"d": 1024, "heads": 16, "ffn": 4096}

SETTINGS: tuple[tuple[dict[str, int], dict[str, int]], ...] = (
    ({}, {}),
    *(({}, {"channels": n}) for n in (8, 16, 32)),
    *(({}, {"lanes": n}) for n in (16, 64, 128)),
    *(({}, {"vector": n}) for n in (4, 16, 32)),
    *(({}, {"heads": n}) for n in (1, 4)),
    *(({}, {"prefetch": n}) for n in (256, 1024)),
    *(({}, {"gelu_interval": n}) for n in (1, 2, 8)),
    *(({}, {"gelu_interval": n, "vector": 16}) for n in (1, 2, 8)),
    ({"d": 512, "heads": 8}, {}),
    (LARGE, {}),
    (LARGE, {"vector": 16, "heads": 4, "lanes": 64, "channels": 16}),
    ({"heads": 2}, {}),
    ({"heads": 8}, {}),
    ({"context": 1024}, {}),
    *(({}, {"bits": 4, "lanes": n}) for n in (16, 32, 64)),
    (LARGE, {"bits": 4, "vector": 16, "heads": 4, "lanes": 64, "channels": 16}),
)
"""What differs from SHAPE and WIDTHS in each design: one parameter at a time, and some together."""


def measure(shape: dict[str, int], widths: dict[str, Any]) -> dict[str, Any]:
    """Estimate one design: what each process takes on average, and the depths of its loops."""
    config, wide = GPTConfig(**{**SHAPE, **shape}), Wide(**{**WIDTHS, **widths})
    report = schedule(config, wide).estimate(clock_mhz=CLOCK_MHZ)
    found: dict[str, list[dict[str, int]]] = {}
    for function in report.functions:
        name = process_name(function.name)
        if name == "element" and wide.bits == 4:
            name = "element_nibbles"
        if name in OTHERWISE and wide.trits:
            name = f"{name}_trits"
        found.setdefault(name, []).append(function.resources)
    processes = means(found)
    return {
        "config": asdict(config),
        "wide": asdict(wide),
        "whole": report.resources,
        "fmax_mhz": report.fmax_mhz,
        "processes": processes,
        "depths": asdict(depths_of(report, config.d // wide.vector)),
    }


def means(found: dict[str, list[dict[str, int]]]) -> dict[str, dict[str, float]]:
    """What an instance of each process takes on average."""
    return {
        name: {"count": len(parts)}
        | {
            kind: round(sum(part.get(kind, 0) for part in parts) / len(parts), 1)
            for kind in KINDS
            if any(part.get(kind) for part in parts)
        }
        for name, parts in found.items()
    }


def measure_merged(shape: dict[str, Any], widths: dict[str, Any]) -> dict[str, Any]:
    """Estimate a design with one reader a channel: processes, FIFOs, and the delays of stages."""
    config, wide = shape_of(shape), Wide(**widths)
    report = schedule(config, wide).estimate(clock_mhz=CLOCK_MHZ)
    found: dict[str, list[dict[str, int]]] = {}
    for function in report.functions:
        name = process_of(function.name)
        if name == "element" and wide.bits == 4:
            name = "element_nibbles"
        if name == "embedding" and config.gated:
            name = "passing"
        found.setdefault(name, []).append(function.resources)
    network = next(function.network for function in report.functions if function.network)
    fifos = Counter((process_name(f.name), bits_of(f.dtype), f.depth) for f in network.fifos)
    loops = Loops(report)
    delays = {name: s.delay(loops) for name, s in stages_of(sizes_of(config, wide)).items()}
    return {
        "shape": shape,
        "widths": widths,
        "whole": report.resources,
        "fmax_mhz": report.fmax_mhz,
        "processes": means(found),
        "fifos": [[*key, count] for key, count in fifos.items()],
        "delays": {name: delay for name, delay in delays.items() if delay},
        "slowest": path_of(part.place for part in report.critical_path),
    }


def measure_kernels(shape: dict[str, Any], widths: dict[str, Any]) -> dict[str, Any]:
    """Estimate kernels alone: the large ones that gates and keys and values of four bits change."""
    config, wide = shape_of(shape), Wide(**widths)
    processes = {}
    for stage in stages_of(sizes_of(config, wide)).values():
        for kernel in stage.kernels:
            if kernel.name in FOLDED:
                alone = allo.customize(kernel.function, instantiate=list(kernel.sizes))
                report = kernel.schedule(alone).estimate(clock_mhz=CLOCK_MHZ)
                taken = {kind: report.resources.get(kind, 0) for kind in KINDS}
                processes[FOLDED[kernel.name]] = {kind: n for kind, n in taken.items() if n}
    return {"shape": shape, "widths": widths, "processes": processes}


def one_of(job: tuple[str, dict[str, int], dict[str, Any]]) -> dict[str, Any]:
    """One estimate, in a process of its own."""
    warnings.simplefilter("ignore")
    kind, shape, widths = job
    if kind == "merged":
        return measure_merged(shape, widths)
    return measure_kernels(shape, widths) if kind == "kernels" else measure(shape, widths)


def jobs_of(kind: str) -> list[tuple[str, dict[str, int], dict[str, Any]]]:
    """The designs of a file."""
    if kind == "processes":
        return [(kind, *setting) for setting in SETTINGS]
    if kind in ("merged", "kernels"):
        return [(kind, s["shape"], s["widths"]) for s in json.loads(FILES[kind].read_text())]
    return [
        (kind, {name: s["config"][name] for name in SHAPE}, s["wide"])
        for s in json.loads(TERNARY.read_text())
    ]


FILES = {"processes": PROCESSES, "ternary": TERNARY, "merged": MERGED, "kernels": KERNELS}


def main() -> int:
    """Measure all settings and write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=FILES, help="one file")
    parser.add_argument("--workers", type=int, default=1, help="estimates at once")
    given = parser.parse_args()
    console = Console()
    for kind in [given.only] if given.only else list(FILES):
        with get_context("spawn").Pool(given.workers) as pool:
            samples = pool.map(one_of, jobs_of(kind), chunksize=1)
        text = ",\n".join(json.dumps(sample, separators=(",", ":")) for sample in samples)
        FILES[kind].write_text(f"[\n{text}\n]\n")
        console.print(f"wrote {FILES[kind]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
