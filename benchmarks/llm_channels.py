"""A token where each channel has one reader: a layer of the model on 32 channels, or on two of them.

scripts/python benchmarks/llm_channels.py [--only NAME] [--timing ideal] [--layers N] [--two] [--estimate]

Simulated RTL in the in-process engine, built for 300 MHz and run at 245, on channels of HBM2 with banks, rows
and refresh (or ``--timing ideal``). The design has all 32 channels, and one layer (or ``--layers``) of the
model with a vocabulary of 1,024 (or ``--vocab``); with ``--layers 24 --vocab 50257`` GPT-2 is whole. Its
channels lie in the three regions of a U280; ``--estimate`` gives the clock with wires over their borders. All
logits are compared with the NumPy reference, from keys and values that are drawn, the same for both. With
``--two`` a shape has two channels, with as many words of weights, of steps, and of keys and values in a layer
as each channel of the model has. GB/s are beside the 425 of the best measured on the card. Where a part is
simulated, the whole model is foretold with the depths of the design's report.
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
from allo.designs.llm.wide.external.regions import placement
from allo.designs.llm.wide.external.traffic import CACHE, TABLES, step_bytes
from allo.designs.llm.wide.host import decode, draw_cache
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import random_weights
from allo.designs.llm.wide.stages.sizes import sizes_of
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_wide import MEASURED, MODELS, channel_of, same_bits, weight_bytes

CLOCK_MHZ, CARD = 245, 32
GOALS = {8: 0.90, 4: 0.85}
LIMIT = 0.03
TOKEN = 5
GPT = GPTConfig(layers=3, d=256, heads=4, ffn=1024, context=256, vocab=512)
LLAMA = Architecture(
    family="llama", layers=2, d=256, heads=4, kv_heads=4, head_dim=64, ffn=4608, context=1024, vocab=512,
    activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
    rotary=tuple((10_000.0 ** (-np.arange(0, 64, 2) / 64)).tolist()),
)  # fmt: skip
WIDE = Wide(
    channels=2, lanes=64, vector=4, heads=2, prefetch=2048, cache="channels", cache_prefetch=256
)
LONG = dataclasses.replace(WIDE, heads=1, keys=1, prefetch=4096, cache_prefetch=1024)
SHAPES: dict[str, tuple[Architecture, Wide, tuple[int, ...]]] = {
    "GPT-2 355M, W8A8": (GPT, WIDE, (31, 255)),
    "GPT-2 355M, W4A8": (GPT, dataclasses.replace(WIDE, bits=4), (31, 255)),
    "LLaMA-3.2-1B, W8A8": (LLAMA, LONG, (1023,)),
    "LLaMA-3.2-1B, W4A8": (LLAMA, dataclasses.replace(LONG, bits=4), (1023,)),
    "LLaMA-3.2-1B, W4A8 KV4": (
        LLAMA,
        dataclasses.replace(LONG, bits=4, cache_bits=4, cache_prefetch=8 * 1024),
        (1023,),
    ),
}
"""By the model whose channels they have: a shape, and positions, at which a channel moves as many lines as
those of the whole model do at 127 and 1,023, or at 8,191."""
REGIONS = 12, 8, 12
"""Channels in the three regions of the card, where the model's units of attention have two channels each."""
WHOLE: dict[str, tuple[Architecture, Wide, tuple[int, ...]]] = {
    name: (
        dataclasses.replace(MODELS[model][1], context=context),
        Wide(
            bits=bits,
            prefetch=ahead,
            cache="channels",
            cache_prefetch=context * (8 if name.endswith("KV4") else 1),
            heads=heads,
            keys=16 // heads,
            cache_bits=4 if name.endswith("KV4") else 8,
            regions=REGIONS if heads == 16 else (),
        ),
        positions,
    )
    for name, model, bits, context, heads, ahead, positions in (
        ("GPT-2 355M, W8A8", "gpt2-355m", 8, 1024, 16, 4096, (127, 1023)),
        ("GPT-2 355M, W4A8", "gpt2-355m", 4, 1024, 16, 4096, (127, 1023)),
        ("LLaMA-3.2-1B, W8A8", "llama-3.2-1b", 8, 8192, 2, 4096, (8191,)),
        ("LLaMA-3.2-1B, W4A8", "llama-3.2-1b", 4, 8192, 2, 4096, (8191,)),
        ("LLaMA-3.2-1B, W4A8 KV4", "llama-3.2-1b", 4, 8192, 2, 4096, (8191,)),
    )
}
"""The models themselves, on 32 channels, with the same names. A unit takes half as many keys at once as it
has channels, since lines of keys and of values come by turns. LLaMA has few units of many channels: fewer
sums, and fewer lines that wait. Streams of 4,096 words are UltraRAM. Of four bits, lines of a head come
faster than its unit takes them: those of all four heads of a unit may wait, or the reader waits with them."""


KEYS = {
    "GPT-2 355M, W8A8": "gpt2_w8a8",
    "GPT-2 355M, W4A8": "gpt2_w4a8",
    "LLaMA-3.2-1B, W8A8": "llama_w8a8",
    "LLaMA-3.2-1B, W4A8": "llama_w4a8",
    "LLaMA-3.2-1B, W4A8 KV4": "llama_w4a8_kv4",
}
"""What the figures of a shape are recorded under."""


def measured(name: str, timing: str = DRAM) -> list[Row]:
    """Two channels: the share of the bandwidth at each position, and what it is off from the prediction."""
    config, wide, positions = SHAPES[name]
    return simulated(config, wide, positions, name, timing, figures="channels")


