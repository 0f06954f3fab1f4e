"""What is known of the registers of a module before its graph is made, from a graph that was made without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from .settled import NOTHING_SETTLED, Settled


@dataclass(frozen=True, slots=True)
class Registers:
    """What is known of registers, by name.

    Attributes:
        settled: bits that only ever get one value.
        twins: the register that stands for another one, which no other stands for.
        sizes: the bits of one whose other bits, above, hold what the last of these holds.
    """

    settled: Settled = NOTHING_SETTLED
    twins: Mapping[str, str] = MappingProxyType({})
    sizes: Mapping[str, int] = MappingProxyType({})

    def joined(self, found: Registers) -> Registers:
        """With what a graph showed beside it."""
        settled = {name: dict(bits) for name, bits in self.settled.items()}
        for name, bits in found.settled.items():
            settled.setdefault(name, {}).update(bits)
        twins = {name: found.twins.get(of, of) for name, of in self.twins.items()}
        return Registers(settled, {**twins, **found.twins}, {**self.sizes, **found.sizes})


NOTHING_KNOWN = Registers()
