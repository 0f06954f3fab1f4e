"""Cycles of a step of the wide accelerator, predicted from the compiler's report and the memory.

A step is a chain of jobs of the elements. A job takes a cycle a word, or as long as its words
take to come; before it there is a pause, in which the vector units work and the loaders fill their
FIFOs. The report gives the depths of the loops that a pause passes through, at the clock the design was
built for.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..config import Architecture
from ..stage import Loops
from .build import stages_of
from .external import regions
from .external.flow import LEAST, Attention, Flow, Port, Step
from .external.lines import lines_of, lines_waiting
from .external.order import Ordered, Reader
from .external.traffic import CACHE, LINE, read_lines, step_bytes
from .parameters import Wide, job_words, page_lines
from .stages.linear import CALL
from .stages.sizes import sizes_of


@dataclass(frozen=True, slots=True)
class Channel:
    """A memory channel.

    Attributes:
        bytes_per_cycle: of a loader that reads in order, which is less than its peak where it has banks and
            refresh (``Device.in_order``).
        latency: cycles until the first byte is there.
        lines: of a port that are on their way at once; 0 for as many as hide the latency.
        lost: lines that a port has asked for behind the last one of a run that it reads.
    """

    bytes_per_cycle: float
    latency: int = 0
    lines: int = 0
    lost: int = 0


IDEAL = Channel(float("inf"))

LEAST_AHEAD = 8
"""Lines of a port that are on their way where nobody says how many."""

Jobs = Sequence[tuple[float | None, int]]
"""The pause in front of each job, or None for an attention of its own; and the words of a channel."""


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """What a step takes.

    Attributes:
        cycles: of the whole step.
        memory: of these, the least in which the channels can move the weights.
        pauses: in which the elements wait for activations, of the whole step.
        starved: in which the elements wait for weights, of the whole step.
    """

    cycles: int
    memory: int
    pauses: int
    starved: int


@dataclass(slots=True)
class _Fifo:
    """The words a loader is ahead: it adds ``rate`` a cycle, up to ``depth``."""

    rate: float
    depth: int
    ahead: float = 0.0

    def pause(self, cycles: float) -> None:
        """Nothing is taken."""
        self.ahead = min(self.depth, self.ahead + self.rate * cycles)

    def take(self, words: int, every: int = 1) -> float:
        """Cycles in which so many words are taken, at most one in ``every`` cycles."""
        less = 1.0 - self.rate * every
        if less <= 0.0:
            self.ahead = min(self.depth, self.ahead - words * less)
            return words * every
        quick = min(float(words), self.ahead / less)
        self.ahead -= quick * less
        return quick * every + (words - quick) / self.rate


def predict_step(
    report: Any,
    config: Architecture,
    wide: Wide,
    position: int,
    channel: Channel = IDEAL,
    beside: tuple[str, ...] = (),
) -> StepPrediction:
    """Predict the step of the token at a position.

    Args:
        report: the ``DesignReport`` of the accelerator.
        channel: what each channel of the weights gives; nothing is told by it of weights on the chip.
        beside: arrays whose lines lie on the channels of the weights, too. Their bytes are taken to
            come all the time, so that the weights have the rest of the bandwidth. Where each channel has one
            reader, this brings them in their order.
    """
    loops = Loops(report)
    z = sizes_of(config, wide)
    stages, over = stages_of(z), regions.delays(z, loops)
    at = {name: stage.delay(loops) + over.get(name, 0) for name, stage in stages.items()}
    interval = loops.interval(stages["activating"].kernels[-1].name, "out")
    return foretell(at, interval, config, wide, position, channel, beside)


def foretell(
    at: Mapping[str, float],
    interval: int,
    config: Architecture,
    wide: Wide,
    position: int,
    channel: Channel = IDEAL,
    beside: tuple[str, ...] = (),
) -> StepPrediction:
    """The same from the delays of the stages, by their names.

    Args:
        at: cycles from the last word that a stage takes to the first one that it gives.
        interval: cycles between two words of the activation function.
    """
    channel = IDEAL if wide.weights == "chip" else channel
    (qkv, projected, up, down), logits = job_words(config, wide)
    results = at["multiplying"] + at["gathering"] + at["rescaling"]
    norm, spread = at["norming"], at["spreading"]
    first = at["embedding"] + norm + spread
    # The activations of the first outputs are computed while the job goes on.
    bending = config.ffn // wide.vector * interval
    gelu = results + at["activating"] + spread + max(0, bending - up)
    merged = wide.cache == "channels"
    outside = merged or (wide.cache == "external" and position > 0)
    attention = None if outside else _attention(at, config, wide, results, qkv, position)
    layer = (
        (results + norm + spread, qkv),
        (attention, projected),
        (results + norm + spread, up),
        (gelu, down),
    )
    last = (results + norm + spread, logits)
    jobs = [*(config.layers * layer), last]
    jobs[0] = (first, jobs[0][1])
    moved, beside = step_bytes(config, wide, position), () if merged else beside
    flowing = "weights", *(CACHE if outside else ())
    share = 1 - sum(moved[name] for name in beside if name not in flowing) / sum(
        moved[name] for name in {"weights", *beside}
    )
    rate = share * channel.bytes_per_cycle
    if merged:
        units = _units(at, config, wide, results, qkv, position)
        ordered = _ordered(_reader(rate, wide, channel), config, wide, jobs, units)
        ordered.run()
        pauses, taken = ordered.pauses, ordered.now - ordered.pauses
    elif outside:
        ports = _ports(config, wide, position, channel, set(CACHE) <= set(beside))
        flow = Flow(wide.channels * rate / LINE, channel.latency, ports)
        step = Step(flow, _units(at, config, wide, results, qkv, position), jobs)
        step.run()
        pauses, taken = step.pauses, step.flow.now - step.pauses
    else:
        pauses, taken = _through(jobs, _Fifo(rate / wide.word, wide.ahead), channel)
    words = sum(words for _, words in jobs)
    end = results + at["saying"] + at.get("ranking", 0)
    return StepPrediction(
        round(pauses + taken + end),
        round(words * max(1.0, wide.word / rate)),
        round(pauses),
        round(taken - words),
    )


def _through(jobs: Jobs, fifo: _Fifo, channel: Channel) -> tuple[float, float]:
    """Cycles of the pauses between the jobs, and of the jobs."""
    fifo.pause(-channel.latency)
    pauses = taken = 0.0
    for pause, words in jobs:
        fifo.pause(pause or 0.0)
        pauses += pause or 0.0
        taken += fifo.take(words)
    return pauses, taken


def _reader(rate: float, wide: Wide, channel: Channel) -> Reader:
    """The reader of a channel that has all of its lines."""
    ahead, line = channel.lines or LEAST_AHEAD, LINE / wide.word
    return Reader(wide.word / rate, line, channel.latency, ahead, channel.lost)


def _ordered(
    reader: Reader,
    config: Architecture,
    wide: Wide,
    jobs: list[tuple[float | None, int]],
    units: Attention,
) -> Ordered:
    """A step on channels with one reader each; the units take rows of lines, and not positions."""
    held = lines_of(config, wide)
    *layers, behind = held.tables
    fronts = [*(config.layers * layers), behind]
    fronts[0] += held.place + held.token + held.factors
    # The rows of the position and of the token are two runs in front of all others.
    first, words = jobs[0]
    jobs = [((first or 0.0) + reader.latency + reader.gap, words), *jobs[1:]]
    return Ordered(
        reader,
        jobs,
        wide.prefetch,
        dataclasses.replace(units, old=-(-units.old // wide.across)),
        wide.across // wide.keys,
        fronts,
        waiting=lines_waiting(wide),
        page=page_lines(config, wide),
        block=wide.kept_block,
    )


def _ports(
    m: Architecture, wide: Wide, position: int, channel: Channel, shared: bool
) -> list[Port]:
    """The loaders of weights, keys and values; those of the cache may be elsewhere, and ideal."""
    window = channel.lines or LEAST_AHEAD
    if not channel.lines and channel.latency:
        window = max(window, math.ceil(channel.latency * channel.bytes_per_cycle / LINE) + 2)
    lost: float = channel.lost
    if not lost and channel.latency:
        # An ideal channel moves nothing while the first line of a head is on its way.
        lost = channel.latency * channel.bytes_per_cycle / LINE
    cached = (read_lines(m, position) + lost) / position if shared else LEAST
    depth = max(2, wide.cache_prefetch // wide.keys) * wide.keys
    loaders = Port(wide.channels, wide.word / LINE, window, wide.prefetch)
    return [loaders, *(Port(wide.heads, cached, window, depth) for _ in CACHE)]


def _units(
    at: Mapping[str, float], m: Architecture, wide: Wide, results: float, qkv: int, position: int
) -> Attention:
    """The units of attention with keys and values in external memory."""
    group, new = m.heads // m.kv_heads, m.kv_heads // wide.heads
    dealt = results + at["packing"] + at["dealing"] + at.get("turning", 0) + new
    dealt += at.get("halving", 0)
    # The last heads of all units end together, and are divided one after the other.
    divided = at["collecting"] + wide.heads * group * m.head_dim / wide.vector
    return Attention(
        heads=new,
        old=position,
        turns=position // wide.keys + 1,
        dealt=dealt,
        scored=at["scoring"] + at["weighing"],
        drained=group * m.head_dim // wide.vector,
        ended=at["mixing"] + divided + at["dividing"] + at["spreading"] + CALL,
        values=qkv * m.kv_heads / (m.heads + 2 * m.kv_heads),
    )


def _attention(
    at: Mapping[str, float], m: Architecture, wide: Wide, results: float, qkv: int, position: int
) -> float:
    """From the last word of q, k and v to the first activation of the projection."""
    group, new, keys = m.heads // m.kv_heads, m.kv_heads // wide.heads, position + 1
    per_unit = group * new
    dealt = results + at["packing"] + at["dealing"] + at.get("turning", 0)
    # Scores of all heads begin when the keys are there, and the values are the last part of the job.
    values = qkv * m.kv_heads / (m.heads + 2 * m.kv_heads)
    scored = dealt - values + at["scoring"] + per_unit + new
    mixing = max(dealt + new, scored + keys)
    mixed = max(mixing + per_unit * keys, scored + per_unit * keys + keys)
    # Of the last heads of every unit, those of one unit are divided after those of another.
    last_heads = 1 + (wide.heads - 1) * group
    divided = at["collecting"] + last_heads * m.head_dim // wide.vector
    return mixed + at["mixing"] + divided + at["dividing"] + at["spreading"] + CALL
