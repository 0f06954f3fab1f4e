"""The fastest wide accelerator for a model on a device: every combination of parameters is tried.

A combination has to be one that the accelerator takes for the model (``wide.parameters.check_wide``), and its
whole estimate a share of every resource of the device. Each has the clock that is asked for, or that of the
estimates. Among those whose token takes at most 0.2 % longer than the fastest, the plan is the one that takes
the least of the resource it takes most of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from allo.errors import AlloError

from ..analysis.data import Fpga, Transformer, require_positive
from ..analysis.engine import Engine, StepTime, step_time, words_of_layer, words_of_logits
from ..conditions import check_design
from ..config import LINEARS, Architecture, ConfigurationError
from ..constants import EPS
from ..wide.external.traffic import CACHE, beside_weights
from ..wide.parameters import Wide, WidthError, check_wide
from .reports import KINDS, ProcessModels, load_models, sizes_of

NAMES = {
    "lut": "lookup tables",
    "ff": "flip-flops",
    "dsp": "multiplier blocks",
    "bram": "blocks of RAM (18 kbit)",
    "uram": "blocks of RAM (288 kbit)",
    "dram": "bytes of memory beside the chip",
}
SHARED = ("channels", "lanes", "vector", "heads", "prefetch", "gelu_interval", "bits")
"""Parameters that an engine of the equations and the accelerator have alike."""
USUAL_MHZ = 300.0
"""At which bounds are told where no clock is asked for; in tokens a second they do not depend on it."""
LATENCY_NS = 110.0
"""To the first word of a channel: the HBM2 model of the simulator."""
SLACK = 1.002
URAM_WIDTH, URAM_WORDS = 72, 4096
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
    """

    model: Transformer
    device: Fpga
    bits: int = 8
    clock_mhz: float | None = 300.0
    context: int = 256
    position: int = 127
    fill: float = 0.85

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
    """One accelerator: its parameters, what it takes, the time of a token, and the clock."""

    engine: Engine
    cache_on_chip: bool
    taken: dict[str, float]
    time: StepTime
    clock_mhz: float

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
        """What all channels of the device could feed."""
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


def plan(question: Question, models: ProcessModels | None = None) -> Plan:
    """The best accelerator for a question.

    Raises:
        PlanError: when there is none; it names the resource that is missing, and by how much.
    """
    _check(question)
    tried = list(candidates(question, models or load_models()))
    if not tried:
        raise _no_widths(question)
    limits = question.limits()
    fitting = [one for one in tried if _fits(one, limits)]
    if not fitting:
        raise _does_not_fit(question, tried)
    best = _best(fitting, limits)
    freed = {}
    for kind in limits:
        others = {name: limit for name, limit in limits.items() if name != kind}
        seconds = min(one.seconds for one in tried if _fits(one, others))
        if seconds < best.seconds / 1.01:
            freed[kind] = seconds * best.clock_mhz * 1e6
    fastest = min(one.seconds for one in tried if one.taken["dram"] <= limits["dram"])
    limit = _limit(question, best, freed, best.seconds / fastest)
    return Plan(question, best, len(tried), limit, freed)


def candidates(question: Question, models: ProcessModels) -> Iterator[Candidate]:
    """Every accelerator whose parameters fit the model, with what it takes and its time."""
    model, shape = question.model, architecture(question)
    for engine in engines(question):
        sizes = sizes_of(model, engine, question.context)
        taken = models.whole(sizes)
        depths = models.depths(sizes)
        clock = question.clock_mhz or models.clock(sizes, taken["lut"])
        weights = model.layers * sum(words_of_layer(model, engine))
        weights += words_of_logits(model, engine) if model.vocab else 0.0
        for on_chip in (True, False):
            wide = wide_of(engine, on_chip)
            if not _is_legal(shape, wide):
                continue
            cache = beside_weights(shape, wide, question.position, CACHE) / model.layers
            time = step_time(
                model,
                engine,
                depths,
                question.position,
                question.channel_bytes_at(clock),
                LATENCY_NS * clock / 1e3,
                0.0 if on_chip else cache,
            )
            all_taken = dict(taken)
            if on_chip:
                all_taken["uram"] += cache_blocks(question, engine)
            beside = 0.0 if on_chip else model.layers * _cache_bytes(model, question.context)
            all_taken["dram"] = weights * engine.lanes * engine.channels + beside
            yield Candidate(engine, on_chip, all_taken, time, clock)


