"""Ternary weights on the chip: what the rule costs, the element, cycles foretold, and a model of 370M.

scripts/python benchmarks/llm_ternary.py [--only PART …]

- `rule`: perplexity of the speaking model on 768 tokens that it has never seen, with weights of 8 bits and
  with ternary ones by the rule of BitNet b1.58, which it was not trained with.
- `element`: the element of the model of 370M in Yosys, built for 300 MHz, beside the estimate.
- `foretold`: cycles of small shapes, simulated in the in-process engine and foretold; all logits compared.

- `pipeline`: tokens of two sequences on two small devices in a pipeline, beside the equations.
- `device`: the last of six devices that have a model of 370M, at full width: 4 layers and the logits. Its RTL
  is simulated at position 127, all logits compared; what pipelines do is foretold by its report.

Memories of weights, keys and values are on the chip, and answer in the next cycle.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import allo
from allo.backend.devices import DEFAULT_DEVICE
from allo.designs.llm.analysis.data import Transformer, fpga
from allo.designs.llm.analysis.devices import LinkDepths, Shares, Wire, devices_time
from allo.designs.llm.analysis.engine import Depths, Engine
from allo.designs.llm.checkpoints.load import load_checkpoint
from allo.designs.llm.checkpoints.quantize import quantize
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.devices.build import schedule as schedule_devices
from allo.designs.llm.devices.depths import depths_of as device_depths_of
from allo.designs.llm.devices.link import AURORA_100G, check_exact, pace_of
from allo.designs.llm.devices.memories import deal
from allo.designs.llm.devices.memories import logits_of as logits_of_devices
from allo.designs.llm.devices.parameters import Devices
from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.speaker import FOLDER, integer_perplexity
from allo.designs.llm.plan.reports import depths_of
from allo.designs.llm.ternary.capacity import taken
from allo.designs.llm.ternary.elements import multiply_trits, schedule_multiply_trits
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import predict_step
from allo.designs.llm.wide.host import decode, fill_cache
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.reference import WideGPT
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_wide import cpu_seconds, same_bits

CLOCK_MHZ = 300
LIMIT = 0.03
MODEL = GPTConfig(layers=24, d=1024, heads=16, ffn=4096, context=256, vocab=32_000)
"""367.5 M weights, those of the embedding among them."""
DEVICES = 6
"""The shortest pipeline that is foretold to be faster than ``TEREFFIC``."""
WIDE = Wide(channels=64, trits=128, vector=16, heads=8, gelu_interval=2, weights="chip")
POSITION = 127
TEREFFIC = 16_300
"""Tokens a second that are published of a ternary model of 370M on several FPGAs."""
PIPELINES = (3, 4, 6, 8)
LINKS = LinkDepths(send=2, add=3, leave=10, enter=1, choose=25, vote=4)
"""Of benchmarks/llm_devices.py: a little deeper than those measured."""
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


def engine_of(wide: Wide) -> Engine:
    """An accelerator as the equations take it."""
    names = ("channels", "vector", "heads", "gelu_interval", "trits")
    return Engine(lanes=wide.word, **{name: getattr(wide, name) for name in names})


def transformer_of(config: Architecture) -> Transformer:
    """A model as the equations take it."""
    sizes = config.layers, config.heads, config.d, config.ffn, config.context, config.vocab
    return Transformer("measured", "Measured", *sizes)


def pipeline() -> list[Row]:
    """Two devices, two sequences in turns, two tokens of each."""
    config = GPTConfig(layers=2, d=64, heads=4, ffn=128, context=16, vocab=60)
    wide = Wide(channels=2, trits=8, vector=4, heads=1, weights="chip")
    devices, clock = Devices(1, 2, 2, 2), 200.0
    speed = pace_of(devices.link, clock, 4 * wide.vector)
    module = schedule_devices(config, wide, devices, speed).build(
        target="verilog", simulator="jit", clock_mhz=clock
    )
    check_exact(module.report)
    weights = random_weights(config, ternary=True)
    memories = deal(weights, wide, devices)
    module(np.array([[3, 29]], np.int32), 0, *memories.arguments())
    sequences, expected = [[3], [29]], []
    for _ in range(devices.rounds):
        for sequence in sequences:
            expected.append(WideGPT(weights, wide).forward(np.array([sequence]))[0, -1])
            sequence.append(int(np.argmax(expected[-1])))
    got = logits_of_devices(memories, config.vocab, devices.steps)
    same_bits(got, np.array(expected), "logits of two devices")
    cycles = module.cycles or 0
    found = devices_time(
        transformer_of(config), engine_of(wide), *device_depths_of(module.report, config.d // wide.vector),
        Wire(speed.interval, speed.latency), 0, Shares(1, 2, 2, 2),
    )  # fmt: skip
    off = found.cycles / cycles - 1
    key = "ternary.pipeline"
    return [
        Row("two devices in a pipeline, two sequences", abs(off), "", "limit", LIMIT, True,
            f"{cycles:,} cycles simulated, {found.cycles:,.0f} by the equations ({off:+.1%})",
            {f"{key}.cycles": cycles, f"{key}.percent_off": round(100 * off, 1)})
    ]  # fmt: skip


def device() -> list[Row]:
    """The last device of a pipeline of six, simulated; and pipelines, foretold."""
    share = dataclasses.replace(MODEL, layers=MODEL.layers // DEVICES)
    began = cpu_seconds()
    report, (cycles,) = decoded(share, WIDE, (POSITION,), "the last device")
    step = predict_step(report, share, WIDE, POSITION)
    off, clock = step.cycles / cycles - 1, round(report.fmax_mhz)
    key = "ternary.device"
    figures = {f"{key}.{kind}": report.resources[kind] for kind in ("lut", "ff", "dsp")}
    figures |= {
        f"{key}.cycles": cycles,
        f"{key}.percent_off": round(100 * off, 1),
        f"{key}.mhz": clock,
    }
    note = (
        f"{share.vocab:,} logits equal, {step.cycles:,} foretold ({off:+.1%}), {report.fmax_mhz:.0f} MHz, "
        f"{report.resources}, {cpu_seconds() - began:.0f} s of CPU"
    )
    rows = [
        Row(
            "the last device: cycles",
            cycles,
            "cycles",
            "foretold",
            step.cycles,
            None,
            note,
            figures,
        )
    ]
    return rows + foretold_pipelines(depths_of(report, MODEL.d // WIDE.vector), clock)


def foretold_pipelines(depths: Depths, clock: float) -> list[Row]:
    """Tokens a second of one sequence, and of one a device, by the equations; and the memories."""
    bytes_per_cycle = AURORA_100G.bandwidth / (clock * 1e6)
    wire = Wire(max(1.0, 4 * WIDE.vector / bytes_per_cycle), AURORA_100G.latency * clock * 1e6)
    rows, card = [], fpga("u280")
    for count in PIPELINES:
        found = devices_time(
            transformer_of(MODEL), engine_of(WIDE), depths, LINKS, wire, POSITION, Shares(1, count, count)
        )  # fmt: skip
        one = clock * 1e6 / found.token
        every = clock * 1e6 * count / max(found.token, count * found.stage)
        memory = taken(dataclasses.replace(MODEL, context=POSITION + 1), WIDE, count, count)
        note = (
            f"not simulated: {one:,.0f} tokens/s of one sequence; {memory.uram} of {card.uram} blocks of 288 "
            f"kbit, {memory.bram18:,} of {card.bram18:,} of 18 kbit"
        )
        key = f"ternary.pipeline_{count}"
        figures = {f"{key}.one.rate": round(one), f"{key}.all.rate": round(every)}
        figures |= {f"{key}.uram": memory.uram, f"{key}.bram": memory.bram18}
        what = f"{count} devices, {count} sequences"
        rows.append(Row(what, every, "tokens/s", "TerEffic", TEREFFIC, None, note, figures))
    return rows


PARTS: dict[str, Callable[[], list[Row]]] = {
    "rule": rule,
    "element": element,
    "foretold": foretold,
    "pipeline": pipeline,
    "device": device,
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
