"""Tokens a pass of SmolLM2-135M-Instruct with its draft head in integers, which the accelerator can take.

scripts/python benchmarks/llm_draft_integer.py [--tokens N] [--each N] [--kinds answers …] [--workers N]

The model says the first tokens of its answers by plain decoding, in the integer reference of the accelerator
for blocks, W8A8 with steps of tokens, which also tells what each place ends in. Then proposals for these
texts are made, by the head in float32 and in integers, with the logits of so many tokens and so many levels:
speculative decoding says the same text (benchmarks/llm_speculation.py compares), so what the
model would choose is known. The first pass of an answer, which takes the last of the prompt, is not counted.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np

from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.draft.drafting import Drafting, Head
from allo.designs.llm.draft.head import DraftHead, load_head
from allo.designs.llm.draft.integer import HeadEngine, IntegerHead, quantize_head
from allo.designs.llm.language.proposals import Propose
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speculation import Pass, speculate
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows, following
from allo.designs.llm.wide.block.tokens.ended import Ended, beside
from allo.designs.llm.wide.parameters import Wide
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_speculation import LOOKUP, MEASURED, integers
from benchmarks.llm_wide import cpu_seconds

WIDE = Wide(channels=16, lanes=32, vector=8, heads=3, gelu_interval=1, block=32)
CONTEXT, ROWS = 512, 8


@dataclass(slots=True)
class Known:
    """A text that the model says, and what its places end in: a model whose steps are known.

    A row that follows the text has its next token as the largest logit; of others nothing is asked.

    Attributes:
        first: tokens of the prompt.
        hidden: of the rows of the last step, as the head takes it.
        rows: of every step.
    """

    kind: str
    first: int
    text: list[int]
    ends: list[Ended]
    floats: np.ndarray
    vocab: int
    in_float: bool = False
    hidden: Ended | np.ndarray | None = None

    def step(self, rows: Rows, spoken: int) -> np.ndarray:
        """Logits that choose the text."""
        text, places = np.array(self.text), np.minimum(rows.positions, len(self.text) - 2)
        own = rows.tokens == text[places]
        right = ~(rows.sees & ~own).any(1)
        logits = np.zeros((len(rows), self.vocab), np.float32)
        logits[right, text[places + 1][right]] = 1.0
        self.hidden = (
            self.floats[places] if self.in_float else beside([self.ends[n] for n in places])
        )
        return logits[-spoken:]


def recorded(weights: QuantizedModel, end: int, count: int, asked: tuple[str, list[int]]) -> Known:
    """What the model says to a prompt of a kind by plain decoding, and what each place ends in."""
    kind, prompt = asked
    model = RowsGPT(weights, WIDE, Block(most=128, tokens=128, spoken=128))
    text, ends, floats, fresh = list(prompt), list[Ended](), list[np.ndarray](), list(prompt)
    while len(text) < len(prompt) + count and text[-1] != end:
        logits = model.step(following(fresh, len(text) - len(fresh)), len(fresh))
        assert model.ended is not None
        ends += [model.ended[at] for at in range(len(fresh))]
        floats += list(model.hidden)
        fresh = [int(logits[-1].argmax())]
        text += fresh
    told = f"{kind}: {len(text) - len(prompt)} tokens, {cpu_seconds():.0f} s of CPU"
    print(told, file=sys.stderr, flush=True)
    return Known(kind, len(prompt), text, ends, np.array(floats), weights.model.vocab)


def engine_of(weights: QuantizedModel, known: int) -> HeadEngine:
    """The integer head's steps in the reference."""
    block = Block(rows=ROWS, tokens=ROWS, most=ROWS, spoken=ROWS, hidden=True, entrance=known)
    model = RowsGPT(weights, WIDE, block)

    def engine(rows: Rows, given: Ended, spoken: int) -> tuple[np.ndarray, Ended]:
        logits = model.step(rows, spoken, given)
        assert model.ended is not None
        return logits, model.ended

    return engine


def rate(known: Known, head: Head, lookup: Propose | None) -> tuple[int, int]:
    """Tokens but the first, and the passes that said them."""
    known.in_float = isinstance(head, DraftHead)
    drafting = Drafting(known, head, lookup)
    count = len(known.text) - known.first
    passes: list[Pass] = list(
        speculate(drafting.step, known.text[: known.first], count, Sampler(1, 1.0, 0), CONTEXT,
                  drafting.propose, 128, ROWS)
    )  # fmt: skip
    said = [token for each in passes for token in each.said]
    if said != known.text[known.first :]:
        raise RuntimeError("A text is not that of plain decoding.")
    spoken = [each for each in passes if each.said]
    return count - len(spoken[0].said), len(spoken) - 1