def architecture(question: Question) -> Architecture:
    """The model as the accelerator has it: a GPT-2, or a LLaMA where there are gates."""
    model, gated = question.model, question.model.gated
    return Architecture(
        family=model.name,
        layers=model.layers,
        d=model.hidden,
        heads=model.heads,
        kv_heads=model.kv_heads or model.heads,
        head_dim=model.head_width,
        ffn=model.ffn,
        context=question.context,
        vocab=model.vocab or 1,
        activation="silu" if gated else "gelu_tanh",
        eps=EPS,
        rms=gated,
        gated=gated,
        rotary=(1.0,) * (model.head_width // 2) if gated else (),
        biases=() if gated else LINEARS,
    )


def wide_of(engine: Engine, on_chip: bool = True) -> Wide:
    """The accelerator's own parameters of an engine."""
    cache = "chip" if on_chip else "external"
    return Wide(**{name: getattr(engine, name) for name in SHARED}, cache=cache)


def _is_legal(shape: Architecture, wide: Wide) -> bool:
    try:
        check_wide(shape, wide)
    except WidthError:
        return False
    return True


def engines(question: Question) -> Iterator[Engine]:
    """Parameters that the accelerator takes for the model, with keys and values on the chip or beside it."""
    model, card, shape = question.model, question.device, architecture(question)
    for channels in _powers(1, card.channels, model.hidden, model.ffn):
        for lanes in _powers(8, MOST_LANES):
            for vector in _powers(4, min(lanes, 64), model.head_width):
                for heads in _powers(1, 16, shape.kv_heads):
                    one = Engine(channels, lanes, vector, heads, bits=question.bits)
                    if not _is_legal(shape, wide_of(one)):
                        continue
                    for gelu in (1, 2, 4, 8):
                        for prefetch in (64, 256, 1024, 4096):
                            yield replace(one, gelu_interval=gelu, prefetch=prefetch)


def cache_blocks(question: Question, engine: Engine) -> float:
    """(3) for the caches in URAM: two for each unit, a word of a head's width for each key."""
    model = question.model
    kept = max(1, (model.kv_heads or model.heads) // engine.heads)
    wide = math.ceil(8 * model.head_width / URAM_WIDTH)
    deep = math.ceil(model.layers * kept * question.context / URAM_WORDS)
    return 2.0 * engine.heads * wide * deep


def _powers(low: int, high: int, *wholes: int) -> list[int]:
    """Powers of two within bounds that divide all of ``wholes``."""
    found = [1 << n for n in range(high.bit_length()) if low <= 1 << n <= high]
    return [n for n in found if not any(whole % n for whole in wholes)]


def _cache_bytes(model: Transformer, tokens: int) -> float:
    """Keys and values of a layer, one byte each."""
    return 2.0 * model.kv_width * tokens


def _fits(one: Candidate, limits: dict[str, float]) -> bool:
    return all(one.taken[kind] <= limit for kind, limit in limits.items())


def _best(fitting: list[Candidate], limits: dict[str, float]) -> Candidate:
    fastest = min(one.seconds for one in fitting)
    near = [one for one in fitting if one.seconds <= SLACK * fastest]

    def largest_share(one: Candidate) -> float:
        return max(one.taken[kind] / limits[kind] for kind in KINDS)

    return min(near, key=lambda one: (largest_share(one), one.seconds))


def _limit(question: Question, best: Candidate, freed: dict[str, float], gain_of_all: float) -> str:
    """What keeps a token from being faster.

    Args:
        freed: cycles without the limit of one resource, where that helps.
        gain_of_all: how many times as fast a token would be without any limit of the chip.
    """
    share = best.time.memory / best.time.cycles
    all_channels = best.engine.channels == question.device.channels
    if share >= 0.95 and all_channels:
        return f"the bandwidth: all {best.engine.channels} channels are busy for {share:.1%} of the time"
    if freed:
        kind = min(freed, key=lambda name: freed[name])
        gain = best.time.cycles / freed[kind]
        return f"{NAMES[kind]}: with more of them a token would be {gain:.2f} times as fast"
    if gain_of_all > 1.01:
        limits = question.limits()
        short = [NAMES[kind] for kind in KINDS if best.taken[kind] > 0.8 * limits[kind]]
        return (
            f"{' and '.join(short) or 'several resources'} together: with more of all a token would "
            f"be {gain_of_all:.2f} times as fast"
        )
    if share >= 0.95:
        return (
            f"the bandwidth of the {best.engine.channels} channels that divide the model's widths"
        )
    pauses = best.time.pauses / best.time.cycles
    return (
        f"the depth of pipelines and attention: the multipliers wait for {pauses:.0%} of the time"
    )


def _check(question: Question) -> None:
    model, card = question.model, question.device
    for what, value in (("clock", question.told_mhz), ("context", question.context)):
        require_positive(f"The {what}", value)
    if question.bits not in (4, 8):
        raise PlanError(f"There are no weights of {question.bits} bits.", help="ask for 8 or 4.")
    if not 0 < question.fill <= 1:
        raise PlanError(
            f"The share {question.fill} of the resources is not within (0, 1].",
            help="0.85 leaves room to place and route.",
        )
    if not 0 <= question.position < question.context:
        raise PlanError(
            f"A token at position {question.position} does not fit a context of "
            f"{question.context}.",
            help=f"ask for a position up to {question.context - 1}, or for a longer context.",
        )
    if model.encoder:
        raise PlanError(
            f"{model.title} is an encoder, which reads a sequence as a whole; the wide accelerator "
            "takes one token a step.",
            help="ask for a decoder, such as gpt2-124m.",
        )
    try:
        check_design("wide", architecture(question), PlanError)
    except ConfigurationError as error:
        raise _no_widths(question) from error
    if not card.lut:
        raise PlanError(
            f"The estimates say nothing about the fabric of {card.title}.",
            help="plan for u280, vck5000 or vhk158.",
        )


def _no_widths(question: Question) -> PlanError:
    model, card = question.model, question.device
    return PlanError(
        f"No accelerator fits the widths of {model.title} and {card.title}: of the widths "
        f"{model.hidden} and {model.ffn} too few powers of two are divisors.",
        help="pad the hidden and the feed-forward width to multiples of 64.",
    )


def _does_not_fit(question: Question, tried: list[Candidate]) -> PlanError:
    """Which resource is missing most in the accelerator that comes nearest, and what to change."""
    limits = question.limits()

    def excess(one: Candidate) -> tuple[float, str]:
        return max((one.taken[kind] / limit, kind) for kind, limit in limits.items() if limit)

    nearest = min(tried, key=lambda one: excess(one)[0])
    ratio, kind = excess(nearest)
    taken, limit = nearest.taken[kind], limits[kind]
    text = (
        f"{question.model.title} with weights of {question.bits} bits does not fit "
        f"{question.device.title}: the smallest accelerator takes {taken:,.0f} {NAMES[kind]} of "
        f"{limit:,.0f} that may be taken, {taken - limit:,.0f} too many ({ratio:.2f} times as many)."
    )
    if kind == "dram":
        fewer = "use --bits 4, " if question.bits == 8 else ""
        return PlanError(text, help=f"{fewer}a device with more memory, or several devices.")
    if kind == "uram":
        return PlanError(text, help="shorten the --context, or take a larger device.")
    return PlanError(text, help=f"take a device with more {NAMES[kind]}, or raise --fill.")
