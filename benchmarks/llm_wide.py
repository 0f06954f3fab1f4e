"""The wide transformer accelerator: a token at the speed of the memory, and how it scales.

scripts/python benchmarks/llm_wide.py [--model llama-3.2-1b] [--layers N] [--bits 4] [--clock MHZ]
    [--cache external] [--scaling] [--timing dram]

Simulated RTL in the in-process engine, built for 300 MHz. The design runs at that clock, or at
what `--clock` says, against a model of HBM2 with channels of 14.4 GB/s. The weights are random;
every logit is compared with the NumPy reference. The tables (factors, biases, gains, embeddings), the
logits and, with `--cache external`, keys and values lie on the channels of the weights, line by line in
turn, behind the same latency and bandwidth; `--tables ideal` gives tables and logits a memory without either.
Channels are ideal ones, with bandwidth and latency alone; `--timing dram` gives them banks, rows and refresh.
Predictions know them, and bounds stay those of ideal channels. Both are also given in GB/s beside the 425 of
the best measured on the card.
With fewer layers or tokens than the model has, the cycles of the whole model are foretold from the report,
by what foretells those simulated.
"""

from __future__ import annotations

import dataclasses
import resource
import sys
import time
import warnings

import numpy as np

from allo.backend.sim import MemoryChannel, PerBank, external_memory
from allo.backend.sim.boundary.traffic import DRAM, IDEAL, TICKS, device_of
from allo.designs.llm.checkpoints.architecture import rotary_angles
from allo.designs.llm.config import Architecture, GPTConfig
from allo.designs.llm.wide.build import schedule
from allo.designs.llm.wide.cycles import Channel, predict_step
from allo.designs.llm.wide.external.traffic import CACHE, TABLES, step_bytes
from allo.designs.llm.wide.host import decode, draw_cache, fill_cache
from allo.designs.llm.wide.memories import make_memories
from allo.designs.llm.wide.parameters import Wide, job_words
from allo.designs.llm.wide.random_weights import random_weights
from allo.errors import DTypeWarning
from benchmarks.harness import Row, command_line, finish

CLOCK_MHZ = 300
POSITION = 127
DRAWN = 2048
"""The position from which on keys and values are drawn, since the reference takes long to fill them."""
MEASURED = 425
"""GB/s that were measured on a U280, the most that is published."""
GOALS = {8: 0.93, 4: 0.85}
"""The share of the bandwidth that a token has to reach, by the bits of a weight."""
LLAMA_3 = {
    "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 32.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
}  # fmt: skip
MODELS: dict[str, tuple[str, Architecture, int]] = {
    "gpt2-355m": (
        "GPT-2 355M",
        GPTConfig(layers=24, d=1024, heads=16, ffn=4096, context=256, vocab=50_257),
        4,
    ),
    "llama-3.2-1b": (
        "LLaMA-3.2-1B",
        Architecture(
            family="llama", layers=16, d=2048, heads=32, kv_heads=8, head_dim=64, ffn=8192, context=256,
            vocab=128_256, activation="silu", eps=1e-5, rms=True, gated=True, biases=(),
            rotary=rotary_angles({"rope_parameters": LLAMA_3}, 64),
        ),
        8,
    ),
}  # fmt: skip
"""Title and shape of a model, and the heads at once, of keys and values."""
SCALING = ((2, 16), (2, 32), (4, 32), (8, 32), (8, 64))
"""Channels and lanes of the scaling rows."""


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def channel_of(memory: MemoryChannel) -> Channel:
    """What a channel gives, as predictions take it; the memory model counts its lines in parts of a cycle."""
    peak = memory.line_bytes * TICKS / memory.line_ticks
    if memory.timing != DRAM:
        return Channel(peak, memory.latency, memory.lines_ahead)
    device = device_of(memory)
    latency = round(device.hit_ns * (memory.clock_mhz or 0) / 1e3)
    ahead = memory.lines_ahead
    return Channel(peak * device.in_order, latency, ahead, lost=ahead)


