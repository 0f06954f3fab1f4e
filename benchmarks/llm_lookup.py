"""Speculative decoding of the model that comes with Allo: tokens a pass over prompts of several kinds.

scripts/python benchmarks/llm_lookup.py [--tokens N] [--rows R] [--temperature T] [--rtl N [--rtl-only]]

All texts are compared with those of one token at a time, which the reference says in a batch. Steps are those
of the reference of rows, whose bits are the accelerator's; with ``--rtl``, so many tokens are said in
simulated RTL too, with and without proposals, and the cycles of every step are compared with what is
foretold.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.language.proposals import Lookup, Propose, nothing
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speculation import speculate
from allo.designs.llm.language.tokenizer import Tokenizer
from allo.designs.llm.server.models import prepare
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import beside, following
from allo.designs.llm.wide.parameters import Wide
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_blocks import Built, Simulated, build_blocks

RTL_WIDE = Wide(channels=8, lanes=32, vector=8, heads=3, prefetch=256, gelu_interval=1)
LOGITS = 17
"""Rows after which a step gives logits: the text, and a proposal of 16 tokens."""
RTL_BLOCK = Block(
    rows=8, tokens=8, most=8, norms=8, spoken=8, row_lanes=8, queries=8
)  # fmt: skip
AGAIN = '"I am sure I shall be very glad to see you."\n'
RTL_TEXTS = {
    "a sentence again": f'{3 * AGAIN}"I am sure I shall be very glad to hear you say so, and I am sure',
    "a few words": "Mr. Darcy looked at her, and Mr. Darcy looked at",
}
"""The first is as the model's own answers are, which say a sentence again and again; lookup is right seldom
in the second."""


@dataclass(slots=True)
class Kind:
    """Prompts of a kind, and what came of them."""

    name: str
    prompts: list[list[int]]
    said: int = 0
    passes: int = 0
    rows: int = 0
    again: int = 0
    wrong: int = 0


def kinds_of(tokenizer: Tokenizer) -> list[Kind]:
    """Prompts from text that training never saw: prose, what persons say, openings, passages given twice."""
    lines = split_prose(load_prose())[1].split("\n")
    long = [line for line in lines if len(line) > 500]
    said = [line for line in lines if line.startswith('"') and 150 < len(line) < 300]
    short = ["Mr. Darcy looked at", "She could not", "Emma, my dear"]
    twice = [f"{x[:230]}\n\n{x[:230]}\n\n{x[:40]}" for x in long[3:6]]
    texts = {
        "prose": [x[:200] for x in long[:3]], "speech": said[:3], "openings": short, "passages": twice,
    }  # fmt: skip
    return [Kind(name, [tokenizer.encode(x) for x in found]) for name, found in texts.items()]


def sampler_of(temperature: float) -> Sampler:
    """Greedy at 0."""
    return Sampler(40, temperature, 5) if temperature else Sampler()


def one_by_one(
    weights: QuantizedModel,
    wide: Wide,
    prompts: list[list[int]],
    counts: list[int],
    temperature: float,
) -> list[list[int]]:
    """What plain decoding says, of all prompts beside each other."""
    block = Block(most=256, spoken=32, slots=len(prompts))
    model = RowsGPT(weights, wide, block)
    texts = [list(prompt) for prompt in prompts]
    samplers = [sampler_of(temperature) for _ in prompts]
    for slot, prompt in enumerate(prompts):
        if len(prompt) > 1:
            model.step(following(prompt[:-1], 0, slot))
    live = list(range(len(prompts)))
    while live:
        rows = beside([following(texts[n][-1:], len(texts[n]) - 1, n) for n in live])
        for n, logits in zip(live, model.step(rows, len(live)), strict=True):
            texts[n].append(samplers[n].choose(logits))
        live = [n for n in live if len(texts[n]) - len(prompts[n]) < counts[n]]
    return [text[len(prompt) :] for text, prompt in zip(texts, prompts, strict=True)]


def reference(tokens: int, most: int, temperature: float) -> list[Row]:
    """Tokens a pass on the reference."""
    prepared = prepare("speaker")
    weights, wide, context = prepared.weights, prepared.wide, prepared.served.context
    kinds = kinds_of(prepared.served.tokenizer)
    prompts = [prompt for kind in kinds for prompt in kind.prompts]
    counts = [min(tokens, context + 1 - len(prompt)) for prompt in prompts]
    expected = iter(one_by_one(weights, wide, prompts, counts, temperature))
    left = iter(counts)
    engine = RowsGPT(weights, wide, Block(most=most, tokens=32, spoken=min(most, LOGITS))).step
    for kind in kinds:
        for prompt in kind.prompts:
            sampler, count = sampler_of(temperature), next(left)
            found = speculate(
                engine, prompt, count, sampler, context, Lookup(), most, min(most, LOGITS)
            )
            passes = [one for one in found if one.said]
            text = [token for one in passes for token in one.said]
            kind.wrong += text != next(expected)
            kind.said += len(text)
            kind.passes += len(passes)
            kind.rows += sum(one.rows for one in passes)
            kind.again += sum(one.again for one in passes)
    said, passes = sum(kind.said for kind in kinds), sum(kind.passes for kind in kinds)
    wrong = sum(kind.wrong for kind in kinds)
    rows = [
        Row("texts that are not those of one token at a time", wrong, "", "limit", 0, True, f"{said} tokens"),
        Row("tokens a pass", said / passes, "", "one by one", 1.0, None),
    ]  # fmt: skip
    for kind in kinds:
        note = (
            f"{kind.said} tokens, {kind.rows / kind.passes:.1f} rows a pass, {kind.again} fed again"
        )
        rows.append(
            Row(
                f"tokens a pass: {kind.name}",
                kind.said / kind.passes,
                "",
                "one by one",
                1.0,
                None,
                note,
            )
        )
    return rows


def in_rtl(
    built: Built, weights: QuantizedModel, prompt: list[int], count: int, propose: Propose
) -> tuple[list[int], float, float, float]:
    """What the hardware says, cycles a token, tokens a pass, and the furthest step from what is foretold."""
    simulated, block, context = Simulated(built, weights), built.block, weights.config.context
    passes = list(
        speculate(
            simulated.step, prompt, count, Sampler(), context, propose, block.most, block.spoken
        )
    )
    taken = zip(simulated.steps, passes, strict=True)
    spent = [each.cycles for each, one in taken if one.said]
    return (
        [token for one in passes for token in one.said],
        sum(spent) / count,
        count / len(spent),
        max(each.off for each in simulated.steps),
    )


def hardware(count: int) -> list[Row]:
    """Cycles a token in simulated RTL, with and without proposals, and what the design takes."""
    prepared = prepare("speaker", context=128)
    built = build_blocks(prepared.weights.config, RTL_WIDE, RTL_BLOCK)
    rows = []
    for name, words in RTL_TEXTS.items():
        prompt = prepared.served.tokenizer.encode(words)
        found = [
            in_rtl(built, prepared.weights, prompt, count, propose)
            for propose in (nothing, Lookup())
        ]
        (plain, slow, _, off), (text, fast, passes, also_off) = found
        note = f"{passes:.2f} tokens a pass, {slow / fast:.2f} times the tokens"
        rows += [
            Row(
                f"cycles a token, {name}", fast, "cycles", "one by one", slow, None, note,
                {
                    f"blocks.lookup.{name.replace(' ', '_')}.{key}": value
                    for key, value in (
                        ("plain.cycles", round(slow)), ("proposed.cycles", round(fast)),
                        ("tokens_a_pass.rate", round(passes, 2)), ("rate", round(slow / fast, 2)),
                    )
                },
            ),
            Row(f"the same text, {name}", int(text == plain), "", "limit", 1, False),
            Row(f"step furthest from what is foretold, {name}", max(off, also_off), "", "limit", 0.03, True),
        ]  # fmt: skip
    return rows


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--tokens", type=int, default=190)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--rtl", type=int, default=0, help="tokens in RTL, 0 for none")
    parser.add_argument("--rtl-only", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [] if given.rtl_only else reference(given.tokens, given.rows, given.temperature)
    if given.rtl:
        rows += hardware(given.rtl)
    return finish("llm_lookup", "Tokens a pass by proposals", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
