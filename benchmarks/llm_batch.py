"""A batch of sequences on the accelerator for blocks: tokens of GPT-2 355M and LLaMA-3.2-1B at a position.

scripts/python benchmarks/llm_batch.py [--position N] [--batch N] [--only gpt2] [--simulate]
scripts/python benchmarks/llm_batch.py --wide [--layers N] [--vocab N] [--channels N] [--batch N]

The models are foretold. Of GPT-2, at 300 MHz, the depths of the loops are those of a narrow design with
vectors and heads of the same width; weights lie on ideal channels of HBM2 and the caches in ideal memory.
LLaMA's design is estimated for a U280 as a whole, with ports for weights, keys and values that may wait,
and foretold at its estimated clock, with weights and caches on channels with banks and refresh, which a
unit's keys have to themselves while it scans them. Its tokens a second are beside those of the model's
fastest design for one sequence here (benchmarks/llm_channels.py). With --simulate a narrow LLaMA runs in the
in-process engine with all memories on such channels, and its logits are compared. With --wide nothing else is
done than that layers of LLaMA-3.2-1B run there, with its widths, the design's elements, units and channels at
its clock, and a vocabulary of 1,024: two processes share the model, one for each number of sequences.
"""

from __future__ import annotations

import dataclasses
import sys
import time
import warnings
from argparse import Namespace
from dataclasses import dataclass
from functools import partial

import numpy as np

from allo.backend.devices import DEFAULT_DEVICE, resources_of
from allo.backend.sim import PerBank, RTLModule, external_memory
from allo.backend.sim.boundary.traffic import DRAM
from allo.designs.llm.checkpoints.quantize import QuantizedModel
from allo.designs.llm.config import Architecture
from allo.designs.llm.wide.block.build import schedule_block
from allo.designs.llm.wide.block.cycles import predict_rows
from allo.designs.llm.wide.block.host import make_block_memories, put_cache, step
from allo.designs.llm.wide.block.parameters import Block
from allo.designs.llm.wide.block.reference import RowsGPT
from allo.designs.llm.wide.block.rows import beside, following
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import Channel, StepPrediction, predict_step
from allo.designs.llm.wide.parameters import Wide
from allo.designs.llm.wide.random_weights import SPREAD, random_weights
from benchmarks.harness import Row, command_line, finish
from benchmarks.llm_channels import CLOCK_MHZ as ONE_MHZ
from benchmarks.llm_channels import SHAPES, WHOLE
from benchmarks.llm_side_by_side import forked
from benchmarks.llm_wide import CLOCK_MHZ, MODELS, channel_of, same_bits

GOAL, LIMIT = 4.5, 0.03
GPT, LLAMA = MODELS["gpt2-355m"][1], MODELS["llama-3.2-1b"][1]
BEST = "LLaMA-3.2-1B, W8A8"
ROW_LANES = 2
"""Of LLaMA's design, whose units of norms are as many."""
NARROW = dataclasses.replace(GPT, layers=1, ffn=512, vocab=64, context=32)
"""A norm's unit has a token for longer where it is wider."""
LANES = 64, 32
"""Of the designs for GPT-2, with 16 heads at once."""
WIDE = Wide(32, 40, 8, 8, gelu_interval=3)
"""A word of 40 weights: 52 of them are an output of 2,048 inputs, and the last one is padded. In these 52
cycles come 16 words of gates.
"""
WHOLE_MHZ = 260
"""Its estimated clock, with ports."""
PORTS = "weights", "keys", "values"
"""Memories that make who asks them wait."""
SMALL = dataclasses.replace(
    LLAMA, layers=1, d=1024, heads=16, kv_heads=4, ffn=512, vocab=64, context=512
)
SMALL_WIDE = Wide(8, 40, 4, 1)
"""Gates come faster than they are bent, as LLaMA's do; a unit has four heads."""


def of_card(clock_mhz: float) -> Channel:
    """A channel with banks and refresh."""
    return channel_of(external_memory("hbm2", clock_mhz=clock_mhz, timing=DRAM)[0])


def of_gpt(batch: int, position: int) -> list[Row]:
    """Tokens of a batch of GPT-2 over those of one sequence on the same design."""
    small = Block(rows=2, tokens=2, most=2, norms=2, spoken=2, slots=2, row_lanes=2)
    narrow = schedule_block(NARROW, Wide(16, 16, 16, 2, gelu_interval=1), small)
    report = narrow.estimate(clock_mhz=CLOCK_MHZ)
    block = Block(batch, batch, batch, batch, batch, slots=batch, row_lanes=batch)
    channel = channel_of(external_memory("hbm2", clock_mhz=CLOCK_MHZ)[0])
    config, rows = dataclasses.replace(GPT, context=2 * position), []
    for lanes in LANES:
        wide = Wide(32, lanes, 16, 16, gelu_interval=1)
        one, many = (
            predict_rows(report, config, wide, block, [position + 1] * n, n, channel)
            for n in (1, batch)
        )
        rows.append(_over_one(f"{lanes} lanes", batch, one, many))
    return rows


