"""The fastest wide accelerator for a model on a device: every combination of parameters is tried.

A combination has to be one that the accelerator takes for the model (``wide.parameters.check_wide``), and its
whole estimate a share of every resource of the device. Each has the clock that is asked for, or that of the
estimates. Among those whose token takes at most 0.2 % longer than the fastest, the plan is the one that takes
the least of the resource it takes most of.
"""

from __future__ import annotations

from itertools import islice

from ..analysis.data import require_positive
from ..conditions import check_design
from ..config import ConfigurationError
from .fits import KINDS
from .question import Candidate, Plan, PlanError, Question
from .reports import ProcessModels, load_models
from .trying import architecture, candidates, exact

NAMES = {
    "lut": "lookup tables",
    "ff": "flip-flops",
    "dsp": "multiplier blocks",
    "bram": "blocks of RAM (18 kbit)",
    "uram": "blocks of RAM (288 kbit)",
    "dram": "bytes of memory beside the chip",
}
PLACES = {
    8: ("chip", "external", "channels"),
    4: ("channels",),
}
"""Where keys and values may be, by their bits."""
SLACK = 1.002
FIRST = 6
"""So many accelerators with quick times are foretold exactly, of each kind of what fits."""


def plan(question: Question, models: ProcessModels | None = None) -> Plan:
    """The best accelerator for a question.

    Raises:
        PlanError: when there is none; it names the resource that is missing, and by how much.
    """
    _check(question)
    found = list(candidates(question, models or load_models()))
    tried = settled(question, found)
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
    return Plan(question, best, len(found), limit, freed)


def _fits(one: Candidate, limits: dict[str, float]) -> bool:
    return all(one.taken[kind] <= limit for kind, limit in limits.items())


def settled(question: Question, found: list[Candidate]) -> list[Candidate]:
    """Those whose time is exact, and of those with quick times the first few, made exact.

    The first few are those of all that fit, and of all that would if one resource had no limit.
    """
    limits = question.limits()
    quick = sorted((one for one in found if not one.is_exact), key=lambda one: one.seconds)
    bounds = [limits, *({k: v for k, v in limits.items() if k != kind} for kind in limits)]
    chosen = {
        id(one): one
        for bound in bounds
        for one in islice((q for q in quick if _fits(q, bound)), FIRST)
    }
    if not chosen and quick:
        chosen = {id(quick[0]): quick[0]}
    return [
        *(one for one in found if one.is_exact),
        *(exact(question, one) for one in chosen.values()),
    ]


def _best(fitting: list[Candidate], limits: dict[str, float]) -> Candidate:
    fastest = min(one.seconds for one in fitting)
    near = [one for one in fitting if one.seconds <= SLACK * fastest]

    def largest_share(one: Candidate) -> float:
        return max(one.taken[kind] / limits[kind] for kind in KINDS if limits[kind])

    return min(near, key=lambda one: (largest_share(one), one.seconds))


def _limit(question: Question, best: Candidate, freed: dict[str, float], gain_of_all: float) -> str:
    """What keeps a token from being faster.

    Args:
        freed: cycles without the limit of one resource, where that helps.
        gain_of_all: how many times as fast a token would be without any limit of the chip.
    """
    share = best.time.memory / best.time.cycles
    all_channels = best.engine.channels == question.device.channels and not question.ternary
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
    if share >= 0.95 and not question.ternary:
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
    if question.bits not in (4, 8) and not question.ternary:
        raise PlanError(f"There are no weights of {question.bits} bits.", help="ask for 8 or 4.")
    _check_cache(question)
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


def _check_cache(question: Question) -> None:
    """Whether designs have keys and values of so many bits, and where they are asked for."""
    bits = question.cache_bits
    if bits not in PLACES:
        raise PlanError(f"There are no keys and values of {bits} bits.", help="ask for 8 or 4.")
    places = tuple(each for each in PLACES[bits] if each == "chip" or not question.ternary)
    if question.cache not in ("", *places) or not places:
        kept = f"{bits} bits " if bits != 8 else ""
        where = f"in {question.cache!r}" if question.cache else "beside them"
        raise PlanError(
            f"No plan with {question.weights} has keys and values {'of ' if kept else ''}{kept}{where}.",
            help='ask for "chip", and without ternary weights also for "external" or "channels"; keys and '
            'values of 4 bits are in "channels" alone.',
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
        f"{question.model.title} with {question.weights} does not fit "
        f"{question.device.title}: the smallest accelerator takes {taken:,.0f} {NAMES[kind]} of "
        f"{limit:,.0f} that may be taken, {taken - limit:,.0f} too many ({ratio:.2f} times as many)."
    )
    if kind == "dram":
        fewer = "use --bits 4, " if question.bits == 8 else ""
        return PlanError(text, help=f"{fewer}a device with more memory, or several devices.")
    if question.ternary and kind in ("uram", "bram"):
        return PlanError(text, help="shorten the --context, or take several devices in a pipeline.")
    if kind == "uram":
        return PlanError(text, help="shorten the --context, or take a larger device.")
    return PlanError(text, help=f"take a device with more {NAMES[kind]}, or raise --fill.")
