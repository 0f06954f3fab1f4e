"""Operations of ``hw``, ``comb`` and ``seq``, each with the text that CIRCT parses.

A value is its name, ``%sum``: modules are graphs, so a name may be used before the operation that defines
it. Objects are made by the hundred thousand; they hold what the text says and nothing more.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

from allo.dialects.core.integers import as_signed

from .locations import UNKNOWN, Location

CLOCK, RESET = "%clk", "%rst"
"""The inputs of every module that its registers take."""
CLOCK_TYPE = "!seq.clock"


def section_of(body: int) -> str:
    """The name of the part of a module that is a body of the program."""
    return f"b{body}"


class Operation:
    """An operation of a module.

    Attributes:
        result: the value that it defines, "" for none.
        operands: the values that it reads, the clock left out.
        width: bits of its result; of a memory and what writes it, bits of a word.
        section: the part of the module that it belongs to.
        location: where it comes from.
    """

    __slots__ = ("location", "operands", "result", "section", "width")

    def __init__(self, result: str, operands: tuple[str, ...], width: int) -> None:
        self.result = result
        self.operands = operands
        self.width = width
        self.section = ""
        self.location: Location = UNKNOWN

    def text(self) -> str:
        """The operation as CIRCT reads it, without its location."""
        raise NotImplementedError

    def results(self) -> Iterable[tuple[str, str]]:
        """The values that it defines, with their types."""
        return ((self.result, f"i{self.width}"),) if self.result else ()

    def operand_types(self) -> Sequence[str]:
        """The types that its operands must have."""
        return [f"i{self.width}"] * len(self.operands)

    def like(self, other: Operation) -> Operation:
        """This operation in the place of another one."""
        self.section, self.location = other.section, other.location
        return self

    def renamed(self, result: str, operands: tuple[str, ...]) -> Operation:
        """A copy with other values."""
        made = copy.copy(self)
        made.result, made.operands = result, operands
        return made


class Gate(Operation):
    """An operation whose operands and result have one type: ``comb.and``, ``comb.add``, ``arith.divui`` …"""

    __slots__ = ("name",)

    def __init__(self, name: str, result: str, operands: tuple[str, ...], width: int) -> None:
        super().__init__(result, operands, width)
        self.name = name

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        return f"{self.result} = {self.name} {', '.join(self.operands)} : i{self.width}"


class BlockSum(Gate):
    """A sum with a product of one multiplier block, whose adder makes it where it has one."""

    __slots__ = ()

    def __init__(self, result: str, operands: tuple[str, ...], width: int) -> None:
        super().__init__("comb.add", result, operands, width)


class Mux(Operation):
    """``condition ? then : other``."""

    __slots__ = ()

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        return f"{self.result} = comb.mux {', '.join(self.operands)} : i{self.width}"

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        kind = f"i{self.width}"
        return "i1", kind, kind


class Constant(Operation):
    """A constant; ``value`` is its unsigned number."""

    __slots__ = ("value",)

    def __init__(self, result: str, value: int, width: int) -> None:
        super().__init__(result, (), width)
        self.value = value & (1 << width) - 1

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        if self.width == 1:
            return f"{self.result} = hw.constant {'true' if self.value else 'false'}"
        return (
            f"{self.result} = hw.constant {constant_text(self.value, self.width)} : i{self.width}"
        )


def constant_text(value: int, width: int) -> str:
    """A constant as CIRCT's text has it; a wide one in hexadecimal, which takes linear time."""
    return str(as_signed(value, width)) if width <= 64 else hex(value & (1 << width) - 1)


class Compare(Operation):
    """A comparison of two integers of ``of`` bits; ``kind`` is ``"eq"``, ``"slt"`` …"""

    __slots__ = ("kind", "of")

    def __init__(self, kind: str, result: str, operands: tuple[str, ...], of: int) -> None:
        super().__init__(result, operands, 1)
        self.kind = kind
        self.of = of

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        a, b = self.operands
        return f"{self.result} = comb.icmp {self.kind} {a}, {b} : i{self.of}"

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return f"i{self.of}", f"i{self.of}"


class Extract(Operation):
    """Bits from ``low`` up of a value of ``of`` bits."""

    __slots__ = ("low", "of")

    def __init__(self, result: str, operand: str, low: int, width: int, of: int) -> None:
        super().__init__(result, (operand,), width)
        self.low = low
        self.of = of

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        kinds = f"(i{self.of}) -> i{self.width}"
        return f"{self.result} = comb.extract {self.operands[0]} from {self.low} : {kinds}"

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return (f"i{self.of}",)


