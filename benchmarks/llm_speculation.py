"""Tokens a pass of SmolLM2-135M-Instruct with speculative decoding, over twelve prompts of four kinds.

scripts/python benchmarks/llm_speculation.py [--tokens N] [--each N] [--ways NAME …]

The model is the integer reference of the accelerator for blocks, W8A8 with steps of tokens, whose bits the
hardware gives. Each answer is compared with that of plain decoding, token by token. Proposals come from what
was said before (prompt lookup), from the draft head of ``designs/llm/draft``, and from both. Rows of a step
are the proposals and the token before them; passes of the prompt are not counted.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from allo.designs.llm.checkpoints.load import Checkpoint, load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.checkpoints.quantize import QuantizedModel, calibrate, quantize
from allo.designs.llm.draft.drafting import Drafting
from allo.designs.llm.draft.head import load_head
from allo.designs.llm.language.proposals import Lookup, Propose, nothing
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speculation import Pass, speculate
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.parameters import Wide
from benchmarks.harness import Row, command_line, finish

sys.path.append(str(Path(__file__).parents[1] / "scripts" / "language_model" / "draft"))
from prompts import MEASURED  # type: ignore[import-not-found]

WIDE = Wide(vector=16, parts=4, block=64)
CONTEXT, MOST = 768, 64
LOOKUP = Lookup(longest=4, shortest=2, branches=1)
ROWS = 8, 16
GOAL = 1.8


def integers(loaded: Checkpoint) -> QuantizedModel:
    """The model in integers, calibrated on the repository's prose."""
    assert loaded.tokenizer is not None and loaded.chat is not None
    text = split_prose(load_prose())[0][:4000]
    asked = loaded.chat.render([{"role": "user", "content": text[:800]}])
    batches = [np.array([loaded.tokenizer.encode(part)[:256]]) for part in (text, asked)]
    scales = calibrate(loaded.model, loaded.params, batches)
    return quantize(loaded.model, loaded.params, scales, block=WIDE.block)


def ways(
    loaded: Checkpoint, target: RowsGPT
) -> dict[str, Callable[[], tuple[Callable, Propose, int]]]:
    """By name: what makes engine, proposals and rows of a step, anew for each prompt."""

    def headed(lookup: Propose | None, rows: int) -> tuple[Callable, Propose, int]:
        drafting = Drafting(target, load_head(loaded.model, loaded.params["token"]), lookup)
        return drafting.step, drafting.propose, rows

    found: dict[str, Callable[[], tuple[Callable, Propose, int]]] = {}
    for rows in ROWS:
        found[f"lookup, {rows} rows"] = lambda rows=rows: (target.step, LOOKUP, rows)
        found[f"head, {rows} rows"] = lambda rows=rows: headed(None, rows)
        found[f"both, {rows} rows"] = lambda rows=rows: headed(LOOKUP, rows)
    return found


def answered(passes: list[Pass], end: int) -> tuple[list[int], int]:
    """What was said up to the end, and the passes that gave it but for the first, which the prompt gave."""
    said: list[int] = []
    count = 0
    for each in passes:
        if each.said:
            said += each.said
            count += 1
        if end in said:
            break
    if end in said:
        said = said[: said.index(end) + 1]
    return said, count - 1


def main() -> int:
    """Measure, print, write; 1 when an answer differs from plain decoding."""
    parser = command_line(__doc__)
    parser.add_argument("--tokens", type=int, default=256, help="of an answer at most")
    parser.add_argument("--each", type=int, default=3, help="prompts of each kind")
    parser.add_argument("--ways", nargs="*", help="these alone")
    args = parser.parse_args()
    loaded = load_checkpoint(packaged(SMOLLM2))
    assert loaded.tokenizer is not None and loaded.chat is not None
    weights, end = integers(loaded), list(loaded.ends)[0]
    target = RowsGPT(weights, WIDE, Block(most=MOST, spoken=MOST))

    def say(
        prompt: list[int], engine: Callable, propose: Propose, rows: int
    ) -> tuple[list[int], int]:
        passes: list[Pass] = []
        told = speculate(
            engine, prompt, args.tokens, Sampler(1, 1.0, 0), CONTEXT, propose, MOST, rows
        )
        for each in told:
            passes.append(each)
            if end in each.said:
                break
        return answered(passes, end)

    prompts = {
        kind: [
            loaded.tokenizer.encode(loaded.chat.render([{"role": "user", "content": text}]))
            for text in texts[: args.each]
        ]
        for kind, texts in MEASURED.items()
    }
    plain = {
        kind: [say(p, target.step, nothing, 1)[0] for p in each] for kind, each in prompts.items()
    }
    whole = sum(len(said) for each in plain.values() for said in each)
    rows, equal = [], True
    for name, make in ways(loaded, target).items():
        if args.ways and name not in args.ways:
            continue
        began, rates = time.process_time(), {}
        same = True
        for kind, each in prompts.items():
            given = passes = 0
            for prompt, expected in zip(each, plain[kind], strict=True):
                said, took = say(prompt, *make())
                same &= said == expected
                given += len(said) - 1
                passes += took
            rates[kind] = given / passes
        equal &= same
        mean = statistics.geometric_mean(rates.values())
        key = f"draft.{name.replace(', ', '.').replace(' ', '_')}"
        figures = {f"{key}.{kind}.tokens_a_pass": round(rate, 3) for kind, rate in rates.items()}
        told = ", ".join(f"{kind} {rate:.2f}" for kind, rate in rates.items())
        seconds = time.process_time() - began
        rows.append(
            Row(
                name,
                mean,
                "tokens a pass",
                "the goal with a draft head" if "lookup" not in name else "plain decoding",
                GOAL if "lookup" not in name else 1.0,
                at_most=False if "lookup" not in name else None,
                note=f"{told}; {'all' if same else 'NOT ALL'} of {whole} tokens equal; {seconds:.0f} CPU s",
                figures={**figures, f"{key}.mean.tokens_a_pass": round(mean, 3)},
            )
        )
    status = finish("llm_speculation", "Tokens a pass", rows, args.json)
    return status if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