def _over_one(name: str, batch: int, one: StepPrediction, many: StepPrediction) -> Row:
    rate = batch * one.cycles / many.cycles
    note = f"one {one.cycles:,}, {batch} {many.cycles:,}, of these {many.pauses:,} pauses; not simulated"
    key = f"blocks.batch.{name.replace(' ', '_')}"
    figures = {
        f"{key}.one.cycles": one.cycles,
        f"{key}.all.cycles": many.cycles,
        f"{key}.rate": round(rate, 2),
    }
    what = f"tokens of {batch} sequences over one, {name}"
    return Row(what, rate, "times", "goal", GOAL, None, note, figures)


def best_of_one(position: int) -> float:
    """Tokens a second of one sequence of LLaMA on the fastest design, whose channels have one reader each."""
    narrow, wide, _ = SHAPES[BEST]
    report = schedule(narrow, wide).estimate(clock_mhz=CLOCK_MHZ)
    config, whole, _ = WHOLE[BEST]
    taken = predict_step(report, config, whole, position, of_card(ONE_MHZ)).cycles
    return 1e6 * ONE_MHZ / taken


def of_llama(batch: int, position: int) -> list[Row]:
    """What LLaMA's design takes of a U280, and tokens of a batch over one of it and of the fastest design."""
    config = dataclasses.replace(LLAMA, context=2 * position)
    block = block_of(batch)
    scheduled = schedule_block(config, WIDE, block)
    report = scheduled.estimate(device=DEFAULT_DEVICE, clock_mhz=CLOCK_MHZ, external=PORTS)
    mhz = report.fmax_mhz or CLOCK_MHZ
    figures: dict[str, float] = {"blocks.batch.llama.mhz": round(mhz)}
    rows = [Row("llama: clock", mhz, "MHz", "asked", CLOCK_MHZ, None, "estimated", figures)]
    for kind, there in resources_of(DEFAULT_DEVICE).items():
        took = report.resources.get(kind, 0)
        figures = {f"blocks.batch.llama.{kind}": took}
        rows.append(Row(f"llama: {kind}", took, "", "of a U280", there, True, "estimated", figures))
    channel = of_card(mhz)
    one, many = (
        predict_rows(report, config, WIDE, block, [position + 1] * n, n, channel, channel)
        for n in (1, batch)
    )
    best, speed = best_of_one(position), 1e6 * batch * mhz / many.cycles
    note = (
        f"{speed:,.0f} tokens/s at {mhz:.0f} MHz, one {best:,.1f} at {ONE_MHZ} MHz; not simulated"
    )
    figures = {"blocks.batch.llama.over_best.rate": round(speed / best, 2)}
    what = "the same over one on its fastest design, llama"
    return [
        *rows,
        _over_one("llama", batch, one, many),
        Row(what, speed / best, "times", "goal", GOAL, None, note, figures),
    ]


