"""Modules, whole designs, and their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from .blocks import BlockShape
from .locations import UNKNOWN, Location, Locations
from .operations import CLOCK_TYPE, Instance, Operation


@dataclass(slots=True)
class Ports:
    """Ports of a module in order: inputs by name and type, outputs by name, type and value."""

    inputs: list[tuple[str, str]] = field(default_factory=list)
    outputs: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Module:
    """A module.

    Attributes:
        ports: its ports.
        body: its operations, in the order of the text; None for a module that is written elsewhere.
        private: whether it is there for other modules alone.
        location: where it comes from.
        block: the multiplier block that a module written elsewhere is.
    """

    name: str
    ports: Ports
    body: list[Operation] | None
    private: bool = True
    location: Location = UNKNOWN
    block: BlockShape | None = None

    @property
    def operations(self) -> list[Operation]:
        """The operations of the body, none where there is no body."""
        return [] if self.body is None else self.body

    def instances(self) -> Iterator[Instance]:
        """The modules inside it."""
        return (op for op in self.operations if isinstance(op, Instance))

    def with_body(self, body: list[Operation]) -> Module:
        """The same module of other operations."""
        return replace(self, body=body)

    def text(self) -> str:
        """Its text, which CIRCT parses where it names no location."""
        return modules_text([self])

    def lines(self) -> Iterator[str]:
        """The lines of its text."""
        where = UNKNOWN.text
        ports = [f"in %{name} : {kind}{where}" for name, kind in self.ports.inputs]
        ports += [f"out {name} : {kind}{where}" for name, kind, _ in self.ports.outputs]
        kind = "hw.module.extern" if self.body is None else "hw.module"
        private = " private" if self.private and self.body is not None else ""
        head = f"{kind}{private} @{self.name}({', '.join(ports)})"
        if self.body is None:
            yield head
            return
        yield f"{head} {{"
        yield from [f"  {op.text()}{op.location.text}" for op in self.body]
        if self.ports.outputs:
            values = ", ".join([value for _, _, value in self.ports.outputs])
            kinds = ", ".join([kind for _, kind, _ in self.ports.outputs])
            yield f"  hw.output {values} : {kinds}{where}"
        yield "}" + self.location.text


@dataclass(slots=True)
class Netlist:
    """A design: its modules, callees first and the top last, and the locations that they name."""

    modules: list[Module]
    locations: Locations = field(default_factory=Locations)

    @property
    def top(self) -> Module:
        """The module that no other one holds."""
        return self.modules[-1]

    def with_modules(self, modules: list[Module]) -> Netlist:
        """The same design of other modules."""
        return Netlist(modules, self.locations)

    def body_text(self) -> str:
        """The text of the modules, without what defines the locations that it names."""
        return modules_text(self.modules)

    def text(self, files: Mapping[str, str] | None = None) -> str:
        """The whole text.

        Args:
            files: other names for files of Python, by the names that they have.
        """
        return with_locations(self.body_text(), self.locations, files)


def modules_text(modules: Iterable[Module]) -> str:
    """The text of modules, which CIRCT parses."""
    return "\n".join([line for module in modules for line in module.lines()])


def with_locations(text: str, locations: Locations, files: Mapping[str, str] | None = None) -> str:
    """The text of modules with what defines the locations that it names (:meth:`Netlist.text`)."""
    return "\n".join([text, *locations.definitions(files), ""])


def unit_ports(inputs: Sequence[tuple[str, int]], width: int, value: str) -> Ports:
    """Ports of an arithmetic unit, in the order every unit has."""
    named = [(name, f"i{bits}") for name, bits in inputs]
    return Ports(
        [("clk", CLOCK_TYPE), ("ce", "i1"), *named],
        [("r", f"i{width}", value)],
    )
