"""Tokens a pass of SmolLM2-135M-Instruct with speculative decoding, over twelve prompts of four kinds.

scripts/python benchmarks/llm_speculation.py [--tokens N] [--each N] [--ways NAME …] [--gpu] [--workers N]

The model is the integer reference of the accelerator for blocks, W8A8 with steps of tokens, whose bits the
hardware gives. Each answer is compared with that of plain decoding, token by token. Proposals come from what
was said before (prompt lookup), from the draft head of ``designs/llm/draft``, and from both. Rows of a step
are the proposals and the token before them; passes of the prompt are not counted. With --gpu the same source
computes with CuPy in the place of NumPy, and the first steps are compared with NumPy's, bit for bit.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from allo.designs.llm.checkpoints.load import Checkpoint, load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.checkpoints.quantize import QuantizedModel, calibrate, quantize
from allo.designs.llm.draft.drafting import Drafting, Target
from allo.designs.llm.draft.head import load_head
from allo.designs.llm.language.proposals import Lookup, Propose, nothing
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speculation import Pass, speculate
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows, branching, following
from allo.designs.llm.wide.parameters import Wide
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_cupy import Device, RowsOnDevice

sys.path.append(str(Path(__file__).parents[1] / "scripts" / "language_model" / "draft"))
from prompts import MEASURED  # type: ignore[import-not-found]

WIDE = Wide(vector=16, parts=4, block=64)
CONTEXT, MOST = 768, 64
LOOKUP = Lookup(longest=4, shortest=2, branches=1)
ROWS = 8, 16
GOAL = 1.8


def integers(loaded: Checkpoint, block: int = WIDE.block) -> QuantizedModel:
    """The model in integers, calibrated on prose; ``block`` activations share a power of two."""
    assert loaded.tokenizer is not None and loaded.chat is not None
    text = split_prose(load_prose())[0][:4000]
    asked = loaded.chat.render([{"role": "user", "content": text[:800]}])
    batches = [np.array([loaded.tokenizer.encode(part)[:256]]) for part in (text, asked)]
    scales = calibrate(loaded.model, loaded.params, batches)
    return quantize(loaded.model, loaded.params, scales, block=block)


def ways(asked: Asked, target: Target) -> dict[str, Callable[[], tuple[Callable, Propose, int]]]:
    """By name: what makes engine, proposals and rows of a step, anew for each prompt."""

    def headed(lookup: Propose | None, rows: int) -> tuple[Callable, Propose, int]:
        drafting = Drafting(target, load_head(asked.weights.model, asked.embedding), lookup)
        return drafting.step, drafting.propose, rows

    found: dict[str, Callable[[], tuple[Callable, Propose, int]]] = {}
    for rows in ROWS:
        found[f"lookup, {rows} rows"] = lambda rows=rows: (target.step, LOOKUP, rows)
        found[f"head, {rows} rows"] = lambda rows=rows: headed(None, rows)
        found[f"both, {rows} rows"] = lambda rows=rows: headed(LOOKUP, rows)
    return found


def compared(prompt: list[int]) -> list[Rows]:
    """Steps that a device computes beside NumPy: the beginning of a prompt, a tree behind it, and one row."""
    first = prompt[:16]
    tree = branching(prompt[16:22], [-1, 0, 0, 1, 1, 2], len(first))
    return [following(first), tree, following(prompt[17:18], len(first) + 1)]


def on_gpu(weights: QuantizedModel, block: Block, prompt: list[int]) -> Target:
    """The model on a GPU, after some steps whose logits and ends are NumPy's.

    Raises:
        RuntimeError: they are not.
    """
    model = RowsGPT(weights, WIDE, block)
    expected = [(model.step(rows, len(rows)), model.hidden) for rows in compared(prompt)]
    device = Device(gpu=True)
    there = dataclasses.replace(weights, arrays=device.put_all(weights.arrays))
    target = RowsOnDevice(device, RowsGPT(there, WIDE, block))
    for rows, (logits, hidden) in zip(compared(prompt), expected, strict=True):
        found = target.step(rows, len(rows))
        if not (np.array_equal(found, logits) and np.array_equal(target.hidden, hidden)):
            raise RuntimeError(
                f"a step of {len(rows)} rows has other logits on the GPU than NumPy's"
            )
    return target


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


@dataclass(frozen=True, slots=True)
class Asked:
    """What a process is to measure.

    Attributes:
        embedding: of the model's tokens, for a head.
        prompts: kinds and tokens.
        most: tokens of an answer at most; ``end`` ends it before.
        names: of the ways.
    """

    weights: QuantizedModel
    embedding: np.ndarray
    end: int
    prompts: list[tuple[str, list[int]]]
    most: int
    names: list[str]
    gpu: bool

    def say(
        self, prompt: list[int], engine: Callable, propose: Propose, rows: int
    ) -> tuple[list[int], int]:
        """An answer and the passes that it took."""
        passes: list[Pass] = []
        greedy = Sampler(1, 1.0, 0)
        for each in speculate(engine, prompt, self.most, greedy, CONTEXT, propose, MOST, rows):
            passes.append(each)
            if self.end in each.said:
                break
        return answered(passes, self.end)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said to a prompt.

    Attributes:
        tokens: of the answer by plain decoding.
        equal: by way, whether that is what was said.
        passes: by way, those that it took, but for the first.
    """

    kind: str
    tokens: int
    equal: dict[str, bool]
    passes: dict[str, int]


