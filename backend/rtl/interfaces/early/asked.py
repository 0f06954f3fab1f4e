"""Which arrays are to be copied in while the core runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from allo.dialects.types import Stream

from ...plan.holds import NOTHING, UNTIL_READ, WHILE_FROZEN, Holds
from ...read.records import Program
from ..arguments import Known


def early_positions(known: Known, interface: str | Mapping[str, Any]) -> tuple[int, ...]:
    """The arguments for which ``early`` is asked."""
    if isinstance(interface, str):
        return ()
    found = []
    for position, parameter in enumerate(known.signature.arguments):
        fields = interface.get(parameter.name)
        array = parameter.shape is not None and not isinstance(parameter.dtype, Stream)
        if array and isinstance(fields, Mapping) and fields.get("early") is True:
            found.append(position)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a function whose arrays are copied in while it runs.

    Attributes:
        names: the arrays that are asked for so, and copied whole: those that do not pass beside the core.
        waits: whether it waits for words: those of streams, and of arrays that pass.
    """

    names: frozenset[str]
    waits: bool

    @classmethod
    def of(cls, program: Program, top: str, positions: Collection[int]) -> Asked:
        """What positions of arguments ask for."""
        attrs = program.functions[top].attrs
        names = attrs["arg_names"] if positions else ()
        streams = any(kind.startswith("stream<") for kind in attrs["arg_types"])
        return cls(
            frozenset(names[n] for n in positions if n not in program.transfers),
            bool(program.transfers) or streams,
        )

    @property
    def frozen(self) -> bool:
        """Whether the function stands still in front of a cycle that needs an element that is not there."""
        return bool(self.names)

    @property
    def holds(self) -> Holds:
        """How long its arrays hold what they have answered."""
        if not self.frozen:
            return NOTHING
        return UNTIL_READ if self.waits else WHILE_FROZEN


NOTHING_ASKED = Asked(frozenset(), waits=False)

__all__ = ["NOTHING_ASKED", "Asked", "early_positions"]
