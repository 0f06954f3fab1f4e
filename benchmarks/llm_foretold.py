"""Cycles of a token of small wide accelerators, simulated beside foretold.

scripts/python benchmarks/llm_foretold.py [--only NAME]

Simulated RTL in the in-process engine, built for 300 MHz and run at 245, from an empty cache: keys that no
token left are zeros, which take the same time. Each shape is run at two positions, on ideal channels of HBM2
and on such with banks, rows and refresh. Tables, logits, and keys and values in external memory lie on the
channels of the weights.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings

import numpy as np

from allo.backend.sim import MemoryChannel, PerBank, external_memory
from allo.backend.sim.boundary.traffic import DRAM, IDEAL
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import predict_step
from allo.designs.llm.wide.external.traffic import CACHE, TABLES
from allo.designs.llm.wide.host import decode
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_wide import channel_of

CLOCK_MHZ = 245
POSITIONS = 24, 511
LIMIT = 0.03
GPT = GPTConfig(layers=2, d=256, heads=8, ffn=1024, context=512, vocab=500)
LLAMA = Architecture(
    family="llama", layers=2, d=256, heads=8, kv_heads=2, head_dim=32, ffn=512, context=512, vocab=500,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 32, 2) / 32)).tolist()),
)  # fmt: skip
BASE = Wide(channels=2, lanes=64, vector=8, heads=2, cache="external", cache_prefetch=512)
SHAPES: dict[str, tuple[Architecture, Wide]] = {
    "GPT-2, external": (GPT, dataclasses.replace(BASE, cache_prefetch=128)),
    "LLaMA, 4 queries a key, 2 keys, external": (LLAMA, dataclasses.replace(BASE, keys=2)),
    "LLaMA W4A8, 4 queries a key, 4 keys, external": (
        LLAMA,
        dataclasses.replace(BASE, lanes=32, heads=1, bits=4, keys=4, cache_prefetch=1024),
    ),
    "LLaMA, 4 queries a key, on the chip": (LLAMA, dataclasses.replace(BASE, cache="chip")),
    "GPT-2, heads of 64, on the chip": (
        dataclasses.replace(GPT, heads=4),
        dataclasses.replace(BASE, cache="chip"),
    ),
}


def foretold(name: str) -> list[Row]:
    """A shape at each position, with each timing."""
    warnings.simplefilter("ignore", DTypeWarning)
    config, wide = SHAPES[name]
    beside = (*TABLES, *(CACHE if wide.cache == "external" else ()))

    def channels(timing: str) -> tuple[MemoryChannel, ...]:
        found = external_memory("hbm2", clock_mhz=CLOCK_MHZ, timing=timing)[: wide.channels]
        return tuple(dataclasses.replace(each, prefetch=found[0].lines_ahead) for each in found)

    def places(timing: str) -> dict[str, object]:
        found = channels(timing)
        return dict.fromkeys(beside, found) | {"weights": PerBank(found)}

    built = schedule(config, wide).build(
        target="verilog", simulator="jit", clock_mhz=300, memory=places(IDEAL)
    )
    weights, rows = random_weights(config, bits=wide.bits), []
    for timing in (IDEAL, DRAM):
        module = built if timing == IDEAL else built.variant(memory=places(timing))
        channel = channel_of(channels(timing)[0])
        for position in POSITIONS:
            decode(module, weights, make_memories(weights, wide), 1, position)
            cycles = module.cycles or 0
            step = predict_step(built.report, config, wide, position, channel, beside)
            off = step.cycles / cycles - 1
            what = f"{name}, {timing}, position {position}"
            note = f"{cycles:,} simulated, {step.cycles:,} foretold ({off:+.1%})"
            rows.append(Row(what, abs(off), "", "limit", LIMIT, True, note))
    return rows


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--only", choices=SHAPES, help="one shape")
    given = parser.parse_args()
    names = [given.only] if given.only else list(SHAPES)
    rows = [row for name in names for row in foretold(name)]
    return finish("llm_foretold", f"LLM: a token foretold, {CLOCK_MHZ} MHz", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
