"""BERT-base on the wide accelerator for blocks: a sequence of 128 tokens, and the share of its multipliers.

scripts/python benchmarks/llm_bert.py [--layers N] [--tokens N] [--rows R] [--block B] [--heads U]

Simulated RTL of some layers in the in-process engine, against the channels of benchmarks/llm_wide.py: its
cycles beside those foretold, and every hidden value compared with the NumPy reference. Then the whole
of 12 layers: its estimate for a U280, and its cycles, foretold by what foretells those simulated. The
weights are random. Tables, hidden values, keys and values lie in memories that answer in the next cycle.
Times are at the clock that the report of the whole estimates, 300 MHz at most.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings

import numpy as np

from allo.backend.devices import DEFAULT_DEVICE, resources_of
from allo.backend.sim import external_memory
from allo.backend.sim.boundary.traffic import DRAM, IDEAL
from allo.designs.llm.config import Architecture
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.encoder_cycles import predict_encoding
from allo.designs.llm.wide.block.host import encode, make_block_memories
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_prefill import built
from benchmarks.llm_wide import CLOCK_MHZ, channel_of, cpu_seconds, same_bits

BASE = Architecture(
    family="bert", layers=12, d=768, heads=12, kv_heads=12, head_dim=64, ffn=3072, context=512,
    vocab=30_522, activation="gelu", eps=1e-12, post_norm=True, causal=False, has_head=False,
)  # fmt: skip
CHANNEL = channel_of(external_memory("hbm2", clock_mhz=CLOCK_MHZ)[0])
"""What a channel of the weights gives at the clock that the design is built for."""
U280 = {kind: resources_of(DEFAULT_DEVICE)[kind] for kind in ("lut", "ff", "dsp", "bram")}
"""What a U280 has; block RAM in blocks of 18 kbit."""
MOST = 0.85
"""The share of each resource that a design may take."""


def share_of(config: Architecture, wide: Wide, block: Block, count: int, cycles: int) -> float:
    """The share of the cycles in which the multipliers of the elements work on real tokens."""
    products = config.layers * count * sum(a * b for a, b in config.linears().values())
    return products / (cycles * wide.channels * wide.lanes * block.rows)


def simulate(
    config: Architecture, wide: Wide, block: Block, count: int, timing: str = IDEAL
) -> list[Row]:
    """Encode ``count`` tokens in simulated RTL."""
    module, building = built(config, wide, block, timing)
    weights = random_weights(config)
    memories = make_block_memories(weights, wide, block)
    tokens = np.random.default_rng(2).integers(0, config.vocab, count)
    expected = WideGPT(weights, wide).feed(tokens[None])[0]
    ready = cpu_seconds()
    got = encode(module, weights, block, memories, tokens)
    ran = cpu_seconds()
    same_bits(got, expected, "hidden values")
    cycles = module.cycles or 0
    foretold = predict_encoding(module.report, config, wide, block, count, CHANNEL)
    note = f"{got.size:,} hidden values equal; {foretold.cycles / cycles - 1:+.2%}"
    share = share_of(config, wide, block, count, cycles)
    layers = f"{config.layers} layers" if config.layers > 1 else "1 layer"
    return [
        Row(f"{layers}: cycles", cycles, "cycles", "foretold", foretold.cycles, None, note),
        Row(f"{layers}: share of the multipliers", share, "", "all", 1.0, None),
        Row(f"{layers}: build", building, "s of CPU", "limit", 600, None),
        Row(f"{layers}: run", ran - ready, "s of CPU", "limit", 600, None),
    ]


def estimate(config: Architecture, wide: Wide, block: Block, count: int) -> list[Row]:
    """The whole model: what it takes of a U280, its clock, and what it is foretold to take."""
    report = schedule_block(config, wide, block).estimate(clock_mhz=CLOCK_MHZ)
    foretold = predict_encoding(report, config, wide, block, count, CHANNEL)
    fmax = report.fmax_mhz or CLOCK_MHZ
    share = share_of(config, wide, block, count, foretold.cycles)
    name = f"{config.layers} layers"
    return [
        Row(f"{name}, foretold", foretold.cycles, "cycles", "weights alone", foretold.memory, None),
        Row(f"{name}: share of the multipliers", share, "", "all", 1.0, None),
        Row(f"{name}: clock, estimated", fmax, "MHz", "asked", CLOCK_MHZ, None),
        Row(
            f"{name}: time of a sequence",
            foretold.cycles / min(fmax, CLOCK_MHZ) / 1e3,
            "ms",
            "at the clock asked for",
            foretold.cycles / CLOCK_MHZ / 1e3,
        ),
        *(
            Row(
                f"{name}: {kind}", report.resources[kind], kind, "85 % of a U280", MOST * most, True
            )
            for kind, most in U280.items()
        ),
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    for name, value in (
        ("layers", 1), ("tokens", 128), ("rows", 4), ("block", 32), ("heads", 12), ("norms", 4),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--timing", default=IDEAL, choices=(IDEAL, DRAM), help="of the channels")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DTypeWarning)
    wide = Wide(heads=given.heads, gelu_interval=1)
    block = Block(given.rows, given.block, given.tokens, given.norms)
    config = dataclasses.replace(BASE, layers=given.layers)
    rows = simulate(config, wide, block, given.tokens, given.timing)
    rows += estimate(BASE, wide, block, given.tokens)
    return finish(
        "llm_bert",
        f"BERT-base: a sequence of {given.tokens} tokens, {given.timing} channels",
        rows,
        given.json,
    )


if __name__ == "__main__":
    sys.exit(main())
