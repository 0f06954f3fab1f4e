"""Cycles of a step of the wide accelerator, predicted from the compiler's report and the memory.

A step is a chain of jobs of the elements. A job takes a cycle a word, or as long as its words
take to come; before it there is a pause, in which the vector units work and the loaders fill their
FIFOs. The report gives the depths of the loops that a pause passes through, at the clock the design was
built for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..cycles import _Loops
from .external.traffic import step_bytes
from .families.model import Model, architecture_of
from .parameters import Wide, job_words, lists

CALL = 3
"""Cycles in which a loop that a job enters starts, and hands its first word on."""


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

    def take(self, words: int) -> float:
        """Cycles in which so many words are taken, at most one a cycle."""
        if self.rate >= 1.0:
            return words
        quick = min(float(words), self.ahead / (1.0 - self.rate))
        self.ahead -= quick * (1.0 - self.rate)
        return quick + (words - quick) / self.rate


def predict_step(
    report: Any,
    config: Model,
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
    loops = _Loops(report)
    known = {function.name for function in report.functions}

    def unit(kernel: str) -> str:
        """A kernel of the units of attention; with several units, each has one of its own."""
        return kernel if kernel in known else f"{kernel}_v0"

    d, ffn, v, c = config.d, config.ffn, wide.vector, wide.channels
    (qkv, projected, up, down), logits = job_words(config, wide)
    sums = (
        loops.depth("multiply" if wide.bits == 8 else "multiply_nibbles", "mac")
        + max(1, c // v)
        + loops.depth("gather_0", "word")
    )
    results = sums + loops.depth("rescale", "out") + CALL
    spread = loops.depth("spreading_0", "word") + CALL
    norm = loops.row("normalise") - (d // v - 1)
    m = architecture_of(config)
    group, new, keys, width = (
        m.heads // m.kv_heads,
        m.kv_heads // wide.heads,
        position + 1,
        m.head_dim,
    )
    per_unit = group * new
    ahead = "_ahead" if wide.cache == "external" else ""
    dealt = results + loops.depth("pack", "out") + loops.depth("dealing_0", "head") + CALL
    first = loops.depth("embedding_0", "row") + d // v + norm + spread
    if m.rotary:
        dealt += loops.depth("rotate", "out") + CALL
        first += loops.depth("embedding_0", "part") + width // v
    # Scores of all heads begin when the keys are there, and the values are the last part of the job.
    values = qkv * m.kv_heads / (m.heads + 2 * m.kv_heads)
    scored = dealt - values + loops.depth(unit("score" + ahead), "key") + per_unit + new
    mixing = max(dealt + new, scored + keys)
    mixed = max(mixing + per_unit * keys, scored + per_unit * keys + keys)
    # Of the last heads of every unit, those of one unit are divided after those of another.
    last_heads = 1 + (wide.heads - 1) * group
    divided = loops.depth("collecting_0", "turn") + last_heads * width // v
    attention = (
        mixed
        + loops.depth(unit("mix" + ahead), "key")
        + divided
        + loops.depth("divide", "out")
        + spread
        + CALL
    )
    bend = ({"silu": "gate", "relu": "cut"}.get(m.activation, "bend"), "out")
    activation = loops.depth(*bend)
    if m.gated:
        activation += loops.depth("part", "word") + CALL
    # The activations of the first outputs are computed while the job goes on.
    bending = ffn // v * loops.interval(*bend)
    gelu = results + activation + spread + max(0, bending - up)
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
    end = results + (loops.depth("saying_0", "out") if wide.all_logits else 0)
    if wide.top:
        end += (lists(config, wide) + 1) * wide.top + loops.depth("keep_largest", "turn")
    return StepPrediction(
        round(pauses + taken + end),
        round(words * max(1.0, wide.lanes / rate)),
        round(pauses),
        round(taken - words),
    )
