"""What all parts of the driver use: ports, context fields, the clock."""

from __future__ import annotations

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
        self._base = function.load_pointer(self.field("base"))
        self._seen: dict[str, str] = {}
        if not evaluation.settle:
            self._eval = function.load_pointer(self.field("eval"))
            self._handle = function.load_pointer(self.field("handle"))

    def field(self, name: str) -> str:
        """The address of a context field."""
        return self.f.offset("%ctx", self._context.offset(name))

    def field_offset(self, name: str) -> int:
        """The byte offset of a context field."""
        return self._context.offset(name)

    def get(self, port: str) -> str:
        """The value of a port, in its own width; read once between two evaluations."""
        port = self._ports.aliases.get(port, port)
        if port not in self._seen:
            width = self._ports.widths[port]
            bits = self._ports.container(width)
            value = self.f.load(self.f.offset(self._base, self._ports.offsets[port]), bits)
            self._seen[port] = self.f.resize(value, bits, width)
        return self._seen[port]

    def put(self, port: str, value: str) -> None:
        """Drive a port with a value of its width."""
        self._seen.pop(port, None)
        width = self._ports.widths[port]
        bits = self._ports.container(width)
        address = self.f.offset(self._base, self._ports.offsets[port])
        self.f.store(self.f.resize(value, width, bits), address, bits)

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
