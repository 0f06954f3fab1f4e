"""What is known around a module, for a synthesiser flattens the design.

Bits that extend a number in every place that has the module are known inside it, too, and so is a constant,
and that an input is another one. What no place reads of an output is not made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..nodes import Value, aligned, cut, extended, is_constant, join, significant, width_of
from .settled import with_settled


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of an input.

    Attributes:
        size: its bits without those that extend it; ``signed``: whether its sign does.
        constant: what it always is.
        same: the input in front of it that has the same value.
        known: bits below ``size`` that are known, with the nodes of their constants.
    """

    size: int = 0
    signed: bool = False
    constant: Value = ()
    same: str = ""
    known: Mapping[int, int] = MappingProxyType({})

    @classmethod
    def of(cls, values: Sequence[Value]) -> Given | None:
        """What is known where an input is joined to one of these values; None where it may be anything."""
        if is_constant(values[0]) and all(value == values[0] for value in values):
            return cls(constant=values[0])
        sizes = [significant(value) for value in values]
        signed = any(by_sign for _, by_sign in sizes)
        size = max(bits + (signed and not by_sign) for bits, by_sign in sizes)
        known = {
            low + bit: runs[0][0]
            for low, count, runs in aligned([cut(value, 0, size) for value in values])
            if runs[0][0] < 0 and all(run[0] == runs[0][0] for run in runs)
            for bit in range(count)
        }
        return cls(size, signed, known=known) if known or size < width_of(values[0]) else None

    def seen(self, port: Value) -> Value:
        """The value of the input, of the node of its port."""
        if self.constant:
            return self.constant
        inside = join(with_settled(cut(port, 0, self.size), self.known))
        return extended(inside, width_of(port), signed=self.signed)


type Inputs = Mapping[str, Given]
"""What is known of the inputs of one module, by port."""


@dataclass(frozen=True, slots=True)
class Around:
    """What is known around a module.

    Attributes:
        given: of its inputs.
        heard: the bits of its outputs that are read, as the bits of an integer; all of one that is not there.
    """

    given: Inputs = MappingProxyType({})
    heard: Mapping[str, int] = MappingProxyType({})


NOTHING_AROUND = Around()


class Joined:
    """What modules are joined to, as the modules around them are read."""

    def __init__(self) -> None:
        self._values: defaultdict[str, defaultdict[str, list[Value]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._heard: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))

    def add(self, module: str, ports: Mapping[str, Value], heard: Mapping[str, int]) -> None:
        """One place that has a module: the values of its inputs, and the bits read of its outputs."""
        for port, value in ports.items():
            self._values[module][port].append(value)
        for port, bits in heard.items():
            self._heard[module][port] |= bits

    def around(self, module: str) -> Around:
        """What is known around a module, once all that have it are read."""
        given: dict[str, Given] = {}
        first: dict[tuple[Value, ...], str] = {}
        for port, values in self._values[module].items():
            known = Given.of(values)
            same = first.setdefault(tuple(values), port)
            if same != port and (known is None or not known.constant):
                known = Given(same=same)
            if known is not None:
                given[port] = known
        return Around(given, self._heard[module])
