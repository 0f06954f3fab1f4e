"""What a search considered, what it found, and how far from the model's bound that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tried:
    """A design that was built as far as its report.

    Attributes:
        modelled: cycles by the model, or None of a design that the model did not choose.
        note: why it is not taken, or "".
    """

    cycles: int | None
    resources: Mapping[str, int]
    modelled: int | None = None
    note: str = ""


@dataclass(slots=True)
class Trace:
    """The account of a search.

    Attributes:
        limits: what a design could take of each resource.
        layers: for each function called several times, whether the calls share it.
        looked_at: tiles and orders of loops that the model counted.
        tried: the designs whose reports were made, in order.
        plain: cycles with nothing but the innermost loops pipelined.
        cycles: of the best design, by its report.
        bound: cycles below which no choice of the model's space is, by the model.
        proved: whether all choices were excluded; else time ran out, or was not used up.
        limited: what keeps the best design from fewer cycles.
        unexplored: what the search left out, and why.
        checked: how the result was compared with the kernel.
    """

    kernel: str
    device: str
    clock_mhz: float
    objective: str
    limits: Mapping[str, int]
    layers: list[str] = field(default_factory=list)
    looked_at: int = 0
    tried: list[Tried] = field(default_factory=list)
    plain: int | None = None
    cycles: int | None = None
    bound: int = 0
    proved: bool = False
    limited: str = ""
    unexplored: list[str] = field(default_factory=list)
    checked: str = ""
    seconds: float = 0.0
    ended: str = ""

    @property
    def gap(self) -> float | None:
        """By what share the best design takes more cycles than the bound; None if either is unknown."""
        if not self.cycles or not self.bound:
            return None
        return max(0.0, self.cycles / self.bound - 1)

    def __str__(self) -> str:
        limits = ", ".join(f"{most:,} {name.upper()}" for name, most in self.limits.items())
        lines = [
            f"{self.kernel} for {self.device} at {self.clock_mhz:g} MHz, objective {self.objective}, "
            f"within {limits}",
            f"considered {self.looked_at:,} tiles and orders; built {len(self.tried)} reports in "
            f"{self.seconds:.1f} s ({self.ended})",
        ]
        lines += self.layers
        for design in self.tried:
            cycles = "?" if design.cycles is None else f"{design.cycles:,}"
            model = "" if design.modelled is None else f" (model {design.modelled:,})"
            taken = ", ".join(
                f"{v:,} {k.upper()}" for k, v in design.resources.items() if k in self.limits
            )
            lines.append(
                f"  {cycles} cycles{model}: {taken}{f'; {design.note}' if design.note else ''}"
            )
        if self.cycles is not None:
            gap = (
                ""
                if self.gap is None
                else f"; bound of the model {self.bound:,}, gap {self.gap:.1%}"
            )
            lines.append(f"best: {self.cycles:,} cycles{gap}")
        if self.plain:
            lines.append(f"innermost loops pipelined, and nothing else: {self.plain:,} cycles")
        lines += [f"limited by {self.limited}"] if self.limited else []
        lines += [f"not explored: {reason}" for reason in self.unexplored]
        lines += [f"checked: {self.checked}"] if self.checked else []
        return "\n".join(lines)