def same_bits(got: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Refuse what is not that of the reference, bit for bit."""
    if not np.array_equal(got.view(np.uint32), expected.view(np.uint32)):
        raise RuntimeError(f"The {what} are not those of the reference.")


def measure(
    config: Architecture,
    wide: Wide,
    position: int,
    name: str,
    clock_mhz: float = CLOCK_MHZ,
    tables: bool = True,
    whole: Architecture | None = None,
    timing: str = IDEAL,
) -> list[Row]:
    """One decode step: its cycles beside those in which the channels could move the weights.

    Args:
        clock_mhz: the clock that the design runs at, so how much a channel moves in a cycle.
        tables: whether tables and logits lie on the channels of the weights, or in an ideal memory.
        whole: the model that ``config`` has some layers or tokens of, whose cycles are foretold.
        timing: of the channels: bandwidth and latency, or banks, rows and refresh.
    """
    warnings.simplefilter("ignore", DTypeWarning)
    channels = external_memory("hbm2", clock_mhz=clock_mhz, timing=timing)[: wide.channels]
    # A port whose lines lie on all channels has as many on their way as one of a single channel.
    ahead = channels[0].lines_ahead
    channels = tuple(dataclasses.replace(channel, prefetch=ahead) for channel in channels)
    merged = wide.cache == "channels"
    read = {*(TABLES if tables or merged else ()), *(() if wide.cache == "chip" else CACHE)}
    beside = () if merged else tuple(read)
    began = cpu_seconds()
    module = schedule(config, wide).build(
        target="verilog",
        simulator="jit",
        clock_mhz=CLOCK_MHZ,
        memory=dict.fromkeys(beside, channels) | {"weights": PerBank(channels)},
    )
    module.build_model()
    built = cpu_seconds()
    weights = random_weights(config, bits=wide.bits)
    memories = make_memories(weights, wide)
    tokens = np.random.default_rng(2).integers(0, config.vocab, position + 1)
    if position < DRAWN:
        expected = fill_cache(memories, weights, wide, tokens)
    else:
        expected = draw_cache(memories, weights, wide, int(tokens[-1]), position)
    ready = cpu_seconds()
    got = decode(module, weights, memories, int(tokens[-1]), position)
    ran = cpu_seconds()
    same_bits(got, expected, f"logits of {name}")
    cycles = module.cycles or 0
    moved = step_bytes(config, wide, position)
    real = weight_bytes(config, wide) + sum(moved[array] for array in read)
    peak = channel_of(external_memory("hbm2", clock_mhz=clock_mhz)[0]).bytes_per_cycle
    channel = channel_of(channels[0])
    bound = real / (wide.channels * peak)
    foretold = predict_step(module.report, config, wide, position, channel, beside).cycles
    share = bound / cycles
    note = (
        f"{timing} channels, {len(got):,} logits equal, {_rate(real, cycles, clock_mhz)}, "
        f"{1e6 * clock_mhz / cycles:,.1f} tokens/s at {clock_mhz:g} MHz, "
        f"foretold {foretold:,} ({foretold / cycles - 1:+.2%}); estimates: {module.report.fmax_mhz:.0f} MHz, "
        + ", ".join(f"{count:,} {kind}" for kind, count in module.report.resources.items())
    )
    rows = [
        Row(f"{name}: cycles", cycles, "cycles", "memory bound", round(bound), None, note),
        Row(f"{name}: share of the bandwidth", share, "", "goal", GOALS[wide.bits], None),
        Row(f"{name}: build", built - began, "s of CPU", "limit", 180, None),
        Row(f"{name}: run", ran - ready, "s of CPU", "limit", 600, None),
    ]
    if whole is None or whole == config:
        return rows
    cycles = predict_step(module.report, whole, wide, position, channel, beside).cycles
    moved = step_bytes(whole, wide, position)
    real = weight_bytes(whole, wide) + sum(moved[array] for array in read)
    bound = real / (wide.channels * peak)
    note = (
        f"not simulated: {whole.layers} layers and {whole.vocab:,} logits, "
        f"{1e6 * clock_mhz / cycles:,.1f} tokens/s at {clock_mhz:g} MHz, "
        f"{bound / cycles:.1%} of the bandwidth, {_rate(real, cycles, clock_mhz)}"
    )
    row = Row(
        f"{name}: whole, foretold", cycles, "cycles", "memory bound", round(bound), None, note
    )
    return [*rows, row]


def _rate(moved: int, cycles: int, clock_mhz: float) -> str:
    """Bytes of a token a second, beside the most that was measured on the card."""
    rate = moved * clock_mhz / cycles / 1e3
    return f"{rate:.1f} GB/s ({rate / MEASURED:.1%} of {MEASURED})"


def weight_bytes(config: Architecture, wide: Wide) -> int:
    """Bytes of weights and steps that a token moves, without what pads them."""
    jobs, _ = job_words(config, wide)
    layers: int = config.layers * sum(jobs)
    return wide.channels * wide.lanes * layers + config.vocab * config.d


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--model", choices=MODELS, default="gpt2-355m", help="the shape")
    parser.add_argument("--layers", type=int, help="layers, of those that the model has")
    parser.add_argument("--bits", type=int, default=8, choices=(8, 4), help="bits of the weights")
    parser.add_argument("--vocab", type=int, help="tokens, of those that the model has")
    parser.add_argument("--heads", type=int, help="heads at once")
    parser.add_argument("--keys", type=int, default=1, help="keys that a unit takes at once")
    parser.add_argument("--prefetch", type=int, default=1024, help="words of weights ahead")
    parser.add_argument("--cache-prefetch", type=int, default=512, help="keys of a unit ahead")
    parser.add_argument("--vector", type=int, default=16, help="elements of a vector")
    parser.add_argument(
        "--clock", type=float, default=CLOCK_MHZ, help="MHz that the design runs at"
    )
    parser.add_argument("--cache", default="chip", choices=("chip", "external", "channels"))
    parser.add_argument("--tables", default="external", choices=("external", "ideal"))
    parser.add_argument("--timing", default=IDEAL, choices=(IDEAL, DRAM), help="of the channels")
    parser.add_argument("--position", type=int, default=POSITION, help="of the token")
    parser.add_argument("--context", type=int, default=256, help="tokens that the cache holds")
    parser.add_argument("--top", type=int, default=0, help="largest logits to give beside all")
    parser.add_argument("--scaling", action="store_true", help="channels and lanes doubled")
    parser.add_argument("--figure", help="the key under which scripts/figures records the cycles")
    given = parser.parse_args()
    rows: list[Row] = []
    tables = given.tables == "external"
    if given.scaling:
        config = GPTConfig(layers=1, d=512, heads=8, ffn=2048, context=32, vocab=500)
        for channels, lanes in SCALING:
            wide = Wide(channels=channels, lanes=lanes, vector=8, heads=2)
            name = f"{channels} channels, {lanes} lanes"
            rows += measure(config, wide, 24, name, tables=tables, timing=given.timing)[:2]
    else:
        title, whole, heads = MODELS[given.model]
        whole = dataclasses.replace(whole, context=given.context)
        layers, vocab = given.layers or whole.layers, given.vocab or whole.vocab
        config = dataclasses.replace(whole, layers=layers, vocab=vocab)
        wide = Wide(
            bits=given.bits,
            heads=given.heads or heads,
            vector=given.vector,
            top=given.top,
            cache=given.cache,
            keys=given.keys,
            prefetch=given.prefetch,
            cache_prefetch=given.cache_prefetch,
        )
        name = f"{title}, W{wide.bits}A8, {layers} layers"
        rows += measure(
            config, wide, given.position, name, given.clock, tables, whole, given.timing
        )
        if given.figure:
            rows[0] = dataclasses.replace(rows[0], figures={given.figure: rows[0].value})
    clock = f"{CLOCK_MHZ if given.scaling else given.clock:g} MHz"
    return finish("llm_wide", f"LLM: one token, {clock}, {given.timing} channels", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
