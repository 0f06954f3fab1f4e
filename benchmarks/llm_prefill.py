"""A prompt in blocks on the wide accelerator: time to the first token, and the share of its multipliers.

scripts/python benchmarks/llm_prefill.py [--model NAME] [--layers N] [--vocab N] [--tokens N] [--rows R]

Simulated RTL in the in-process engine, against the channels of benchmarks/llm_wide.py. A prompt longer
than `--most` goes in parts. Then the same hardware decodes a token. The weights are random; every logit is
compared with the NumPy reference. The time is at the clock that the report estimates, 300 MHz at most. With
fewer layers or tokens of the vocabulary than the model has, the cycles of the whole are foretold.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings

import numpy as np

from allo.backend.sim import PerBank, RTLModule, external_memory
from allo.backend.sim.boundary.traffic import DRAM, IDEAL
from allo.designs.llm.config import Architecture
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_block_step
from allo.designs.llm.wide.block.host import feed, make_block_memories
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_wide import CLOCK_MHZ, MODELS, channel_of, cpu_seconds, same_bits

GOALS = {"gpt2-355m": (16.0, 0.9), "llama-3.2-1b": (300.0, 0.85), "llama-eighth": (300.0, 0.85)}
"""Milliseconds until the first token at most, and the share of the multipliers, by the model."""
LLAMA = MODELS["llama-3.2-1b"][1]
SHAPES: dict[str, tuple[Architecture, Wide, Block]] = {
    "gpt2-355m": (MODELS["gpt2-355m"][1], Wide(heads=4, gelu_interval=1), Block(6, 36, 128, 4)),
    "llama-3.2-1b": (LLAMA, Wide(heads=8), Block(4, 32, 128, 4)),
    # An eighth of the width, heads of half the width, an eighth of the lanes times the channels.
    "llama-eighth": (
        dataclasses.replace(
            LLAMA, d=256, heads=8, kv_heads=4, head_dim=32, ffn=1024, rotary=LLAMA.rotary[::2]
        ),
        Wide(channels=8, lanes=32, vector=4, heads=2),
        Block(2, 8, 32, 2),
    ),
}
"""Shape of a model, and the accelerator that is built for it."""


def built(
    config: Architecture, wide: Wide, block: Block, timing: str = IDEAL
) -> tuple[RTLModule, float]:
    """The accelerator for blocks with its model, against HBM2; seconds of CPU that both took."""
    channels = external_memory("hbm2", clock_mhz=CLOCK_MHZ, timing=timing)[: wide.channels]
    began = cpu_seconds()
    module = schedule_block(config, wide, block).build(
        target="verilog",
        simulator="jit",
        clock_mhz=CLOCK_MHZ,
        memory={"weights": PerBank(channels)},
    )
    module.build_model()
    taken = cpu_seconds() - began
    print("built", round(taken), "s of CPU", file=sys.stderr)
    return module, taken


def measure(
    config: Architecture,
    wide: Wide,
    block: Block,
    count: int,
    whole: Architecture,
    goals: tuple[float, float],
    timing: str = IDEAL,
    figure: str = "",
) -> list[Row]:
    """A prompt of ``count`` tokens, in parts if need be, and the token behind it.

    Args:
        whole: the model that ``config`` has some layers or tokens of, whose prompt is foretold.
        goals: of the time and of the share.
        figure: what the keys of recorded figures begin with, if any are.
    """
    warnings.simplefilter("ignore", DTypeWarning)
    module, building = built(config, wide, block, timing)
    weights = random_weights(config)
    memories = make_block_memories(weights, wide, block)
    tokens = np.random.default_rng(2).integers(0, config.vocab, count + 1)
    expected = WideGPT(weights, wide).forward(tokens[None])[0, -2:]
    ready, prompt, said = cpu_seconds(), 0, expected[:0]
    for at in range(0, count, block.most):
        part = tokens[at : min(at + block.most, count)]
        said = feed(module, weights, block, memories, part, at)
        prompt += module.cycles or 0
    same_bits(said, expected[0], "logits")
    ran = cpu_seconds()
    got = feed(module, weights, block, memories, tokens[-1:], count)
    same_bits(got, expected[1], "logits")
    token = module.cycles or 0
    channel = channel_of(external_memory("hbm2", clock_mhz=CLOCK_MHZ)[0])

    def foretell(model: Architecture, first: int, end: int) -> int:
        """Cycles of the tokens from ``first`` on, in parts."""
        parts = ((at, min(block.most, end - at)) for at in range(first, end, block.most))
        return sum(
            predict_block_step(module.report, model, wide, block, n, at, channel).cycles
            for at, n in parts
        )

    def share_of(model: Architecture, cycles: int) -> float:
        """Products that the prompt asks for, of those that the elements had time for."""
        of_layers = model.layers * sum(a * b for a, b in model.linears().values())
        products = of_layers * count + model.vocab * model.d
        return products / (cycles * wide.channels * wide.lanes * block.rows)

    foretold = foretell(config, 0, count), foretell(config, count, count + 1)
    layers = config.layers * sum(a * b for a, b in config.linears().values())
    bound = (layers + config.vocab * config.d) / (wide.channels * channel.bytes_per_cycle)
    note = (
        f"foretold {foretold[0]:,} ({foretold[0] / prompt - 1:+.2%}); "
        f"{module.report.fmax_mhz:.0f} MHz, "
        + ", ".join(f"{n:,} {kind}" for kind, n in module.report.resources.items())
    )
    clock_mhz = min(CLOCK_MHZ, module.report.fmax_mhz or CLOCK_MHZ)
    milliseconds = prompt / clock_mhz / 1e3
    cycles = foretell(whole, 0, count)
    text = f"not simulated: {whole.layers} layers, {whole.vocab:,} logits, {cycles / clock_mhz / 1e3:.1f} ms"
    figures = {
        f"{figure}.{key}": value
        for key, value in (
            ("prompt.cycles", prompt), ("foretold.cycles", foretold[0]), ("token.cycles", token),
            ("share", round(share_of(config, prompt), 4)),
        )
        if figure
    }  # fmt: skip
    return [
        Row("first token", milliseconds, "ms", "limit", goals[0], None, note),
        Row("whole, foretold", share_of(whole, cycles), "", "goal", goals[1], None, text),
        Row("cycles of the prompt", prompt, "cycles", "foretold", foretold[0], None, "", figures),
        Row("share of the multipliers", share_of(config, prompt), "", "goal", goals[1], None),
        Row("cycles of a token", token, "cycles", "memory bound", round(bound), None),
        Row("the same", token, "cycles", "foretold", foretold[1], None),
        Row("build", building, "s of CPU", "limit", 600, None),
        Row("run of the prompt", ran - ready, "s of CPU", "limit", 600, None),
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--model", choices=SHAPES, default="gpt2-355m", help="the shape")
    parser.add_argument("--tokens", type=int, default=128, help="of the prompt")
    for name in ("layers", "vocab", "rows", "block", "most", "heads", "norms"):
        parser.add_argument(f"--{name}", type=int, help="in place of the shape's")
    parser.add_argument("--figure", default="", help="beginning of the keys of what is recorded")
    parser.add_argument("--timing", default=IDEAL, choices=(IDEAL, DRAM), help="of the channels")
    given = parser.parse_args()
    whole, wide, block = SHAPES[given.model]
    whole = dataclasses.replace(whole, context=max(whole.context, 2 * given.tokens))
    config = dataclasses.replace(
        whole, layers=given.layers or whole.layers, vocab=given.vocab or whole.vocab
    )
    wide = dataclasses.replace(wide, heads=given.heads or wide.heads)
    block = Block(
        given.rows or block.rows,
        given.block or block.tokens,
        given.most or block.most,
        given.norms or block.norms,
    )
    goals = GOALS[given.model]
    rows = measure(config, wide, block, given.tokens, whole, goals, given.timing, given.figure)
    return finish(
        "llm_prefill",
        f"LLM: a prompt of {given.tokens} tokens, {given.timing} channels",
        rows,
        given.json,
    )


if __name__ == "__main__":
    sys.exit(main())
