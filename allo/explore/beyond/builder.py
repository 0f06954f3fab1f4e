"""What designs beside the model need of a search."""

from __future__ import annotations

from typing import Protocol

from allo.schedule import Schedule

from ..apply import Step
from ..budget import Asked, Built
from ..model.kernel import Kernel
from ..model.units import Units
from ..solve import Choice


class Builder(Protocol):
    """What they need of a search."""

    given: Schedule
    kernel: Kernel
    asked: Asked
    good: list[Built]
    seen: set[str]

    @property
    def units(self) -> Units:
        """What units take on the device."""

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""

    def keep(
        self, steps: list[Step], choice: Choice | None, made: Schedule, most: float | None = None
    ) -> Built | None:
        """A schedule with its report, kept where it fits."""
