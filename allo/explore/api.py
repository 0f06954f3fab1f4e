"""``allo.autoschedule``: the door to the search."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from allo.backend.devices import families, family, resources_of
from allo.backend.devices.cards import CARDS
from allo.customize import customize
from allo.dialects.diagnostics import AutoscheduleError
from allo.schedule import Schedule

from . import kept
from .budget import Asked, Built, Progress
from .check import Checker
from .model.kernel import OUTSIDE
from .model.rows import Limits
from .networks import arranged
from .script import script_of
from .search import INTERRUPTED, NO_TIME, Search
from .trace import Trace

Objective = Literal["cycles", "area", "throughput"]


class FoundSchedule(Schedule):
    """An ordinary schedule, with the Python that makes it and the account of the search.

    Attributes:
        trace: what was considered, the bound, and what limits the design.
    """

    trace: Trace

    @classmethod
    def of(cls, schedule: Schedule, trace: Trace) -> FoundSchedule:
        """A schedule with the account of a search."""
        made = cls.__new__(cls)
        made.__dict__.update(schedule.__dict__)
        made.trace = trace
        return made

    def script(self) -> str:
        """A Python module with a function ``schedule()`` that makes this schedule again."""
        cycles = "unknown" if self.trace.cycles is None else f"{self.trace.cycles:,}"
        limit = self.trace.limits.get("dsp")
        within = "" if limit is None else f" within {limit:,} DSP"
        where = f"{self.trace.device} at {self.trace.clock_mhz:g} MHz"
        return script_of(self, f"{self.top_func_name} for {where}{within}: {cycles} cycles.")


def autoschedule(
    kernel: Callable[..., Any] | Schedule,
    part: str | None = None,
    *,
    device: str = "u280",
    max_dsp: int | None = None,
    max_lut: int | None = None,
    max_bram: int | None = None,
    clock_mhz: float = 200.0,
    objective: Objective = "cycles",
    seconds: float = 60.0,
    reassociate: bool = False,
    max_cycles: int | None = None,
    instantiate: Sequence[Any] | None = None,
    inputs: Callable[[np.random.Generator], Sequence[Any]] | None = None,
    progress: Callable[[Progress], None] | None = None,
    most_factor: int | None = None,
    dsp_factors: Mapping[str, int] | None = None,
    cache: bool = True,
    timer: Callable[[], float] = time.monotonic,
    **options: Any,
) -> FoundSchedule:
    """Find a schedule for a kernel on a budget.

    It is made of the primitives of :class:`Schedule` alone, each of which refuses what would change the
    result, and is run on the CPU beside the kernel before it is returned.

    Args:
        kernel: a kernel, or a schedule; primitives applied already stay as they are.
        part: a function, or the path of a module of a model, where ``*`` stands for any characters: all other
            functions stay as they are. By default everything is scheduled.
        device: a card (``"u280"``) or a device family of ``allo.backend.devices.families()``.
        max_dsp, max_lut, max_bram: limits; by default what the device has. BRAM are blocks of 18 kbit.
        clock_mhz: the clock that operators are pipelined for.
        objective: ``"cycles"``, the fewest; ``"area"``, the smallest design that takes at most
            ``max_cycles``, by default those of a pipeline of each innermost loop; ``"throughput"``, the most
            runs a second at the clock that the design is estimated to reach.
        seconds: the time that the search may take.
        reassociate: whether sums of floats may be added up in another order, as ``rebalance`` and
            ``interleave`` do; otherwise every bit is the kernel's.
        max_cycles: for ``objective="area"``.
        instantiate: arguments of a template.
        inputs: makes the arguments of a run, where random ones will not do.
        most_factor: iterations of one loop side by side, at most.
        dsp_factors: multiplier blocks of operations by their names, for the model alone.
        cache: whether a search that was made before may be taken from the cache: its primitives are applied,
            the report is made and the result checked again.
        progress: called with where the search stands.
        timer: what counts the seconds; ``time.process_time`` where other programs share the machine.
        options: further options of ``Schedule.estimate``, such as ``subnormals``.

    Raises:
        AutoscheduleError: nothing to schedule, a limit that one unit exceeds, or limits that primitives
            applied already exceed.
        OptionError: an option that ``estimate`` does not take.
    """
    name = _family(device)
    given = kernel if isinstance(kernel, Schedule) else customize(kernel, instantiate=instantiate)
    _check(
        objective, seconds, max_dsp=max_dsp, max_lut=max_lut, max_bram=max_bram, clock_mhz=clock_mhz
    )
    there = resources_of(name)
    limits = Limits(
        *(
            there.get(what) if asked is None else asked
            for what, asked in (("dsp", max_dsp), ("lut", max_lut), ("bram", max_bram))
        )
    )
    found = arranged(given, part)
    waiting = part is None and not found.kernel.nests and "scf.while" in str(given.module)
    if all(nest.obstacle == OUTSIDE for nest in found.kernel.nests) and not waiting:
        raise AutoscheduleError(
            f"There is nothing to schedule in {part or given.top_func_name}: it has no loops.",
            help="build it as it is: s.build(target='verilog').",
        )
    asked = Asked(
        name,
        clock_mhz,
        limits,
        objective,
        seconds,
        reassociate,
        max_cycles,
        options,
        progress,
        most_factor,
        dsp_factors,
        timer,
    )
    known = {w: m for w in ("dsp", "lut", "bram") if (m := getattr(limits, w)) is not None}
    trace = Trace(given.top_func_name, device, clock_mhz, objective, known, layers=found.notes)
    if waiting:
        trace.unexplored.append("while loops, which hardware pipelines by itself")
    search = Search(found.schedule, found.kernel, asked, Checker(given, inputs, options), trace)
    key = kept.key_of(found.schedule, asked, part)
    known_before = kept.read(key) if cache else None
    best = None if known_before is None else search.again(*known_before)
    if best is None:
        best = search.run()
        if cache and trace.ended not in (INTERRUPTED, NO_TIME):
            kept.write(key, best.steps, trace)
    _warn_if_short(search, best)
    return FoundSchedule.of(best.schedule, search.trace)


def _family(device: str) -> str:
    """The device family of a card or of a family's own name."""
    if device in families():
        return device
    parts = {name: family(name).part for name in families()}
    cards = {
        card: name
        for card, record in CARDS.items()
        for name, part in parts.items()
        if part is not None and part.card == record
    }
    if device in cards:
        return cards[device]
    known = [*cards, *families()]
    raise AutoscheduleError(
        f"There is no device {device!r} to schedule for.", help=f"there are {', '.join(known)}."
    )


def _check(objective: str, seconds: float, **numbers: float | None) -> None:
    if objective not in ("cycles", "area", "throughput"):
        raise AutoscheduleError(
            f"autoschedule: the objective is 'cycles', 'area' or 'throughput', not {objective!r}."
        )
    for name, value in {"seconds": seconds, **numbers}.items():
        least = 1e-6 if name == "clock_mhz" else 0
        if value is not None and (isinstance(value, bool) or not value >= least):
            raise AutoscheduleError(f"autoschedule: {name} is a positive number, not {value!r}.")


def _warn_if_short(search: Search, best: Built) -> None:
    """Tell that the time was too short for a single choice of the model."""
    plain = best.choice is None and search.trace.cycles == search.trace.plain
    if plain and search.trace.ended == NO_TIME and search.trace.looked_at:
        gap = search.trace.gap
        above = "" if gap is None else f", {gap:.0%} above the bound"
        warnings.warn(
            f"autoschedule: {search.asked.seconds:g} s were too short to build one choice of the model "
            f"for {search.kernel.top}; the result has pipelines of its innermost loops alone{above}, and "
            f"{search.trace.looked_at:,} tiles and orders are not explored.",
            stacklevel=3,
        )
