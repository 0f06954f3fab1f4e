"""One option: its name, what it takes, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..diagnostics import BuildError, OptionError
from ..text.shown import shown
from .kinds import Kind, Refused, from_above


@dataclass(frozen=True, slots=True)
class Above:
    """A default that a layer above has, at ``"module:name"``."""

    place: str


@dataclass(frozen=True, slots=True)
class Option:
    """A row of the table.

    Attributes:
        name: as the user writes it.
        kind: what is accepted.
        declared: what stands where it is not given, or where a layer above says it.
        doc: a sentence that says what it does.
        groups: who takes it: names of targets, or of functions.
        none: whether None is accepted, too.
        error: what a wrong value raises.
    """

    name: str
    kind: Kind
    declared: Any
    doc: str
    groups: tuple[str, ...]
    none: bool = False
    error: type[BuildError] = OptionError

    @property
    def default(self) -> Any:
        """What stands where it is not given."""
        declared = self.declared
        return from_above(declared.place) if isinstance(declared, Above) else declared

    @property
    def accepts(self) -> str:
        """What it takes, in words."""
        return f"{self.kind.accepts}, or None" if self.none else self.kind.accepts

    def read(self, value: Any, where: str) -> Any:
        """The value in its plain type.

        Args:
            where: who was given it, such as ``"target verilog"``.

        Raises:
            OptionError: (or ``error``) it is not accepted.
        """
        if value is None and self.none:
            return None
        try:
            return self.kind.read(value)
        except Refused as refused:
            raise self.error(
                f"Option {self.name} of {where} takes {self.accepts}, not {shown(value)}.",
                help=" ".join(filter(None, (refused.reason, self.doc))),
            ) from None
