"""What a search is asked for, and what of it a design exceeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allo.dialects.diagnostics import AutoscheduleError
from allo.dialects.reports.figures import DesignReport
from allo.schedule import Schedule

from .apply import Step
from .model.kernel import Kernel
from .model.rows import Limits
from .model.units import Units, shown
from .regions.counted import OUTSIDE
from .solve import Choice

KINDS = ("dsp", "lut", "bram")
"""Resources with limits."""
OF_AREA = 0.03
"""What a whole device of lookup tables is worth, as a share of the cycles."""
CLOSE = 1.02
"""Times the best time of designs with arrays outside, up to which the one of the fewest tables is taken."""
FULL = 0.95
"""The share of a limit from which on it is what holds a design."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search stands: seconds, designs tried, the best cycles so far and the bound."""

    seconds: float
    tried: int
    cycles: int | None
    bound: int
    doing: str


@dataclass(slots=True)
class Asked:
    """What a search is asked for."""

    device: str
    clock_mhz: float
    limits: Limits
    objective: str
    seconds: float
    reassociate: bool
    max_cycles: int | None
    options: dict[str, Any]
    progress: Callable[[Progress], None] | None = None
    most_factor: int | None = None
    dsp_factors: Mapping[str, int] | None = None
    timer: Callable[[], float] = time.monotonic

    @property
    def by_time(self) -> bool:
        """Whether designs are compared by their time, and not by their cycles."""
        return self.objective == "throughput" or bool(OUTSIDE.intersection(self.options))


@dataclass(slots=True)
class Built:
    """A schedule with its report; ``counted`` are cycles that data or memory decide, and no report knows."""

    schedule: Schedule
    report: DesignReport
    steps: list[Step]
    choice: Choice | None
    counted: int | None = None

    @property
    def cycles(self) -> int:
        """Of one run; a large number where data decide."""
        return self.counted or self.report.cycles or self.report.about or 1 << 60


def check_units(kernel: Kernel, units: Units, limits: Limits) -> None:
    """Refuse limits that one unit of some operation exceeds.

    Raises:
        AutoscheduleError: naming the operation and its nest.
    """
    for nest in kernel.nests:
        for unit in nest.work:
            for what in ("dsp", "lut"):
                limit, takes = getattr(limits, what), getattr(units.cost(unit), what)
                if limit is not None and takes > limit:
                    raise AutoscheduleError(
                        f"One unit for {shown(unit)} takes {takes} {what.upper()}, and the limit is "
                        f"{limit}: {nest.name} ({nest.place}) cannot be built.",
                        help=f"give at least max_{what}={takes}, or bind the operation to another "
                        "kind of unit.",
                    )


def too_large(given: Schedule, what: str) -> AutoscheduleError:
    """The error for limits that the smallest design exceeds by ``what``."""
    applied = sorted({name for name, _, _ in given.primitive_sequences})
    if not applied:
        return AutoscheduleError(
            f"The smallest design of {given.top_func_name} takes {what}.",
            help="give larger limits.",
        )
    return AutoscheduleError(
        f"With the primitives applied already ({', '.join(applied)}) the design takes {what}.",
        help="a search leaves what was applied as it is: give larger limits, or a schedule without "
        "these.",
    )


def excess(limits: Limits, report: DesignReport) -> str:
    """What a design takes more of than there is, or ""."""
    for what in KINDS:
        limit, taken = getattr(limits, what), report.resources.get(what, 0)
        if limit is not None and taken > limit:
            return f"{taken:,} {what.upper()}, where {limit:,} are allowed"
    return ""


def excess_share(limits: Limits, report: DesignReport) -> float:
    """How many times as much as there is a design takes, of what it exceeds most."""
    shares = [
        report.resources.get(what, 0) / limit
        for what in KINDS
        if (limit := getattr(limits, what)) is not None and limit > 0
    ]
    return max(shares, default=1.0)


def score(asked: Asked, plain: int | None, built: Built) -> float:
    """What a design is taken by: the least is the best. ``plain`` are cycles with nothing but pipelines.

    Designs with arrays outside are compared by their time, as those of few cycles often have slow clocks.
    """
    lut = asked.limits.lut or 1 << 30
    if asked.objective == "area":
        within = built.cycles <= (asked.max_cycles or plain or built.cycles)
        taken = built.report.resources
        return taken.get("lut", 0) + 200 * taken.get("dsp", 0) + (0 if within else 1 << 40)
    clock = 1.0
    if asked.by_time:
        clock = min(asked.clock_mhz, built.report.fmax_mhz or asked.clock_mhz)
    return built.cycles / clock * (1 + OF_AREA * built.report.resources.get("lut", 0) / lut)


def ranked(asked: Asked, plain: int | None, good: Sequence[Built]) -> list[Built]:
    """Designs, the best first.

    With arrays outside, those that take about as long as the best are ranked by their lookup tables, as a
    row at once may take thousands of tables for a cycle.
    """
    scores = {id(built): score(asked, plain, built) for built in good}
    close = CLOSE if OUTSIDE.intersection(asked.options) and asked.objective == "cycles" else 1.0
    most = close * min(scores.values(), default=0.0)

    def rank(built: Built) -> tuple[bool, float]:
        far = scores[id(built)] > most
        alike = close > 1.0 and not far
        return far, built.report.resources.get("lut", 0) if alike else scores[id(built)]

    return sorted(good, key=rank)


def what_limits(limits: Limits, report: DesignReport) -> str:
    """What keeps a design from fewer cycles."""
    taken = report.resources
    full = [
        f"{what.upper()} ({taken.get(what, 0):,} of {limit:,})"
        for what in KINDS
        if (limit := getattr(limits, what)) and taken.get(what, 0) >= FULL * limit
    ]
    waits = [
        loop.limit
        for function in report.functions
        for loop in function.loops
        if loop.ii > 1 and loop.limit
    ]
    return "; ".join([*full, *waits[:1]]) or "the work that the loops have side by side"
