"""Equations (13) to (20) against simulated cycles of decode and prefill steps.

scripts/python benchmarks/llm_model.py

Each row is a step of RTL in the in-process engine, whose results are those of the NumPy reference, beside
the equations with the depths of pipelines from the compiler's report. The limit is 3 %.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from allo.backend.sim import MemoryChannel, PerBank
from allo.designs.llm.analysis.blocks import block_time
from allo.designs.llm.analysis.data import Transformer
from allo.designs.llm.analysis.engine import Engine, StepTime, step_time
from allo.designs.llm.build import Design, memories_and_session
from allo.designs.llm.build import schedule as schedule_blocks
from allo.designs.llm.checkpoints.integer_model import QuantizedGPT
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.network.train import DATA
from allo.designs.llm.network.weights import load_weights
from allo.designs.llm.plan.reports import block_depths_of, depths_of
from allo.designs.llm.wide.build import schedule as schedule_wide
from allo.designs.llm.wide.host import decode, fill_cache
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish

LIMIT = 0.03
LATENCY = 33
SHAPE = GPTConfig(layers=2, d=256, heads=4, ffn=1024, context=256, vocab=500)
LLAMA = Architecture(
    family="llama", layers=2, d=256, heads=4, kv_heads=2, head_dim=64, ffn=768, context=256, vocab=500,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 64, 2) / 64)).tolist()),
)  # fmt: skip
LARGER = GPTConfig(layers=1, d=512, heads=8, ffn=2048, context=64, vocab=500)

WIDE: tuple[tuple[str, Architecture, Wide, tuple[tuple[float, int], ...]], ...] = (
    (
        "8 channels of 16, W8A8",
        SHAPE,
        Wide(channels=8, lanes=16, vector=8, heads=2, prefetch=256),
        ((0.0, 20), (0.0, 200), (8.0, 20)),
    ),
    (
        "8 channels of 16, W4A8",
        SHAPE,
        Wide(channels=8, lanes=16, vector=8, heads=2, prefetch=256, bits=4),
        ((0.0, 20), (8.0, 20)),
    ),
    (
        "8 channels of 64, W8A8",
        LARGER,
        Wide(channels=8, lanes=64, vector=8, heads=2, prefetch=512),
        ((48.0, 40),),
    ),
    (
        "LLaMA, 8 channels of 16, W8A8",
        LLAMA,
        Wide(channels=8, lanes=16, vector=8, heads=2, prefetch=256),
        ((0.0, 20), (0.0, 200), (8.0, 20)),
    ),
)
"""Name, shape, accelerator, and of each step the bytes a cycle of a channel (0: ideal) and the position."""
BLOCKS: tuple[tuple[int, tuple[tuple[float, int, int], ...]], ...] = (
    (8, ((0.0, 16, 0), (0.0, 16, 96), (0.0, 1, 24), (0.25, 16, 0))),
    (16, ((0.0, 8, 8), (8.0, 1, 24))),
)
"""Lanes, and of each step the bytes a cycle of the memory (0: ideal), the tokens and the first position."""


def transformer_of(config: Architecture) -> Transformer:
    """The shape of a model as the equations take it."""
    return Transformer(
        name="measured",
        title="Measured",
        layers=config.layers,
        heads=config.heads,
        hidden=config.d,
        ffn=config.ffn,
        longest=config.context,
        vocab=config.vocab,
        kv_heads=config.kv_heads,
        gated=config.gated,
    )


def row(what: str, measured: int, foretold: StepTime) -> list[Row]:
    """The cycles of a step, and the error of the equations in its own row."""
    waits = foretold.pauses + foretold.starved - foretold.compute
    kind = "memory" if foretold.starved > 0.05 * measured else "multipliers"
    kind = "pauses" if kind == "multipliers" and waits > 0 else kind
    error = foretold.cycles / measured - 1
    return [
        Row(
            f"{what} ({kind})",
            measured,
            "cycles",
            "equations",
            round(foretold.cycles),
            None,
            f"{error:+.2%}",
        ),
        Row(f"{what}: error", abs(error), "", "limit", LIMIT, True),
    ]


def channels_of(wide: Wide, bytes_per_cycle: float) -> dict[str, PerBank]:
    """A channel for each bank of the weights."""
    channels = [MemoryChannel(f"c{n}", bytes_per_cycle, LATENCY) for n in range(wide.channels)]
    return {"weights": PerBank(channels)}


def wide_rows() -> Iterator[Row]:
    """Steps of the wide accelerator, a token each."""
    for name, config, wide, steps in WIDE:
        # Built with a memory, the ports of the weights wait; without one, their clock would be held.
        module = schedule_wide(config, wide).build(
            target="verilog", simulator="jit", clock_mhz=300, memory=channels_of(wide, 8.0)
        )
        weights = random_weights(config, bits=wide.bits)
        names = ("channels", "lanes", "vector", "heads", "prefetch", "gelu_interval", "bits")
        engine = Engine(**{key: getattr(wide, key) for key in names})
        depths = depths_of(module.report, config.d // wide.vector)
        for rate, position in steps:
            memories = make_memories(weights, wide)
            tokens = np.random.default_rng(2).integers(0, config.vocab, position + 1)
            expected = fill_cache(memories, weights, wide, tokens)
            run = module.variant(memory=channels_of(wide, rate) if rate else None)
            got = decode(run, weights, memories, int(tokens[-1]), position)
            if not np.array_equal(got.view(np.uint32), expected.view(np.uint32)):
                raise RuntimeError(f"{name}: the logits are not those of the reference")
            given = (rate, LATENCY) if rate else (float("inf"), 0)
            foretold = step_time(transformer_of(config), engine, depths, position, *given)
            speed = f"{rate:g} bytes a cycle" if rate else "ideal memory"
            yield from row(
                f"decode, {name}, {speed}, position {position}", run.cycles or 0, foretold
            )


def block_rows() -> Iterator[Row]:
    """Steps of the small accelerator, up to 16 tokens each."""
    weights = load_weights(DATA / "char_gpt_w8a8.npz")
    config = weights.config
    reference = QuantizedGPT(weights)
    for lanes, steps in BLOCKS:
        design = Design(lanes=lanes, block=16, prefetch=256)
        built: Any = schedule_blocks(config, design).build(
            target="verilog",
            simulator="jit",
            memory={"weights": MemoryChannel("hbm", 8.0, LATENCY)},
        )
        depths = block_depths_of(built.report)
        for rate, count, start in steps:
            channel = MemoryChannel("hbm", rate, LATENCY) if rate else None
            module = built.variant(memory={"weights": channel} if channel else None)
            _, session = memories_and_session(weights, design, module)
            tokens = np.random.default_rng(3).integers(0, config.vocab, start + count)
            for first in range(0, start, 16):
                session.feed(tokens[first : min(first + 16, start)])
            step = session.feed(tokens[start:])
            expected = int(np.argmax(reference.forward(tokens[None])[0, -1]))
            if step.token != expected:
                raise RuntimeError(f"{lanes} lanes: the token is not that of the reference")
            given = (rate, LATENCY) if rate else (float("inf"), 0)
            foretold = block_time(
                transformer_of(config), lanes, design.prefetch, depths, count, start, *given
            )
            speed = f"{rate:g} bytes a cycle" if rate else "ideal memory"
            kind = "prefill" if count > 1 else "decode"
            yield from row(
                f"{kind} of {count} from {start}, {lanes} lanes, {speed}",
                step.cycles or 0,
                foretold,
            )


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    target = command_line(__doc__).parse_args().json
    warnings.simplefilter("ignore", DTypeWarning)
    rows = [*wide_rows(), *block_rows()]
    return finish("llm_model", "LLM: equations (13) to (20) against simulated cycles", rows, target)


if __name__ == "__main__":
    sys.exit(main())
