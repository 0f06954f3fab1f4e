"""The latency of a network with its weights in the logic: which adders, and which clock, meet one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from allo.dialects.diagnostics import OptionError
from allo.dialects.sums.adders import least_depth

from ..graph import Model, Ref
from ..places import place_of_caller
from ..schedule import Latency, ModelSchedule, check_latency
from .embedded import SUMS, embed

type Depth = Literal["least"] | None
_MOST_CYCLES, _MOST_MHZ = 12, 400.0
_WORSE = 2
"""Numbers of cycles, each with a longer latency than the best, after which no more are tried."""


def embedded(
    make: Callable[[], ModelSchedule], model: Model, target_ns: float | None = None
) -> ModelSchedule:
    """The schedule of a network with its weights in the logic: of the smallest one that meets a latency.

    With a latency, sums have the fewest additions where that is quick enough, and else as few behind one
    another as there can be, which is what they have without one. Every number of cycles is tried at the clock
    at which it would take the whole latency; the schedule has the highest clock that meets it.

    Args:
        make: a schedule of the model.
        model: what it is made of.
        target_ns: from a sample to its result.

    Raises:
        ModelError: the schedule has no loop over samples, or the latency is none.
        OptionError: no clock meets it.
    """
    check_latency(target_ns)
    if target_ns is None:
        schedule = make()
        embed(schedule, model)
        return schedule
    tried: list[Latency] = []
    kinds: tuple[Depth, ...] = (None, "least")
    for depth in kinds:
        schedule = make()
        embed(schedule, model, depth)
        found = list(_latencies(schedule, target_ns))
        met = [each for each in found if each.ns <= target_ns]
        if met:
            schedule.latency = max(met, key=lambda each: each.clock_mhz)
            return schedule
        tried += found
    best = min(tried, key=lambda each: each.ns)
    # Clocks for the target may be far above those of the least latency.
    best = min([best, *_latencies(schedule, best.ns)], key=lambda each: each.ns)
    layer, additions = _deepest(model)
    raise OptionError(
        f"The network takes {best.ns:.1f} ns at least by the estimate ({best.cycles} cycles of "
        f"{best.period_ns:.2f} ns), and target_latency_ns is {target_ns:g}; layer {layer} sets the bound, in "
        f"which {additions} additions follow one another.",
        place_of_caller(),
        help=f"ask for at least {best.ns:.1f} ns, or give that layer fewer inputs or bits.",
    )


def _latencies(schedule: ModelSchedule, target_ns: float) -> Iterator[Latency]:
    """Those of several clocks."""
    best, worse = float("inf"), 0
    for cycles in range(1, _MOST_CYCLES + 1):
        clock = min(cycles * 1000 / target_ns, _MOST_MHZ)
        found = latency_at(schedule, clock)
        yield found
        worse = 0 if found.ns < best else worse + 1
        best = min(best, found.ns)
        if worse == _WORSE or clock == _MOST_MHZ:
            return


def latency_at(schedule: ModelSchedule, clock_mhz: float) -> Latency:
    """The latency of a network that is one pipeline, built for a clock."""
    report = schedule.build(target="verilog", clock_mhz=clock_mhz).report
    (loop,) = report.functions[0].loops
    return Latency(clock_mhz, loop.depth, 1000 / report.registered_mhz)


def _deepest(model: Model) -> tuple[str, int]:
    """The product with the longest chain of additions."""
    found = {op.name: _additions(model, op) for op in model.operators if op.target in SUMS}
    name = max(found, key=lambda each: found[each], default="")
    return name, found.get(name, 0)


def _additions(model: Model, op: Any) -> int:
    weight = op.args["other"]
    if not isinstance(weight, Ref) or weight.name not in model.weights:
        return 0
    matrix = np.asarray(model.weights[weight.name][1], np.int64)
    rows = matrix.reshape(-1, matrix.shape[-1]).T
    return least_depth([{n: int(w) for n, w in enumerate(row) if w} for row in rows])
