"""What synthesis and placement tell of a design, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a path from register to register.

    Attributes:
        kind: ``"clk-to-q"``, ``"logic"``, ``"routing"`` or ``"setup"``.
        delay_ns: nanoseconds of the step.
        signal: the signal of the Verilog that the step ends in, or "".
        place: the Python line that the signal comes from, as ``file:line:col``, or "".
    """

    kind: str
    delay_ns: float
    signal: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Routing:
    """A design placed and routed.

    Attributes:
        device: part, package and speed grade.
        asked_mhz: the clock that was asked for.
        fmax_mhz: the clock that was reached.
        critical_path: its slowest path, from register to register.
        used: units of the part that are in use, and how many there are, by kind.
    """

    device: str
    asked_mhz: float
    fmax_mhz: float
    critical_path: tuple[PathStep, ...] = ()
    used: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def meets(self) -> bool:
        """Whether the clock asked for is reached."""
        return self.fmax_mhz >= self.asked_mhz

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Routing:
        """What :meth:`to_json` gave."""
        steps = tuple(PathStep(**step) for step in data["critical_path"])
        used = {kind: (count, there) for kind, (count, there) in data["used"].items()}
        return cls(**{**data, "critical_path": steps, "used": used})


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The cells of a synthesised design.

    Attributes:
        tool: who made the figures.
        family: device family, as ``device=`` of a build names it.
        lut: lookup tables, those of shift registers, of memories and of ECP5's carry chains included.
        ff: flip-flops.
        dsp: multiplier blocks.
        bram: blocks of 18 kbit; one of 36 kbit counts as two.
        uram: blocks of 288 kbit.
        srl: lookup tables that are shift registers.
        lutram: lookup tables that are memories.
        carry: cells of carry chains.
        cells: every kind of cell with its number.
        routing: the design placed and routed; None where it was not.
    """

    tool: str
    family: str
    lut: int
    ff: int
    dsp: int
    bram: int
    uram: int
    srl: int
    lutram: int
    carry: int
    cells: dict[str, int]
    routing: Routing | None = None

    @property
    def resources(self) -> dict[str, int]:
        """The figures that ``report.resources`` estimates, under the same names."""
        names = ("lut", "ff", "dsp", "bram", "uram", "srl", "lutram")
        return {name: getattr(self, name) for name in names}

    @property
    def fmax_mhz(self) -> float | None:
        """The clock that was reached; None where nothing was routed."""
        return self.routing.fmax_mhz if self.routing else None

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return asdict(self)

    def table(self) -> str:
        """The figures as text."""
        figures = "   ".join(f"{name.upper()} {n:,}" for name, n in self.resources.items())
        lines = [f"{self.family} by {self.tool}", f"  {figures}"]
        if self.routing:
            lines += _routing_lines(self.routing)
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.table()


def _routing_lines(routing: Routing) -> list[str]:
    lines = [
        f"  {routing.fmax_mhz:.1f} MHz of {routing.asked_mhz:g} MHz asked, on {routing.device}",
        "  critical path:",
    ]
    for step in routing.critical_path:
        name = f"  {step.signal}" if step.signal else ""
        place = f"  ({step.place})" if step.place else ""
        lines.append(f"    {step.delay_ns:6.2f} ns  {step.kind:9}{name}{place}")
    return lines
