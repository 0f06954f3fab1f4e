"""Paths of signals through a module, and what is known of its longest ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a path: what it passes, nanoseconds, and the place of the operation in the text."""

    what: str
    delay_ns: float
    place: str


@dataclass(frozen=True, slots=True)
class Path:
    """A path and how long it takes."""

    delay_ns: float = NEVER
    steps: tuple[Step, ...] = ()

    def then(self, other: Path) -> Path:
        """This path, and another one behind it."""
        return Path(self.delay_ns + other.delay_ns, self.steps + other.steps)

    def at(self, place: str) -> Path:
        """This path in an instance at a place, which its steps without one have, such as those of units."""
        named = (replace(step, place=step.place or place) for step in self.steps)
        return Path(self.delay_ns, tuple(named))


NO_PATH = Path()


@dataclass(slots=True)
class ModuleTiming:
    """One module, with the modules inside it.

    Attributes:
        worst: from register to register.
        ends: from an input to a register, by input.
        starts: from a register to an output, by output.
        through: from inputs to outputs: by output, the inputs that reach it and the longest way.
        entered: by output, the input at which that way begins.
        planned: by output, how late synthesis takes it to be, from registers and from inputs.
    """

    worst: Path = NO_PATH
    ends: dict[str, Path] = field(default_factory=dict)
    starts: dict[str, Path] = field(default_factory=dict)
    through: dict[str, tuple[frozenset[str], Path]] = field(default_factory=dict)
    entered: dict[str, str] = field(default_factory=dict)
    planned: dict[str, float] = field(default_factory=dict)

    def port_paths(self) -> list[tuple[str, str, Path]]:
        """The longest path from an input to a register, from one to an output, and from input to output.

        Each with the ports at its ends, "" for a register.
        """
        ways = (
            [(port, "", path) for port, path in self.ends.items()],
            [("", port, path) for port, path in self.starts.items()],
            [(self.entered[port], port, path) for port, (_, path) in self.through.items()],
        )
        return [max(way, key=lambda found: found[2].delay_ns) for way in ways if way]

    def registered_ns(self, clock_out: float, setup: float) -> float:
        """The longest path where a register stands outside of each port; it takes so long out, and in."""
        outside = (
            (clock_out if start else 0.0) + path.delay_ns + (setup if end else 0.0)
            for start, end, path in self.port_paths()
        )
        return max([self.worst.delay_ns, *outside])


@dataclass(slots=True)
class Arrival:
    """How late a node's value comes: from registers, and from inputs; what is before it on either way.

    ``levels`` of logic are behind one another in front of it, and it is one gate of so many ``terms``,
    which takes ``gate_ns`` of its time. Its first bit comes ``ahead`` of its last one. ``planned`` is how
    late synthesis takes it to be.
    """

    late: float = NEVER
    passed: float = NEVER
    before: int = -1
    passed_before: int = -1
    inputs: frozenset[str] = frozenset()
    delay: float = 0.0
    levels: int = 0
    terms: int = 1
    gate_ns: float = 0.0
    ahead: float = 0.0
    passed_ahead: float = 0.0
    planned: float = 0.0
    planned_ahead: float = 0.0
    start: Path = NO_PATH