def measured(asked: Asked) -> list[Answer]:
    """Each prompt by plain decoding and by each way."""
    block = Block(most=MOST, spoken=MOST)
    target: Target = RowsGPT(asked.weights, WIDE, block)
    if asked.gpu:
        target = on_gpu(asked.weights, block, asked.prompts[0][1])
    makers = ways(asked, target)
    found = []
    for kind, prompt in asked.prompts:
        plain, _ = asked.say(prompt, target.step, nothing, 1)
        told = {name: asked.say(prompt, *makers[name]()) for name in asked.names}
        found.append(
            Answer(
                kind,
                len(plain),
                {name: said == plain for name, (said, _) in told.items()},
                {name: passes for name, (_, passes) in told.items()},
            )
        )
        print(f"{kind}: {len(plain)} tokens, passes {found[-1].passes}", flush=True)
    return found


def row_of(name: str, answers: list[Answer]) -> Row:
    """Tokens a pass of a way."""
    rates = {}
    for kind in MEASURED:
        mine = [each for each in answers if each.kind == kind]
        rates[kind] = sum(each.tokens - 1 for each in mine) / sum(
            each.passes[name] for each in mine
        )
    mean = statistics.geometric_mean(rates.values())
    key = f"smollm2.draft.{name.replace(', ', '.').replace(' ', '_')}"
    told = ", ".join(f"{kind} {rate:.2f}" for kind, rate in rates.items())
    whole = sum(each.tokens for each in answers)
    same = sum(each.tokens for each in answers if each.equal[name])
    headed = "lookup" not in name
    return Row(
        name,
        mean,
        "tokens a pass",
        "the goal with a draft head" if headed else "plain decoding",
        GOAL if headed else 1.0,
        at_most=False if headed else None,
        note=f"{told}; {same:,} of {whole:,} tokens in answers equal to plain decoding's",
        figures={
            **{f"{key}.{kind}.rate": round(rate, 3) for kind, rate in rates.items()},
            f"{key}.mean.rate": round(mean, 3),
            f"{key}.equal_tokens": same,
            f"{key}.whole_tokens": whole,
        },
    )


def main() -> int:
    """Measure, print, write; 1 when an answer differs from plain decoding."""
    names = [f"{what}, {rows} rows" for rows in ROWS for what in ("lookup", "head", "both")]
    parser = command_line(__doc__)
    parser.add_argument("--tokens", type=int, default=256, help="of an answer at most")
    parser.add_argument("--each", type=int, default=3, help="prompts of each kind")
    parser.add_argument("--ways", nargs="*", choices=names, default=names, help="these alone")
    parser.add_argument("--gpu", action="store_true", help="compute with CuPy")
    parser.add_argument("--workers", type=int, default=1, help="processes, which share the prompts")
    args = parser.parse_args()
    loaded = load_checkpoint(packaged(SMOLLM2))
    assert loaded.tokenizer is not None and loaded.chat is not None
    weights, end = integers(loaded), next(iter(loaded.ends))
    prompts = [
        (kind, loaded.tokenizer.encode(loaded.chat.render([{"role": "user", "content": text}])))
        for kind, texts in MEASURED.items()
        for text in texts[: args.each]
    ]
    shares = [
        Asked(weights, loaded.params["token"], end, share, args.tokens, args.ways, args.gpu)
        for share in (prompts[at :: args.workers] for at in range(args.workers))
        if share
    ]
    with ProcessPoolExecutor(len(shares), get_context("spawn")) as pool:
        answers = [each for found in pool.map(measured, shares) for each in found]
    rows = [row_of(name, answers) for name in args.ways]
    status = finish("llm_speculation", "Tokens a pass", rows, args.json)
    return status if all(all(each.equal.values()) for each in answers) else 1


if __name__ == "__main__":
    raise SystemExit(main())
