"""A prompt in blocks on the wide accelerator: time to the first token, and the share of its multipliers.

scripts/python benchmarks/llm_prefill.py [--layers N] [--vocab N] [--tokens N] [--rows R] [--block B]

Simulated RTL in the in-process engine, against the channels of benchmarks/llm_wide.py. Then the same
hardware decodes a token. The weights are random; every logit is compared with the NumPy reference.
The time is at the clock that the report estimates, 300 MHz at most.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

from allo.backend.sim import PerBank, RTLModule, external_memory
from allo.backend.sim.boundary.traffic import DRAM, IDEAL
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_block_step
from allo.designs.llm.wide.block.host import feed, make_block_memories
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.errors import DTypeWarning
from benchmarks.harness import Row, finish
from benchmarks.llm_wide import CLOCK_MHZ, channel_of, cpu_seconds, same_bits

FIRST_TOKEN_MS = 16.0
UTILISATION = 0.9


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
    config: GPTConfig, wide: Wide, block: Block, count: int, timing: str = IDEAL
) -> list[Row]:
    """A prompt of ``count`` tokens, and the token behind it."""
    warnings.simplefilter("ignore", DTypeWarning)
    module, building = built(config, wide, block, timing)
    weights = random_weights(config)
    memories = make_block_memories(weights, wide, block)
    tokens = np.random.default_rng(2).integers(0, config.vocab, count + 1)
    expected = WideGPT(weights, wide).forward(tokens[None])[0, -2:]
    ready = cpu_seconds()
    same_bits(feed(module, weights, block, memories, tokens[:-1]), expected[0], "logits")
    prompt, ran = module.cycles or 0, cpu_seconds()
    got = feed(module, weights, block, memories, tokens[-1:], count)
    same_bits(got, expected[1], "logits")
    token = module.cycles or 0
    channel = channel_of(external_memory("hbm2", clock_mhz=CLOCK_MHZ)[0])
    foretold = [
        predict_block_step(module.report, config, wide, block, n, at, channel).cycles
        for n, at in ((count, 0), (1, count))
    ]
    layers = config.layers * sum(a * b for a, b in config.linears().values())
    products = layers * count + config.vocab * config.d
    share = products / (prompt * wide.channels * wide.lanes * block.rows)
    bound = (layers + config.vocab * config.d) / (wide.channels * channel.bytes_per_cycle)
    note = (
        f"foretold {foretold[0]:,} ({foretold[0] / prompt - 1:+.2%}); "
        f"{module.report.fmax_mhz:.0f} MHz, "
        + ", ".join(f"{n:,} {kind}" for kind, n in module.report.resources.items())
    )
    clock_mhz = min(CLOCK_MHZ, module.report.fmax_mhz or CLOCK_MHZ)
    milliseconds = prompt / clock_mhz / 1e3
    return [
        Row("first token", milliseconds, "ms", "limit", FIRST_TOKEN_MS, None, note),
        Row("cycles of the prompt", prompt, "cycles", "foretold", foretold[0], None),
        Row("share of the multipliers", share, "", "goal", UTILISATION, None),
        Row("cycles of a token", token, "cycles", "memory bound", round(bound), None),
        Row("the same", token, "cycles", "foretold", foretold[1], None),
        Row("build", building, "s of CPU", "limit", 600, None),
        Row("run of the prompt", ran - ready, "s of CPU", "limit", 600, None),
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = argparse.ArgumentParser(description="Prefill", add_help=False)
    for name, value in (
        ("layers", 24), ("vocab", 50_257), ("tokens", 128), ("rows", 6), ("block", 36),
        ("most", 128), ("heads", 4), ("norms", 4),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--timing", default=IDEAL, choices=(IDEAL, DRAM), help="of the channels")
    given, rest = parser.parse_known_args()
    config = GPTConfig(
        layers=given.layers, d=1024, heads=16, ffn=4096, context=256, vocab=given.vocab
    )
    wide = Wide(heads=given.heads, gelu_interval=1)
    block = Block(given.rows, given.block, given.most, given.norms)
    rows = measure(config, wide, block, given.tokens, given.timing)
    return finish(
        "llm_prefill",
        f"LLM: a prompt of {given.tokens} tokens, {given.timing} channels",
        rows,
        rest,
    )


if __name__ == "__main__":
    sys.exit(main())
