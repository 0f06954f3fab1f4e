"""A batch of sequences on the accelerator for blocks: GPT-2 355M's tokens at a position, foretold.

scripts/python benchmarks/llm_batch.py [--position N] [--batch N]

Nothing is simulated, and the designs are not estimated: the depths of the loops are those of a narrow design
with vectors and heads of the same width, at 300 MHz. Weights lie on channels of HBM2, the caches in ideal
memory. Products of elements and heads are two in a multiplier block, but those of queries and keys one.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings

from allo.backend.sim import external_memory
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_rows
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.parameters import Wide
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_wide import CLOCK_MHZ, MODELS, channel_of

GOAL = 4.5
MODEL = MODELS["gpt2-355m"][1]
NARROW = dataclasses.replace(MODEL, layers=1, d=256, heads=4, ffn=512, vocab=64, context=32)
NARROW_WIDE = Wide(16, 16, 16, 2, gelu_interval=1)
PLANS = {"64 lanes": (64, 16), "32 lanes": (32, 16)}
"""Lanes, and heads at once."""


def main() -> int:
    """Foretell, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--position", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=8)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    batch, config = given.batch, dataclasses.replace(MODEL, context=2 * given.position)
    small = Block(rows=2, tokens=2, most=2, norms=2, spoken=2, slots=2, row_lanes=2)
    built = schedule_block(NARROW, NARROW_WIDE, small).build(
        target="verilog", simulator="jit", clock_mhz=CLOCK_MHZ
    )
    channel = channel_of(external_memory("hbm2", clock_mhz=CLOCK_MHZ)[0])
    block = Block(batch, batch, batch, batch, batch, slots=batch, row_lanes=batch)
    rows = []
    for name, (lanes, heads) in PLANS.items():
        wide = Wide(32, lanes, 16, heads, gelu_interval=1)
        one, many = (
            predict_rows(built.report, config, wide, block, [given.position + 1] * n, n, channel)
            for n in (1, batch)
        )
        faster = batch * one.cycles / many.cycles
        products = wide.channels * lanes * batch // 2 + heads * config.head_dim * 3 // 2
        note = (
            f"one {one.cycles:,}, {batch} {many.cycles:,}, of these {many.pauses:,} pauses; "
            f"{products:,} multiplier blocks of elements and heads"
        )
        key = f"blocks.batch.{name.replace(' ', '_')}"
        figures = {
            f"{key}.one.cycles": one.cycles,
            f"{key}.all.cycles": many.cycles,
            f"{key}.rate": round(faster, 2),
        }
        what = f"tokens of {batch} sequences over one, {name}"
        rows.append(Row(what, faster, "times", "goal", GOAL, None, note, figures))
    return finish("llm_batch", "Batch, foretold", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
