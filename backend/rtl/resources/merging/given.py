"""What the inputs of a module are known to be, for a synthesiser flattens the design.

Bits that extend a number in every place that has the module are known inside it, too, and so is a constant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..nodes import Value, cut, extended, is_constant, significant, width_of


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of an input: its bits without those that extend it, or the constant that it is."""

    size: int
    signed: bool = False
    constant: Value = ()

    @classmethod
    def of(cls, values: Sequence[Value]) -> Given | None:
        """What is known where an input is joined to one of these values; None where it may be anything."""
        if is_constant(values[0]) and all(value == values[0] for value in values):
            return cls(0, constant=values[0])
        sizes = [significant(value) for value in values]
        signed = any(by_sign for _, by_sign in sizes)
        size = max(bits + (signed and not by_sign) for bits, by_sign in sizes)
        return cls(size, signed) if size < width_of(values[0]) else None

    def seen(self, port: Value) -> Value:
        """The value of the input, of the node of its port."""
        if self.constant:
            return self.constant
        return extended(cut(port, 0, self.size), width_of(port), signed=self.signed)


type Inputs = Mapping[str, Given]
"""What is known of the inputs of one module, by port."""
NOTHING_GIVEN: Inputs = MappingProxyType({})


class Joined:
    """The values that the inputs of modules are joined to, as the modules around them are read."""

    def __init__(self) -> None:
        self._values: defaultdict[str, defaultdict[str, list[Value]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def add(self, module: str, ports: Mapping[str, Value]) -> None:
        """One place that has a module."""
        for port, value in ports.items():
            self._values[module][port].append(value)

    def given(self, module: str) -> dict[str, Given]:
        """What is known of the inputs of a module, once all that have it are read."""
        found = {port: Given.of(values) for port, values in self._values[module].items()}
        return {port: known for port, known in found.items() if known is not None}
