"""Rows of the table of options that have their groups in common."""

from __future__ import annotations

from ..diagnostics import BuildError, OptionError
from .kinds import Kind
from .option import Option


def rows(*groups: str) -> Rows:
    """What makes rows for some groups."""
    return Rows(groups)


class Rows:
    """Makes rows for the same groups."""

    def __init__(self, groups: tuple[str, ...]) -> None:
        self._groups = groups

    def __call__(
        self,
        name: str,
        kind: Kind,
        default: object,
        doc: str,
        *,
        none: bool = False,
        error: type[BuildError] = OptionError,
    ) -> Option:
        """A row: name, kind, default, meaning."""
        return Option(name, kind, default, doc, self._groups, none, error)
