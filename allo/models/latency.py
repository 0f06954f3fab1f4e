"""How long a network takes from a sample to its result."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects.diagnostics import ModelError

from .places import place_of_caller


@dataclass(frozen=True, slots=True)
class Latency:
    """From a sample to its result, by the estimate of a design.

    Attributes:
        clock_mhz: for which the design is to be built.
        cycles: from the one in which a sample is taken to the one of its result.
        period_ns: of a cycle, as the estimate has the longest path.
    """

    clock_mhz: float
    cycles: int
    period_ns: float

    @property
    def ns(self) -> float:
        """Nanoseconds."""
        return self.cycles * self.period_ns


def check_latency(target_latency_ns: float | None) -> None:
    """Refuse a latency that is none.

    Raises:
        ModelError: it is not above 0.
    """
    if target_latency_ns is not None and not target_latency_ns > 0:
        raise ModelError(
            f"target_latency_ns is {target_latency_ns!r}, and no latency.",
            place_of_caller(),
            help="give nanoseconds, such as target_latency_ns=50_000.",
        )