class Replicate(Operation):
    """A value of ``of`` bits several times."""

    __slots__ = ("of",)

    def __init__(self, result: str, operand: str, width: int, of: int = 1) -> None:
        super().__init__(result, (operand,), width)
        self.of = of

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        return f"{self.result} = comb.replicate {self.operands[0]} : (i{self.of}) -> i{self.width}"

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return (f"i{self.of}",)


class Concat(Operation):
    """Values side by side, the highest first; ``widths`` are their bits."""

    __slots__ = ("widths",)

    def __init__(self, result: str, operands: tuple[str, ...], widths: tuple[int, ...]) -> None:
        super().__init__(result, operands, sum(widths))
        self.widths = widths

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        kinds = ", ".join([f"i{width}" for width in self.widths])
        return f"{self.result} = comb.concat {', '.join(self.operands)} : {kinds}"

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return [f"i{width}" for width in self.widths]


class Wire(Operation):
    """A value with another name; one that is ``visible`` is a signal in the Verilog."""

    __slots__ = ("visible",)

    def __init__(self, result: str, operand: str, width: int, *, visible: bool = False) -> None:
        super().__init__(result, (operand,), width)
        self.visible = visible

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        symbol = f" sym @{self.result[1:]}" if self.visible else ""
        return f"{self.result} = hw.wire {self.operands[0]}{symbol} : i{self.width}"


class Register(Operation):
    """A register: its data, its enable where it is ``gated``, and reset and value where it ``resets``."""

    __slots__ = ("gated", "resets")

    def __init__(self, result: str, data: str, width: int, gate: str = "", reset: str = "") -> None:
        operands: tuple[str, ...] = (data, gate) if gate else (data,)
        super().__init__(result, (*operands, RESET, reset) if reset else operands, width)
        self.gated = bool(gate)
        self.resets = bool(reset)

    @property
    def gate(self) -> str:
        """The enable, "" for none."""
        return self.operands[1] if self.gated else ""

    @property
    def reset(self) -> str:
        """The value after a reset, "" for none."""
        return self.operands[-1] if self.resets else ""

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        enable = f".ce {self.operands[0]}, {CLOCK}, {self.operands[1]}" if self.gated else ""
        reset = f" reset {RESET}, {self.operands[-1]}" if self.resets else ""
        read = enable or f" {self.operands[0]}, {CLOCK}"
        return f"{self.result} = seq.compreg{read}{reset} : i{self.width}"

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        kind = f"i{self.width}"
        return [kind, *["i1"] * self.gated, *["i1", kind] * self.resets]


class Verbatim(Operation):
    """An operation by its text, for what only a simulator has; ``kind`` is the type of its result."""

    __slots__ = ("body", "kind", "kinds")

    def __init__(
        self, result: str, body: str, kind: str, operands: Sequence[tuple[str, str]]
    ) -> None:
        width = int(kind[1:]) if kind[0] == "i" else 0
        super().__init__(result, tuple(name for name, _ in operands), width)
        self.body = body
        self.kind = kind
        self.kinds = [operand for _, operand in operands]

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        return f"{self.result} = {self.body}"

    def results(self) -> Iterable[tuple[str, str]]:
        """The values it defines, with their types."""
        return ((self.result, self.kind),)

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return self.kinds


class Instance(Operation):
    """A module inside a module.

    Attributes:
        label: its name.
        module: the module's.
        inputs: by port, the value that it is given and its type, the clock included.
        outputs: value, port and type of each result.
    """

    __slots__ = ("inputs", "label", "module", "outputs")

    def __init__(
        self,
        label: str,
        module: str,
        inputs: Mapping[str, tuple[str, str]],
        outputs: Sequence[tuple[str, str, str]],
    ) -> None:
        super().__init__("", tuple([value for value, _ in inputs.values()]), 0)
        self.label = label
        self.module = module
        self.inputs = inputs
        self.outputs = outputs

    def text(self) -> str:
        """The operation as CIRCT reads it."""
        inputs = ", ".join([f"{p}: {value}: {kind}" for p, (value, kind) in self.inputs.items()])
        kinds = ", ".join([f"{port}: {kind}" for _, port, kind in self.outputs])
        made = ", ".join([value for value, _, _ in self.outputs])
        left = f"{made} = " if made else ""
        return f'{left}hw.instance "{self.label}" @{self.module}({inputs}) -> ({kinds})'

    def results(self) -> Iterable[tuple[str, str]]:
        """The values it defines, with their types."""
        return [(value, kind) for value, _, kind in self.outputs]

    def operand_types(self) -> Sequence[str]:
        """The types of its operands, in their order."""
        return [kind for _, kind in self.inputs.values()]
