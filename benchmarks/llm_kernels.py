"""The largest kernels of the wide transformer accelerator in Yosys, each alone, beside our estimates.

    scripts/python benchmarks/llm_kernels.py [--only NAME …] [--lanes N] [--json FILE]

The kernels have the parameters of GPT-2 355M (benchmarks/llm_wide.py, benchmarks/llm_prefill.py), and are
built for 300 MHz and synthesised for UltraScale+. Each stands for as many as the whole design has; what
these take together is put beside the estimate of the whole. What Yosys answers is kept in the cache.
A run that is not kept takes minutes and up to some gigabytes for the widest.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import allo
from allo.backend.devices import DEFAULT_DEVICE
from allo.customize import Schedule
from allo.designs.llm.config import GPTConfig
from allo.designs.llm.wide import heads
from allo.designs.llm.wide.activation import bend, schedule_bend
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.linear import multiply_block, schedule_multiply_block
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.families.model import job_sizes, terms
from allo.designs.llm.wide.linear import multiply, rescale, schedule_multiply, schedule_rescale
from allo.designs.llm.wide.nibbles import (
    lane_bits,
    multiply_nibbles,
    schedule_multiply_nibbles,
)
from allo.designs.llm.wide.norm import normalise, schedule_normalise
from allo.designs.llm.wide.parameters import Wide, padded_vocab
from allo.dialects.diagnostics import CapacityWarning
from allo.errors import AlloError, DTypeWarning
from benchmarks.harness import ROOT

CLOCK_MHZ = 300.0
DEVICE = DEFAULT_DEVICE
KINDS = ("lut", "ff", "dsp", "bram")
WORST_LIMIT = 0.25
LEAST = {"lut": 50, "ff": 50, "dsp": 1, "bram": 1}
TIME_LIMIT = 900.0
CONFIG = GPTConfig(layers=24, d=1024, heads=16, ffn=4096, context=256, vocab=50_257)
BLOCK = Block(rows=6, tokens=36, most=128, norms=4)


@dataclass(frozen=True)
class Kernel:
    """A kernel of a design: its schedule, and how many of it the design has."""

    name: str
    design: str
    count: int
    make: Callable[[], Schedule]


@dataclass(frozen=True)
class Figure:
    """What one kernel takes by our estimate and in Yosys."""

    kernel: str
    design: str
    count: int
    estimate: dict[str, int]
    yosys: dict[str, int]

    def error(self, kind: str) -> float | None:
        """How far the estimate is off; None where Yosys counts too few to judge."""
        theirs = self.yosys[kind]
        ours = self.estimate[kind]
        return ours / theirs - 1 if theirs >= LEAST[kind] else None


def of(kernel: Any, *sizes: int) -> Schedule:
    """A kernel at its sizes."""
    return allo.customize(kernel, instantiate=list(sizes))


def wides(lanes: int) -> dict[str, Wide]:
    """The parameters of the three designs."""
    return {
        "W8A8": Wide(lanes=lanes),
        "W4A8": Wide(lanes=lanes, bits=4),
        "blocks": Wide(lanes=lanes, gelu_interval=1),
    }


def kernels(lanes: int) -> list[Kernel]:
    """The largest kernels, with the sizes that their designs give them."""
    c, wide = CONFIG, wides(lanes)["W8A8"]
    outputs, units = padded_vocab(c, wide), wide.heads
    (qkv, _), _, (up, _), _ = job_sizes(c)
    per_sum, per_element = terms(c)
    outs = outputs // wide.channels
    first, behind = (lanes, wide.channels, c.d, qkv), (up, c.ffn, c.layers, outs)
    in_blocks = (lanes, wide.channels, c.d, qkv, up, c.ffn, c.layers, outs)
    head = (c.head_dim, c.heads // units, 1, c.context, c.layers)
    v, parts = wide.vector, wide.parts
    norm = (c.d, v, v.bit_length() - 1, parts, parts.bit_length() - 1, c.layers, per_element)
    rows = (BLOCK.rows, BLOCK.tokens, 0, 0, 0)
    return [
        Kernel(
            "linear.multiply", "W8A8", wide.channels,
            lambda: schedule_multiply(of(multiply, *first, c.d, *behind, 0, 0)),
        ),
        Kernel(
            "nibbles.multiply_nibbles", "W4A8", wide.channels,
            lambda: schedule_multiply_nibbles(of(multiply_nibbles, *first, *behind, lane_bits(lanes))),
        ),
        Kernel("heads.score", "W8A8", units, lambda: heads.schedule_score(of(heads.score, *head))),
        Kernel("heads.mix", "W8A8", units, lambda: heads.schedule_mix(of(heads.mix, *head))),
        Kernel("norm.normalise", "W8A8", 1, lambda: schedule_normalise(of(normalise, *norm))),
        Kernel(
            "activation.bend", "W8A8", 1,
            lambda: schedule_bend(of(bend, c.ffn, v, c.layers), wide.gelu_interval),
        ),
        Kernel(
            "linear.rescale", "W8A8", 1,
            lambda: schedule_rescale(
                of(rescale, v, c.d, qkv, up, c.layers, outputs, per_sum), wide.rescale_interval
            ),
        ),
        Kernel(
            "block.linear.multiply_block", "blocks", wide.channels,
            lambda: schedule_multiply_block(
                of(multiply_block, *in_blocks, *rows), min(c.d, c.ffn) // lanes, BLOCK.rows
            ),
        ),
    ]  # fmt: skip


def measure(kernel: Kernel) -> Figure:
    """Build a kernel, estimate and synthesise it."""
    module = kernel.make().build(target="verilog", device=DEVICE, clock_mhz=CLOCK_MHZ)
    estimate = module.report.resources
    found = module.synthesize(timeout=TIME_LIMIT).resources
    return Figure(
        kernel.name, kernel.design, kernel.count,
        {kind: estimate.get(kind, 0) for kind in KINDS}, {kind: found[kind] for kind in KINDS},
    )  # fmt: skip


def shown(figure: Figure) -> str:
    """A line of the table."""
    parts = []
    for kind in KINDS:
        error = figure.error(kind)
        shown_error = "     –" if error is None else f"{error:+6.1%}"
        parts.append(f"{figure.estimate[kind]:7,} {figure.yosys[kind]:7,} {shown_error}")
    return f"{figure.kernel:28} {figure.design:7}×{figure.count:<3}" + "  ".join(parts)


def whole(design: str, lanes: int) -> dict[str, int]:
    """Our estimate of a whole design."""
    wide = wides(lanes)[design]
    s = schedule_block(CONFIG, wide, BLOCK) if design == "blocks" else schedule(CONFIG, wide)
    found = s.estimate(device=DEVICE, clock_mhz=CLOCK_MHZ).resources
    return {kind: found.get(kind, 0) for kind in KINDS}


def together(figures: list[Figure], design: str) -> tuple[dict[str, int], dict[str, int]]:
    """What the kernels of a design take in all, estimated and in Yosys.

    The design with weights of four bits has the kernels of the other one but its elements.
    """
    mine = [f for f in figures if f.design == design]
    if design == "W4A8":
        mine += [f for f in figures if f.design == "W8A8" and f.kernel != "linear.multiply"]
    return (
        {kind: sum(f.count * f.estimate[kind] for f in mine) for kind in KINDS},
        {kind: sum(f.count * f.yosys[kind] for f in mine) for kind in KINDS},
    )


def compare(figures: list[Figure], lanes: int) -> list[dict[str, Any]]:
    """Put the kernels of each design beside the estimate of the whole, and print it."""
    rows = []
    for design in dict.fromkeys(f.design for f in figures):
        ours, theirs = together(figures, design)
        total = whole(design, lanes)
        parts = [
            f"{kind.upper()} {ours[kind]:,} of {total[kind]:,} ({ours[kind] / total[kind]:.0%}), "
            f"Yosys {theirs[kind]:,}"
            for kind in KINDS
            if total[kind]
        ]
        print(f"{design}, these kernels in the whole estimate: " + "; ".join(parts), flush=True)
        rows.append({"design": design, "whole": total, "estimate": ours, "yosys": theirs})
    return rows


def main() -> int:
    """Measure, print, write; 1 when an estimate is further off than the limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[], help="names of kernels")
    parser.add_argument("--lanes", type=int, default=64, help="lanes of an element")
    default = ROOT / "out" / "benchmarks" / "llm_kernels.json"
    parser.add_argument("--json", type=Path, default=default, help="where to write the figures")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DTypeWarning)
    warnings.simplefilter("ignore", CapacityWarning)
    heads_line = "  ".join(f"{kind.upper():>7} {'Yosys':>7} {'error':>6}" for kind in KINDS)
    print(f"{'kernel':28} {'design':11}" + heads_line)
    figures: list[Figure] = []
    failed = False
    for kernel in kernels(options.lanes):
        if options.only and kernel.name not in options.only:
            continue
        try:
            figures.append(measure(kernel))
        except AlloError as error:
            print(f"{kernel.name:28} {type(error).__name__}: {error.message}", flush=True)
            failed = True
            continue
        print(shown(figures[-1]), flush=True)
    designs = compare(figures, options.lanes) if not options.only and not failed else []
    errors = [abs(e) for f in figures for kind in KINDS if (e := f.error(kind)) is not None]
    held = not failed and bool(errors) and max(errors) <= WORST_LIMIT
    print(f"limit (worst {WORST_LIMIT:.0%}):", "held" if held else "FAILED")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    found = {"kernels": [asdict(f) for f in figures], "designs": designs}
    options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