def block_of(batch: int) -> Block:
    """The blocks of LLaMA's design, and of the narrow one that is simulated."""
    return Block(batch, batch, batch, ROW_LANES, batch, slots=batch, row_lanes=ROW_LANES, queries=1)


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers of LLaMA's form to simulate, on channels that weights and caches share.

    Attributes:
        name: of its figures.
        title: of its rows.
        mhz: the clock of the channels.
    """

    name: str
    title: str
    config: Architecture
    wide: Wide
    mhz: float

    def build(self, block: Block) -> RTLModule:
        """The design in the in-process engine; a unit has its keys on one channel, its values on another."""
        channels = external_memory("hbm2", clock_mhz=self.mhz, timing=DRAM)[: self.wide.channels]
        units = self.wide.heads
        memory = {
            "weights": PerBank(channels),
            "keys": PerBank(channels[:units]),
            "values": PerBank(channels[units : 2 * units]),
        }
        built: RTLModule = schedule_block(self.config, self.wide, block).build(
            target="verilog", simulator="jit", clock_mhz=CLOCK_MHZ, memory=memory
        )
        return built

    def run(
        self, module: RTLModule, block: Block, weights: QuantizedModel, count: int, position: int
    ) -> Row:
        """Tokens of so many sequences, whose keys and values are drawn, against reference and prediction."""
        memories = make_block_memories(weights, self.wide, block)
        model, rng = RowsGPT(weights, self.wide, block), np.random.default_rng(count)
        for layer in range(self.config.layers):
            for of in "kv":
                kept = model.cache(f"{layer}.{of}")
                drawn = rng.normal(0, SPREAD, kept[:, :, :position].shape)
                kept[:, :, :position] = np.clip(np.rint(drawn), -127, 127)
        for slot in range(count):
            put_cache(memories, self.wide, block, model, slot)
        tokens = beside([following([5 + slot], position, slot) for slot in range(count)])
        began = time.monotonic()
        got = step(module, weights, self.wide, block, memories, tokens, count)
        took = time.monotonic() - began
        same_bits(got, model.step(tokens, count), f"logits of {count} sequences")
        cycles, seen, channel = module.cycles or 0, [position + 1] * count, of_card(self.mhz)
        told = predict_rows(
            module.report, self.config, self.wide, block, seen, count, channel, channel
        ).cycles
        off = told / cycles - 1
        note = (
            f"{cycles:,} cycles simulated in {took:.0f} s, {told:,} foretold ({off:+.1%}), all {got.size:,} "
            f"logits equal; {module.report.fmax_mhz:.0f} MHz"
        )
        key = f"blocks.batch.{self.name}.{'one' if count == 1 else 'all'}"
        figures = {f"{key}.cycles": cycles, f"{key}.percent_off": round(100 * off, 2)}
        what = f"{self.title}, {count} at position {position}: off from the prediction"
        return Row(what, abs(off), "", "limit", LIMIT, True, note, figures)


NARROW_LAYER = Layers("small", "narrow LLaMA", SMALL, SMALL_WIDE, ONE_MHZ)


def simulated(batch: int, position: int) -> list[Row]:
    """One sequence and several of a narrow LLaMA."""
    block, weights = block_of(batch), random_weights(SMALL)
    module = NARROW_LAYER.build(block)
    return [NARROW_LAYER.run(module, block, weights, n, position) for n in (1, batch)]


def layers_of(given: Namespace) -> Layers:
    """Layers of the whole LLaMA: its widths and design, with fewer channels where these are asked for."""
    share = given.channels / WIDE.channels
    config = dataclasses.replace(
        LLAMA,
        layers=given.layers,
        vocab=given.vocab,
        context=2 * given.position,
        d=round(share * LLAMA.d),
        heads=round(share * LLAMA.heads),
        kv_heads=round(share * LLAMA.kv_heads),
        ffn=round(share * LLAMA.ffn),
    )
    wide = dataclasses.replace(
        WIDE, channels=given.channels, heads=min(config.kv_heads, round(share * WIDE.heads))
    )
    title = f"{given.layers} layers of width {config.d}, {given.channels} channels"
    is_whole = given.channels == WIDE.channels and given.layers == 1
    name = "wide" if is_whole else f"wide.{given.channels}_channels.{given.layers}_layers"
    return Layers(name, title, config, wide, WHOLE_MHZ)


def simulated_wide(layers: Layers, batch: int, position: int) -> list[Row]:
    """One sequence and several of the whole widths, each in a process of its own behind one build."""
    began = time.monotonic()
    block, weights = block_of(batch), random_weights(layers.config)
    module = layers.build(block)
    tell(f"compiled in {time.monotonic() - began:.0f} s")
    module.build_model()
    tell(f"ready in {time.monotonic() - began:.0f} s")

    def one(count: int) -> Row:
        row = layers.run(module, block, weights, count, position)
        tell(f"{row.what}: {row.note}")
        return row

    waiting = [forked(partial(one, count)) for count in (1, batch)]
    return [result() for result in waiting]


def tell(what: str) -> None:
    """Say how far it is, at once."""
    print(what, file=sys.stderr, flush=True)


def main() -> int:
    """Foretell, simulate, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--position", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--only", choices=("gpt2", "llama"), help="one model")
    parser.add_argument("--simulate", action="store_true", help="a narrow LLaMA, at position 255")
    parser.add_argument("--wide", action="store_true", help="layers of the whole widths alone")
    parser.add_argument("--layers", type=int, default=1, help="of --wide")
    parser.add_argument("--vocab", type=int, default=1024, help="of --wide")
    parser.add_argument(
        "--channels", type=int, default=WIDE.channels, help="of --wide, with widths in proportion"
    )
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.wide:
        rows = simulated_wide(layers_of(given), given.batch, given.position)
        return finish("llm_batch_wide", "Batch, whole widths", rows, given.json)
    rows = list[Row]()
    if given.only != "llama":
        rows += of_gpt(given.batch, given.position)
    if given.only != "gpt2":
        rows += of_llama(given.batch, given.position)
    if given.simulate:
        rows += simulated(given.batch, min(given.position, 255))
    return finish("llm_batch", "Batch", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
