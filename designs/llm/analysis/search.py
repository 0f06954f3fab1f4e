"""The most parallel balanced accelerator a device can hold: a search over C, r and M."""

from __future__ import annotations

from dataclasses import dataclass

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
class Plan:
    """An accelerator on a device, and its latency.

    Attributes:
        stage: ``"prefill"`` or ``"decode"``.
        macs: M of the q, k, v and p operators; the others follow from balance.
        packed: weights a memory word holds, k of equation (5).
        time: cycles; ``time.limit`` names the slowest stage.
        tight: the constraint that keeps M from growing.
    """

    device: Fpga
    model: Transformer
    form: Format
    stage: str
    length: int
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
    return _best(device, model, form, "prefill", length)


def plan_decode(device: Fpga, model: Transformer, form: Format, longest: int | None = None) -> Plan:
    """The fastest balanced design for one token with a cache of ``longest`` filled.

    Raises:
        ModelInputError: when not even M = 1 fits.
    """
    return _best(device, model, form, "decode", longest or model.longest)


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
    parallelism = _shape(device, model, form, stage, length, macs, layers)
    broken, packed = _broken(device, model, form, parallelism, length)
    time = _time(device, model, form, stage, length, parallelism)
    return Plan(device, model, form, stage, length, macs, parallelism, packed, time, broken or "")


def macs_to_match(
    seconds: float, model: Transformer, length: int, clock_hz: float, layers: int = 1
) -> float:
    """M of the balanced prefill (9) that takes ``seconds``."""
    return model.layers * (1 + 1 / layers) * length * model.hidden**2 / (seconds * clock_hz)


def _plan(
    device: Fpga, model: Transformer, form: Format, stage: str, length: int, layers: int
) -> Plan | None:
    """Bisect for the largest M that fits; every demand grows with M."""
    low, high = 0, int(device.macs_per_cycle) + 1
    tight = ""
    while high - low > 1:
        middle = (low + high) // 2
        tried = _shape(device, model, form, stage, length, middle, layers)
        broken, _ = _broken(device, model, form, tried, length)
        if broken:
            high, tight = middle, broken
        else:
            low = middle
    if low == 0:
        return None
    found = evaluate(device, model, form, stage, length, low, layers)
    limit = "bandwidth" if found.time.limit == "mem" else tight
    return Plan(
        device,
        model,
        form,
        stage,
        length,
        low,
        found.parallelism,
        found.packed,
        found.time,
        limit,
    )


def _shape(
    device: Fpga,
    model: Transformer,
    form: Format,
    stage: str,
    length: int,
    macs: int,
    layers: int,
) -> Parallelism:
    if stage == "decode":
        return balanced_decode(model, macs, length, layers)
    alone = balanced(model, macs, length, layers)
    needed = bandwidth_demand(form, alone, device.clock_hz) / device.bandwidth_bits
    return balanced(model, macs, length, layers, reuse=min(float(length), max(1.0, needed)))


def _broken(
    device: Fpga, model: Transformer, form: Format, parallelism: Parallelism, length: int
) -> tuple[str | None, int]:
    """The first constraint that fails with every packing, and the packing that came furthest."""
    first: str | None = None
    for packed in PACKINGS:
        if packed * form.weight_bits > 72:
            break
        checks = fits(device, model, form, parallelism, length, packed)
        broken = next((name for name, (demand, limit) in checks.items() if demand > limit), None)
        if broken is None:
            return None, packed
        first = first or broken
    return first, 1


def _time(
    device: Fpga,
    model: Transformer,
    form: Format,
    stage: str,
    length: int,
    parallelism: Parallelism,
) -> Time:
    """Equation (7) or (8), the bandwidth shared evenly by the layers a device holds."""
    share = device.bandwidth_bits / parallelism.layers
    memory = memory_cycles(parameter_bits(model, form), share, device.clock_hz)
    if stage == "decode":
        return decode_time(model, parallelism, length, memory)
    return prefill_time(model, parallelism, length, memory)


def _best(device: Fpga, model: Transformer, form: Format, stage: str, length: int) -> Plan:
    tried = [
        _plan(device, model, form, stage, length, layers) for layers in _divisors(model.layers)
    ]
    found = [plan for plan in tried if plan is not None]
    if not found:
        raise ModelInputError(
            f"{model.title} in {form} does not fit {device.title}.",
            help="use fewer bits, a larger device or several devices.",
        )
    return min(found, key=lambda plan: (plan.time.cycles, plan.parallelism.layers))


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]