@dataclass(frozen=True, slots=True)
class Tried:
    """A head that is tried on a text.

    Attributes:
        weights: of a head in integers; None for float32.
        depth: levels of a tree.
    """

    float_head: DraftHead
    weights: QuantizedModel | None
    depth: int
    lookup: Propose | None

    def rate(self, known: Known) -> tuple[int, int]:
        """Tokens but the first, and the passes that said them."""
        of, embedding = self.float_head, self.float_head.embedding
        if self.weights is None:
            head: Head = DraftHead(of.model, of.tensors, embedding, depth=self.depth)
        else:
            engine = engine_of(self.weights, len(embedding))
            head = IntegerHead(engine, Block(most=ROWS), depth=self.depth)
        return rate(known, head, self.lookup)


def rate_of(of: tuple[Tried, Known]) -> tuple[int, int]:
    """For a pool of processes."""
    return of[0].rate(of[1])


def main() -> int:
    """Measure, print, write; 1 when a text is another."""
    parser = command_line(__doc__)
    parser.add_argument("--kinds", nargs="*", choices=MEASURED, default=list(MEASURED))
    parser.add_argument("--each", type=int, default=3, help="prompts of each kind")
    parser.add_argument("--tokens", type=int, default=128, help="of an answer at most")
    parser.add_argument(
        "--said", nargs="*", type=int, default=[4096, 8192], help="logits of a head"
    )
    parser.add_argument("--depths", nargs="*", type=int, default=[2, 3, 5], help="levels")
    parser.add_argument("--workers", type=int, default=1, help="processes, which share the prompts")
    given = parser.parse_args()
    loaded = load_checkpoint(packaged(SMOLLM2))
    loaded = dataclasses.replace(loaded, model=dataclasses.replace(loaded.model, context=CONTEXT))
    assert loaded.tokenizer is not None and loaded.chat is not None
    weights, end = integers(loaded, WIDE.block), next(iter(loaded.ends))
    prompts = [
        (kind, loaded.tokenizer.encode(loaded.chat.render([{"role": "user", "content": words}])))
        for kind in given.kinds
        for words in MEASURED[kind][-given.each :]
    ]
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        texts = list(pool.map(partial(recorded, weights, end, given.tokens), prompts))
        head = load_head(weights.model, loaded.params["token"])
        # Steps are those of the prompts, and of no answer.
        samples = [(t.floats[: t.first], np.array(t.text[1 : t.first + 1])) for t in texts]
        sizes = {said: quantize_head(head, samples, WIDE.block, said) for said in given.said}
        heads = {"float32": None} | {f"{said} tokens": of for said, of in sizes.items()}
        tried = {
            (way, f"{name}, {depth} levels"): Tried(head, of, depth, lookup)
            for name, of in heads.items()
            for depth in given.depths
            for way, lookup in (("head", None), ("both", LOOKUP))
        }
        pairs = [(each, text) for each in tried.values() for text in texts]
        found = list(pool.map(rate_of, pairs))
    rows = []
    for at, (way, name) in enumerate(tried):
        mine = found[at * len(texts) : (at + 1) * len(texts)]
        rows.append(row_of(way, name, texts, mine))
    return finish("llm_draft_integer", "Tokens a pass, integer head", rows, given.json)


def row_of(way: str, name: str, texts: list[Known], found: list[tuple[int, int]]) -> Row:
    """Tokens a pass of a head."""
    counts: dict[str, tuple[int, int]] = {}
    for text, (tokens, passes) in zip(texts, found, strict=True):
        before = counts.get(text.kind, (0, 0))
        counts[text.kind] = before[0] + tokens, before[1] + passes
    rates = {kind: tokens / passes for kind, (tokens, passes) in counts.items()}
    mean = statistics.geometric_mean(rates.values())
    key = f"smollm2.draft.integer.{name.replace(', ', '.').replace(' ', '_')}.{way}"
    figures = {f"{key}.{kind}.rate": round(each, 2) for kind, each in rates.items()}
    figures[f"{key}.mean.rate"] = round(mean, 2)
    figures[f"{key}.whole_tokens"] = sum(tokens for tokens, _ in counts.values())
    note = ", ".join(f"{kind} {each:.2f}" for kind, each in rates.items())
    return Row(f"{way}, {name}", mean, "tokens a pass", "plain", 1.0, None, note, figures)


if __name__ == "__main__":
    sys.exit(main())
