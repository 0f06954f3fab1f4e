"""Estimate small wide accelerators, and keep what their processes take, for the search.

    scripts/python designs/llm/plan/measure.py

Each estimate is that of the compiler for the whole design (``Schedule.estimate``), at 300 MHz for
UltraScale+. The figures go to ``designs/llm/data/processes.json``; a minute of CPU.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import asdict
from typing import Any

from rich.console import Console

from allo.designs.llm.config import GPTConfig
from allo.designs.llm.plan.reports import PROCESSES, depths_of, process_name
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.parameters import Wide

CLOCK_MHZ = 300
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
        found.setdefault(name, []).append(function.resources)
    processes = {
        name: {"count": len(parts)}
        | {
            kind: round(sum(part.get(kind, 0) for part in parts) / len(parts), 1)
            for kind in ("lut", "ff", "dsp", "bram", "uram")
            if any(part.get(kind) for part in parts)
        }
        for name, parts in found.items()
    }
    return {
        "config": asdict(config),
        "wide": asdict(wide),
        "whole": report.resources,
        "fmax_mhz": report.fmax_mhz,
        "processes": processes,
        "depths": asdict(depths_of(report, config.d // wide.vector)),
    }


def main() -> int:
    """Measure all settings and write the file."""
    warnings.simplefilter("ignore")
    console = Console()
    samples = []
    for shape, widths in SETTINGS:
        samples.append(measure(shape, widths))
        console.print(shape, widths, samples[-1]["whole"])
    text = ",\n".join(json.dumps(sample) for sample in samples)
    PROCESSES.write_text(f"[\n{text}\n]\n")
    console.print(f"wrote {PROCESSES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
