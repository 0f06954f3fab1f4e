"""Cycles of a step of the wide accelerator, predicted from the compiler's report and the memory.

A step is a chain of jobs of the elements. A job takes a cycle a word, or as long as its words
take to come; before it there is a pause, in which the vector units work and the loaders fill their
FIFOs. The report gives the depths of the loops that a pause passes through, at the clock the design was
built for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..config import Architecture
from ..stage import Loops
from .build import stages_of
from .external.traffic import step_bytes
from .parameters import Wide, job_words
from .stages.linear import CALL
from .stages.sizes import sizes_of


@dataclass(frozen=True, slots=True)
class Channel:
    """A memory channel: bytes a cycle, and the cycles until the first byte is there."""

    bytes_per_cycle: float
    latency: int = 0


IDEAL = Channel(float("inf"))


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
        channel: what each channel of the weights gives.
        beside: arrays whose lines lie on the channels of the weights, too. Their bytes are taken to
            come all the time, so that the weights have the rest of the bandwidth.
    """
    loops = Loops(report)
    stages = stages_of(sizes_of(config, wide))
    at = {name: stage.delay(loops) for name, stage in stages.items()}
    (qkv, projected, up, down), logits = job_words(config, wide)
    results = at["multiplying"] + at["gathering"] + at["rescaling"]
    norm, spread = at["norming"], at["spreading"]
    first = at["embedding"] + norm + spread
    attention = _attention(at, config, wide, results, qkv, position)
    # The activations of the first outputs are computed while the job goes on.
    kernel = stages["activating"].kernels[-1].name
    bending = config.ffn // wide.vector * loops.interval(kernel, "out")
    gelu = results + at["activating"] + spread + max(0, bending - up)
    layer = (
        (results + norm + spread, qkv),
        (attention, projected),
        (results + norm + spread, up),
        (gelu, down),
    )
    last = (results + norm + spread, logits)
    jobs = [*(config.layers * layer), last]
    jobs[0] = (first, jobs[0][1])
    moved = step_bytes(config, wide, position)
    share = moved["weights"] / (moved["weights"] + sum(moved[name] for name in beside))
    rate = share * channel.bytes_per_cycle
    fifo = _Fifo(rate / wide.lanes, wide.prefetch)
    fifo.pause(-channel.latency)
    pauses = taken = 0.0
    for pause, words in jobs:
        fifo.pause(pause)
        pauses += pause
        taken += fifo.take(words)
    words = sum(words for _, words in jobs)
    end = results + at["saying"] + at.get("ranking", 0)
    return StepPrediction(
        round(pauses + taken + end),
        round(words * max(1.0, wide.lanes / rate)),
        round(pauses),
        round(taken - words),
    )


def _attention(
    at: dict[str, float], m: Architecture, wide: Wide, results: float, qkv: int, position: int
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