def of_model(name: str, timing: str, layers: int, vocab: int) -> list[Row]:
    """Some layers of a model on all channels, and the whole of it foretold."""
    config, wide, positions = WHOLE[name]
    config = dataclasses.replace(config, layers=layers, vocab=vocab)
    figures = "whole" if config.layers == WHOLE[name][0].layers else "layer"
    return simulated(config, wide, positions, name, timing, figures)


def simulated(
    config: Architecture,
    wide: Wide,
    positions: tuple[int, ...],
    name: str,
    timing: str,
    figures: str,
) -> list[Row]:
    """What a design takes at each position, and what is foretold of it and of the whole model.

    Args:
        figures: what its figures are recorded under.
    """
    warnings.simplefilter("ignore", DTypeWarning)
    found = external_memory("hbm2", clock_mhz=CLOCK_MHZ, timing=timing)[: wide.channels]
    channels: tuple[MemoryChannel, ...] = tuple(
        dataclasses.replace(each, prefetch=found[0].lines_ahead) for each in found
    )
    module = schedule(config, wide).build(
        target="verilog",
        simulator="jit",
        clock_mhz=300,
        memory={"weights": PerBank(channels)},
    )
    weights, rows, channel = random_weights(config, bits=wide.bits), [], channel_of(channels[0])
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in module.report.resources.items())
    for position in positions:
        memories = make_memories(weights, wide)
        expected = draw_cache(memories, weights, wide, TOKEN, position)
        got = decode(module, weights, memories, TOKEN, position)
        same_bits(got, expected, f"logits of {name} at position {position}")
        cycles = module.cycles or 0
        step = predict_step(module.report, config, wide, position, channel)
        share = share_of(config, wide, position, cycles)
        off = step.cycles / cycles - 1
        what = f"{name}, {timing}, position {position}"
        note = (
            f"{cycles:,} cycles simulated, {step.cycles:,} foretold ({off:+.1%}), {len(got):,} logits equal; "
            f"estimates without borders: {module.report.fmax_mhz:.0f} MHz, {kinds}"
        )
        key = f"llm.{figures}.{KEYS[name]}.{position}"
        kept = {f"{key}.cycles": cycles, f"{key}.share": round(share, 3)}
        kept |= {f"{key}.percent_off": round(100 * off, 2)}
        reached = f"{what}: share of 425 GB/s", share, "", "goal", GOALS[wide.bits], False, note
        rows.append(Row(*reached, kept))
        rows.append(Row(f"{what}: off from the prediction", abs(off), "", "limit", LIMIT, True))
    whole, all_of_it, positions = WHOLE[name]
    all_of_it = dataclasses.replace(all_of_it, regions=wide.regions)
    for position in positions if config != whole else ():
        step = predict_step(module.report, whole, all_of_it, position, channel)
        share = share_of(whole, all_of_it, position, step.cycles)
        note = f"not simulated; {step.cycles:,} cycles, {share:.1%} of {MEASURED} GB/s"
        speed = 1e6 * CLOCK_MHZ / step.cycles
        what = f"{name} whole, {timing}, position {position}, foretold"
        rows.append(Row(what, speed, "tokens/s", "at 425 GB/s", speed / share, None, note))
    return rows


def estimated(name: str, layers: int, vocab: int) -> list[Row]:
    """Clock and resources of a design, by an estimate that counts wires over borders of regions."""
    config, wide, _ = WHOLE[name]
    config = dataclasses.replace(config, layers=layers, vocab=vocab)
    figures = "whole" if config.layers == WHOLE[name][0].layers else "layer"
    where = placement(sizes_of(config, wide)) if wide.regions else None
    report = schedule(config, wide).estimate(clock_mhz=300, regions=where)
    mhz = report.fmax_mhz or 0.0
    found: dict[str, float] = {"mhz": mhz, "borderless_mhz": report.borderless_mhz or mhz}
    found |= {kind: report.resources.get(kind, 0) for kind in ("lut", "ff", "dsp", "bram", "uram")}
    found |= {f"border_{low}.bits": wires for low, wires in enumerate(report.wires_of_regions)}
    for region, resources in enumerate(report.resources_of_regions):
        found[f"region_{region}.lut"] = resources["lut"]
    note = ", ".join(f"{kind} {count:,}" for kind, count in found.items())
    kept = {f"llm.{figures}.{KEYS[name]}.estimate.{kind}": each for kind, each in found.items()}
    what = f"{name}, {layers} layers: estimated clock"
    return [Row(what, mhz, "MHz", "goal", CLOCK_MHZ, False, note, kept)]


def share_of(config: Architecture, wide: Wide, position: int, cycles: int) -> float:
    """Of the rate that was measured on the card, were all of its channels like these."""
    moved = step_bytes(config, wide, position)
    real = weight_bytes(config, wide) + sum(moved[array] for array in (*TABLES, *CACHE))
    return real / cycles * CLOCK_MHZ / 1e3 * CARD / wide.channels / MEASURED


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--only", choices=WHOLE, help="one model")
    parser.add_argument("--layers", type=int, default=1, help="layers, of those that the model has")
    parser.add_argument("--vocab", type=int, default=1024, help="tokens, of those that it has")
    parser.add_argument("--estimate", action="store_true", help="nothing is simulated")
    parser.add_argument("--two", action="store_true", help="two channels of the 32")
    parser.add_argument("--timing", default=DRAM, choices=(IDEAL, DRAM), help="of the channels")
    given = parser.parse_args()
    rows: list[Row] = []
    for name in [given.only] if given.only else list(WHOLE):
        if given.estimate:
            rows += estimated(name, given.layers, given.vocab)
        elif given.two:
            rows += measured(name, given.timing)
        else:
            rows += of_model(name, given.timing, given.layers, given.vocab)
    return finish("llm_channels", f"LLM: one reader a channel, {CLOCK_MHZ} MHz", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
