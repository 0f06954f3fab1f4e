"""Cycles of SmolLM2-135M's draft head in the accelerator for blocks, foretold, beside those of the model.

scripts/python benchmarks/llm_draft_cycles.py

Nothing is simulated here: the depths of the loops are those of a narrow design with an entrance, with vectors
and heads of the same width, and the recurrence is the one that tests compare with simulated RTL
(tests/llm/test_head_in_hardware.py). The head has 16 channels of 32 lanes and 8 rows of its own, as the model
has. A pass takes the model's step of 8 rows, a step of the head for the 3 places that the last pass said, and
one of 6 nodes for each further level. The speeds take the tokens a pass counted on the integer model
(benchmarks/llm_draft_integer.py, and for all logits benchmarks/llm_speculation.py).
"""

from __future__ import annotations

import dataclasses
import json
import sys
import warnings
from pathlib import Path

from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.config import Architecture
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_rows
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.parameters import Wide
from allo.dialects.reports.figures import DesignReport
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_wide import CLOCK_MHZ

WIDE = Wide(channels=16, lanes=32, vector=8, heads=3, gelu_interval=1, block=32)
BLOCK = Block(rows=8, tokens=8, most=8, norms=8, spoken=8, row_lanes=8, queries=4, hidden=True)
NARROW = Block(2, 2, 2, 2, 2, row_lanes=2, queries=2, hidden=True, entrance=80)
POSITIONS = 128, 384
SAID = 4096, 8192, 49152
DEPTHS = 2, 3, 5
TAKEN, BEAM = 3, 6
"""Places that a pass says, about; and nodes of a level."""
COUNTED = Path(__file__).parent / "figures" / "smollm2.json"
GOAL = 1.6


def depths(model: Architecture) -> DesignReport:
    """The report of a narrow design with an entrance."""
    small = {"layers": 1, "d": 192, "heads": 3, "kv_heads": 3, "ffn": 256, "vocab": 64}
    narrow = dataclasses.replace(model, **small, context=64)
    return schedule_block(narrow, WIDE, NARROW).estimate(clock_mhz=CLOCK_MHZ)


def rows_at(report: DesignReport, model: Architecture, at: int) -> list[Row]:
    """A position's passes, and cycles a token by the tokens a pass that were counted."""

    def step(config: Architecture, block: Block, first: int, count: int, spoken: int) -> int:
        seen = list(range(first + 1, first + count + 1))
        return predict_rows(report, config, WIDE, block, seen, spoken).cycles

    one, many = step(model, BLOCK, at, 1, 1), step(model, BLOCK, at, 8, 8)
    key = f"blocks.smollm2.head.at_{at}"
    figures = {f"{key}.one_row.cycles": one, f"{key}.rows_8.cycles": many}
    rows = [Row(f"the model, 8 rows at {at}", many, "cycles", "one row", one, None, "", figures)]
    entered = dataclasses.replace(BLOCK, entrance=model.vocab)
    counted = json.loads(COUNTED.read_text())["figures"]
    for said in SAID:
        head = dataclasses.replace(model, layers=1, vocab=said)
        first = step(head, entered, at - TAKEN, TAKEN, 1)
        levels = [step(head, entered, at + BEAM * n, BEAM, BEAM) for n in range(max(DEPTHS) - 1)]
        figures = {f"{key}.{said}.first.cycles": first, f"{key}.{said}.level.cycles": levels[0]}
        what = f"a level of the head at {at}, {said} logits"
        rows.append(Row(what, levels[0], "cycles", "the model", many, None, "", figures))
        for depth in DEPTHS:
            whole = many + first + sum(levels[: depth - 1])
            figures = {
                f"{key}.{said}.{depth}_levels.cycles": whole,
                f"{key}.{said}.{depth}_levels.needed.rate": round(GOAL * whole / one, 2),
            }
            note = f"{GOAL * whole / one:.2f} tokens a pass are needed for {GOAL} times less time a token"
            for way in ("head", "both"):
                tokens = counted.get(tokens_of(way, said if said < model.vocab else None, depth))
                if tokens is None:
                    continue
                rate = tokens * one / whole
                figures[f"{key}.{said}.{depth}_levels.{way}.rate"] = round(rate, 2)
                note += f"; {way}, with {tokens}, has {rate:.2f} times"
            what = f"a pass with {depth} levels at {at}, {said} logits"
            rows.append(Row(what, whole, "cycles", "one row", one, None, note, figures))
    return rows


def tokens_of(way: str, said: int | None, depth: int) -> str:
    """The tokens a pass of the head in integers with so many logits, or (None) in float32 with all."""
    if said is None:
        return f"draft.{way}.8_rows.mean.rate" if depth == max(DEPTHS) else ""
    return f"draft.integer.{said}_tokens.{depth}_levels.{way}.mean.rate"


def main() -> int:
    """Foretell, print, write."""
    given = command_line(__doc__).parse_args()
    warnings.simplefilter("ignore")
    model = dataclasses.replace(load_checkpoint(packaged(SMOLLM2)).model, context=512)
    report = depths(model)
    rows = [row for at in POSITIONS for row in rows_at(report, model, at)]
    return finish("llm_draft_cycles", "SmolLM2's draft head, foretold", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
