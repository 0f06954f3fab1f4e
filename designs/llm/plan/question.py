"""What a plan is asked, and what it answers: a question, the accelerators that are tried, and the plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from allo.errors import AlloError

from ..analysis.data import Fpga, Transformer
from ..analysis.engine import Engine, StepTime, words_of_layer, words_of_logits
from ..wide.parameters import Wide

USUAL_MHZ = 300.0
"""At which bounds are told where no clock is asked for; in tokens a second they do not depend on it."""
MOST_LANES = 256
"""Bytes of a word of a channel that are tried; with four bits so many words follow one of their steps."""


class PlanError(AlloError, ValueError):
    """A model, a device or a question that no plan of the wide accelerator answers."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be planned.

    Attributes:
        bits: of a weight, 8 or 4.
        clock_mhz: of the accelerator; None for the one that each accelerator is estimated to have.
        context: tokens that the caches hold.
        position: of the token whose time counts.
        fill: the share of every resource that may be taken.
        ternary: whether weights are ternary, and on the chip; ``bits`` then tells nothing.
        cache: where keys and values have to be, as :class:`..wide.parameters.Wide` names it; empty for
            wherever a token is fastest.
        cache_bits: of an element of keys and values, 8 or 4; of four bits, they are in the channels of the
            weights.
    """

    model: Transformer
    device: Fpga
    bits: int = 8
    clock_mhz: float | None = 300.0
    context: int = 256
    position: int = 127
    fill: float = 0.85
    ternary: bool = False
    cache: str = ""
    cache_bits: int = 8

    @property
    def weights(self) -> str:
        """What weights are, in words."""
        return "ternary weights" if self.ternary else f"weights of {self.bits} bits"

    @property
    def told_mhz(self) -> float:
        """The clock at which bounds are told."""
        return USUAL_MHZ if self.clock_mhz is None else self.clock_mhz

    @property
    def channel_bytes(self) -> float:
        """Bytes a cycle of one channel, beta, at the clock at which bounds are told."""
        return self.channel_bytes_at(self.told_mhz)

    def channel_bytes_at(self, clock_mhz: float) -> float:
        """The same at a clock."""
        return self.device.dram_gbs * 1e3 / self.device.channels / clock_mhz

    def limits(self) -> dict[str, float]:
        """What the device has of everything, and how much of it may be taken."""
        card = self.device
        have = {
            "lut": card.lut,
            "ff": card.ff,
            "dsp": card.dsp,
            "bram": card.bram18,
            "uram": card.uram,
        }
        return {kind: self.fill * value for kind, value in have.items()} | {
            "dram": card.dram_gb * 1e9
        }


@dataclass(frozen=True, slots=True)
class Candidate:
    """One accelerator: its parameters, what it takes, the time of a token, and the clock.

    Attributes:
        engine: it, as the equations know it.
        wide: its own parameters.
        is_exact: whether its time is that of the prediction line by line, where each channel has one reader,
            or that of the equations, for all others.
    """

    engine: Engine
    wide: Wide
    taken: dict[str, float]
    time: StepTime
    clock_mhz: float
    is_exact: bool = True

    @property
    def seconds(self) -> float:
        """Of a token."""
        return self.time.cycles / self.clock_mhz / 1e6


@dataclass(frozen=True, slots=True)
class Plan:
    """The accelerator that was found.

    Attributes:
        tried: how many were.
        limit: what keeps it from being faster, one sentence.
        freed: cycles of a token if one resource had no limit, for those where that is faster.
    """

    question: Question
    found: Candidate
    tried: int
    limit: str
    freed: dict[str, float]

    @property
    def tokens_per_second(self) -> float:
        """At the accelerator's clock."""
        return 1 / self.found.seconds

    @property
    def bound_tokens_per_second(self) -> float:
        """What all channels of the device could feed; without an end where weights are on the chip."""
        if self.question.ternary:
            return float("inf")
        return self.question.told_mhz * 1e6 / bound_cycles(self.question)

    @property
    def bandwidth_share(self) -> float:
        """Of all channels of the device."""
        return self.tokens_per_second / self.bound_tokens_per_second


def bound_cycles(question: Question) -> float:
    """Cycles in which all channels of the device move a token's weights, at the clock asked for."""
    one = Engine(channels=1, lanes=1, vector=1, bits=question.bits)
    words = question.model.layers * sum(words_of_layer(question.model, replace(one, bits=8)))
    steps = 1.0 if question.bits == 8 else (1 + 1 / MOST_LANES) * question.bits / 8
    logits = words_of_logits(question.model, replace(one, bits=8)) if question.model.vocab else 0.0
    return (words * steps + logits) / (question.device.channels * question.channel_bytes)
