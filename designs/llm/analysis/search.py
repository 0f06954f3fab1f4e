"""The most parallel balanced accelerator a device can hold: a search over C, r and M."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .data import Format, Fpga, ModelInputError, Transformer
from .equations import (
    Parallelism,
    Time,
    balanced,
    balanced_decode,
    bandwidth_demand,
    decode_time,
    fits,
    memory_cycles,
    parameter_bits,
    prefill_time,
)

PACKINGS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Question:
    """A device, a model and its number format, and what is to be fast.

    Attributes:
        stage: ``"prefill"`` or ``"decode"``.
        length: tokens of the prompt, or in the cache.
    """

    device: Fpga
    model: Transformer
    form: Format
    stage: str
    length: int


@dataclass(frozen=True, slots=True)
class Plan:
    """An accelerator on a device, and its latency.

    Attributes:
        macs: M of the q, k, v and p operators; the others follow from balance.
        packed: weights a memory word holds, k of equation (5).
        time: cycles; ``time.limit`` names the slowest stage.
        tight: the constraint that keeps M from growing.
    """

    device: Fpga
    model: Transformer
    macs: int
    parallelism: Parallelism
    packed: int
    time: Time
    tight: str

    @property
    def seconds(self) -> float:
        """Latency of the prompt, or of one token."""
        return self.time.seconds(self.device.clock_hz)

    @property
    def joules(self) -> float:
        """Energy at the card's rated power."""
        return self.seconds * self.device.power_w


def plan_prefill(device: Fpga, model: Transformer, form: Format, length: int) -> Plan:
    """The fastest balanced design for a prompt of ``length`` tokens.

    Every divisor C of the layers is tried with the largest M that meets (1), (2) and (4); a weight
    is shared by as many units as the bandwidth asks for, up to one per token.

    Raises:
        ModelInputError: when not even M = 1 fits.
    """
    return _best(Question(device, model, form, "prefill", length))


def plan_decode(device: Fpga, model: Transformer, form: Format, longest: int | None = None) -> Plan:
    """The fastest balanced design for one token with a cache of ``longest`` filled.

    Raises:
        ModelInputError: when not even M = 1 fits.
    """
    return _best(Question(device, model, form, "decode", longest or model.longest))


def evaluate(
    device: Fpga,
    model: Transformer,
    form: Format,
    stage: str,
    length: int,
    macs: int,
    layers: int = 1,
) -> Plan:
    """A design of given M and C, whether or not it fits; ``tight`` is the first constraint broken, or ""."""
    return _evaluate(Question(device, model, form, stage, length), macs, layers)


def macs_to_match(
    seconds: float, model: Transformer, length: int, clock_hz: float, layers: int = 1
) -> float:
    """M of the balanced prefill (9) that takes ``seconds``."""
    return model.layers * (1 + 1 / layers) * length * model.hidden**2 / (seconds * clock_hz)


def _plan(asked: Question, layers: int) -> Plan | None:
    """Bisect for the largest M that fits; every demand grows with M."""
    low, high = 0, int(asked.device.macs_per_cycle) + 1
    tight = ""
    while high - low > 1:
        middle = (low + high) // 2
        broken, _ = _broken(asked, _shape(asked, middle, layers))
        if broken:
            high, tight = middle, broken
        else:
            low = middle
    if low == 0:
        return None
    found = _evaluate(asked, low, layers)
    return replace(found, tight="bandwidth" if found.time.limit == "mem" else tight)


def _evaluate(asked: Question, macs: int, layers: int) -> Plan:
    parallelism = _shape(asked, macs, layers)
    broken, packed = _broken(asked, parallelism)
    time = _time(asked, parallelism)
    return Plan(asked.device, asked.model, macs, parallelism, packed, time, broken or "")


def _shape(asked: Question, macs: int, layers: int) -> Parallelism:
    model, device, length = asked.model, asked.device, asked.length
    if asked.stage == "decode":
        return balanced_decode(model, macs, length, layers)
    alone = balanced(model, macs, length, layers)
    needed = bandwidth_demand(asked.form, alone, device.clock_hz) / device.bandwidth_bits
    return balanced(model, macs, length, layers, reuse=min(float(length), max(1.0, needed)))


def _broken(asked: Question, parallelism: Parallelism) -> tuple[str | None, int]:
    """The first constraint that fails with every packing, and the packing that came furthest."""
    first: str | None = None
    for packed in PACKINGS:
        if packed * asked.form.weight_bits > 72:
            break
        checks = fits(asked.device, asked.model, asked.form, parallelism, asked.length, packed)
        broken = next((name for name, (demand, limit) in checks.items() if demand > limit), None)
        if broken is None:
            return None, packed
        first = first or broken
    return first, 1


def _time(asked: Question, parallelism: Parallelism) -> Time:
    """Equation (7) or (8), the bandwidth shared evenly by the layers a device holds."""
    model, device = asked.model, asked.device
    share = device.bandwidth_bits / parallelism.layers
    memory = memory_cycles(parameter_bits(model, asked.form), share, device.clock_hz)
    taken = decode_time if asked.stage == "decode" else prefill_time
    return taken(model, parallelism, asked.length, memory)


def _best(asked: Question) -> Plan:
    layers = asked.model.layers
    tried = [_plan(asked, held) for held in range(1, layers + 1) if layers % held == 0]
    found = [plan for plan in tried if plan is not None]
    if not found:
        raise ModelInputError(
            f"{asked.model.title} in {asked.form} does not fit {asked.device.title}.",
            help="use fewer bits, a larger device or several devices.",
        )
    return min(found, key=lambda plan: (plan.time.cycles, plan.parallelism.layers))
