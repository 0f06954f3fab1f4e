"""What all parts of the driver use: ports, context fields, the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .context import ContextLayout
from .llvm_text import FunctionText
from .ports import PortMap


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How the driver evaluates the design.

    Attributes:
        settle: function of the same module to call with the base address when the clock is low, or
            "" to call the function whose address the context holds.
        edge: the function to call when the clock has risen.
        reset: the function to call when the clock has risen during reset.
    """

    settle: str = ""
    edge: str = ""
    reset: str = ""


class Wires:
    """Reads and drives the ports of a design within one function of the driver."""

    def __init__(
        self, function: FunctionText, ports: PortMap, context: ContextLayout, evaluation: Evaluation
    ) -> None:
        self.f = function
        self._ports = ports
        self._context = context
        self._evaluation = evaluation
        self._row = ""
        self._columns: dict[str, int] = {}
        self._places: dict[str, str] = {}
        self._base = function.load_pointer(self.field("base"))
        self._seen: dict[str, str] = {}
        if not evaluation.settle:
            self._eval = function.load_pointer(self.field("eval"))
            self._handle = function.load_pointer(self.field("handle"))

    def follow(self, row: str, columns: Sequence[str]) -> None:
        """From now on, where these ports and fields lie is read from a row of a table, a word each."""
        self._row = row
        self._columns = {name: column for column, name in enumerate(columns)}
        self._places.clear()

    def place(self, name: str) -> str | None:
        """The word (i64) of the row under a name; None where the table has no such column."""
        if name not in self._columns:
            return None
        if name not in self._places:
            address = self.f.offset(self._row, 8 * self._columns[name])
            self._places[name] = self.f.load(address, 64)
        return self._places[name]

    def field(self, name: str) -> str:
        """The address of a context field."""
        place = self.place(name)
        return (
            self.f.index("%ctx", place, 8)
            if place
            else self.f.offset("%ctx", self.field_offset(name))
        )

    def field_offset(self, name: str) -> int:
        """The byte offset of a context field."""
        return self._context.offset(name)

    def port_offset(self, port: str) -> int:
        """The byte offset of a port from the model's base address."""
        return self._ports.offsets[self._ports.aliases.get(port, port)]

    def _port(self, port: str) -> str:
        """The address of a port."""
        place = self.place(port)
        return (
            self.f.index(self._base, place, 8)
            if place
            else self.f.offset(self._base, self.port_offset(port))
        )

    def get(self, port: str) -> str:
        """The value of a port, in its own width; read once between two evaluations."""
        if port not in self._columns:
            port = self._ports.aliases.get(port, port)
        if port not in self._seen:
            width = self._ports.widths[port]
            bits = self._ports.container(width)
            self._seen[port] = self.f.resize(self.f.load(self._port(port), bits), bits, width)
        return self._seen[port]

    def put(self, port: str, value: str) -> None:
        """Drive a port with a value of its width."""
        self._seen.pop(port, None)
        width = self._ports.widths[port]
        bits = self._ports.container(width)
        self.f.store(self.f.resize(value, width, bits), self._port(port), bits)

    def clock(self, level: int, *, resetting: bool = False) -> None:
        """Set the clock and let the design settle."""
        self._seen.clear()
        self.put("clk", self.f.constant(level, 1))
        if self._evaluation.settle:
            how = self._evaluation
            risen = how.reset if resetting else how.edge
            self.f.call(risen if level else how.settle, [(self._base, "!llvm.ptr")])
        else:
            self.f.call_pointer(self._eval, self._handle)
