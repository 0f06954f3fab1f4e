"""Ternary weights on the chip: what the rule costs, the element, and cycles foretold.

scripts/python benchmarks/llm_ternary.py [--only PART …]

- `rule`: perplexity of the speaking model on 768 tokens that it has never seen, with weights of 8 bits and
  with ternary ones by the rule of BitNet b1.58, which it was not trained with.
- `element`: the element of the model of 370M in Yosys, built for 300 MHz, beside the estimate.
- `foretold`: cycles of small shapes, simulated in the in-process engine and foretold; all logits compared.

Memories of weights, keys and values are on the chip, and answer in the next cycle.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import allo
from allo.backend.devices import DEFAULT_DEVICE
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.quantize import quantize
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.speaker import FOLDER, integer_perplexity
from allo.designs.llm.ternary.elements import multiply_trits, schedule_multiply_trits
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import predict_step
from allo.designs.llm.wide.host import decode, fill_cache
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_wide import cpu_seconds, same_bits

CLOCK_MHZ = 300
LIMIT = 0.03
MODEL = GPTConfig(layers=24, d=1024, heads=16, ffn=4096, context=256, vocab=32_000)
"""367.5 M weights, those of the embedding among them."""
DEVICES = 3
WIDE = Wide(channels=128, trits=128, vector=32, heads=16, gelu_interval=2, weights="chip")
LLAMA = Architecture(
    family="llama", layers=1, d=64, heads=4, kv_heads=2, head_dim=16, ffn=128, context=16, vocab=60,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 16, 2) / 16)).tolist()),
)  # fmt: skip
SHAPES: dict[str, tuple[Architecture, Wide]] = {
    "GPT-2, 2 elements of 16": (
        GPTConfig(layers=2, d=64, heads=4, ffn=256, context=16, vocab=60),
        Wide(channels=2, trits=16, vector=4, heads=2, weights="chip"),
    ),
    "GPT-2, 4 elements of 8": (
        GPTConfig(layers=1, d=64, heads=4, ffn=128, context=16, vocab=60),
        Wide(channels=4, trits=8, vector=8, heads=4, weights="chip"),
    ),
    "LLaMA, 2 elements of 16": (
        LLAMA,
        Wide(channels=2, trits=16, vector=8, heads=2, weights="chip"),
    ),
    "GPT-2, 4 elements of 16": (
        GPTConfig(layers=1, d=128, heads=4, ffn=512, context=16, vocab=300),
        Wide(channels=4, trits=16, vector=8, heads=4, weights="chip"),
    ),
}


def rule() -> list[Row]:
    """Perplexity of a model that was not trained with ternary weights."""
    loaded = load_checkpoint(FOLDER)
    text = split_prose(load_prose())[1][6_000:9_000]
    held = np.array(loaded.tokenizer.encode(text) if loaded.tokenizer else [], np.int32)
    rows, before = [], 0.0
    for name, ternary in (
        ("W8A8", ""),
        ("ternary, matrix", "matrix"),
        ("ternary, output", "output"),
    ):
        weights = quantize(loaded.model, loaded.params, loaded.scales or {}, ternary=ternary)
        found = integer_perplexity(weights, held)
        before = before or found
        key = f"ternary.rule.{ternary or 'w8a8'}.perplexity"
        rows.append(
            Row(f"the speaking model, {name}: perplexity", found, "", "W8A8", before, None, "",
                {key: round(found, 1)})
        )  # fmt: skip
    return rows


def element() -> list[Row]:
    """The element of the model of 370M, alone."""
    m, w = MODEL, WIDE
    behind = m.ffn, m.ffn, m.layers // DEVICES, m.vocab // w.channels
    sizes = [w.trits, w.word, w.channels, m.d, 3 * m.d, m.d, *behind]
    s = schedule_multiply_trits(allo.customize(multiply_trits, instantiate=sizes))
    module = s.build(target="verilog", device=DEFAULT_DEVICE, clock_mhz=CLOCK_MHZ)
    ours, theirs = module.report.resources, module.synthesize(timeout=1800).resources
    rows = []
    for kind in ("lut", "ff"):
        key = {
            f"ternary.element.{kind}": theirs[kind],
            f"ternary.element.estimate.{kind}": ours[kind],
        }
        rows.append(
            Row(f"an element of {w.trits} weights, {kind} in Yosys", theirs[kind], "", "estimate",
                ours[kind], None, f"{theirs[kind] / w.trits:.1f} a weight, {theirs['dsp']} multipliers", key)
        )  # fmt: skip
    return rows


def decoded(
    config: Architecture, wide: Wide, positions: tuple[int, ...], name: str
) -> tuple[Any, list[int]]:
    """The report of a design, and the simulated cycles of tokens at positions, all logits compared."""
    module = schedule(config, wide).build(target="verilog", simulator="jit", clock_mhz=CLOCK_MHZ)
    weights = random_weights(config, ternary=True)
    tokens = np.random.default_rng(2).integers(0, config.vocab, max(positions) + 1)
    cycles = []
    for position in positions:
        memories = make_memories(weights, wide)
        expected = fill_cache(memories, weights, wide, tokens[: position + 1])
        got = decode(module, weights, memories, int(tokens[position]), position)
        same_bits(got, expected, f"logits of {name}")
        cycles.append(module.cycles or 0)
    return module.report, cycles


def foretold() -> list[Row]:
    """Small shapes, each at the first position and at the last but one."""
    rows = []
    for number, (name, (config, wide)) in enumerate(SHAPES.items()):
        positions = 0, config.context - 2
        report, simulated = decoded(config, wide, positions, name)
        for position, cycles in zip(positions, simulated, strict=True):
            step = predict_step(report, config, wide, position)
            off = step.cycles / cycles - 1
            print(f"{name}, {position}: {cycles:,}, {step.cycles:,} ({off:+.1%})", flush=True)
            key = f"ternary.shape_{number}.{position}"
            rows.append(
                Row(f"{name}, position {position}", abs(off), "", "limit", LIMIT, True,
                    f"{cycles:,} simulated, {step.cycles:,} foretold ({off:+.1%})",
                    {f"{key}.cycles": cycles, f"{key}.percent_off": round(100 * off, 1)})
            )  # fmt: skip
    return rows


PARTS: dict[str, Callable[[], list[Row]]] = {
    "rule": rule,
    "element": element,
    "foretold": foretold,
}


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DTypeWarning)
    began = cpu_seconds()
    rows = [row for name in given.only for row in PARTS[name]()]
    print(f"{cpu_seconds() - began:.0f} s of CPU")
    return finish("llm_ternary", "LLM: ternary weights on the chip", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
