"""Why the cycles of a region are not foretold."""

from __future__ import annotations

from allo.dialects.diagnostics import SourcePlace


class Unforeseen(Exception):
    """The model of regions cannot tell; its text is the reason, for a sentence that begins with "because".

    Attributes:
        given: False where it could tell if it were given the inputs of a run.
    """

    def __init__(
        self, reason: str, place: SourcePlace | None = None, *, given: bool = True
    ) -> None:
        self.reason = reason
        self.given = given
        self.place = place
        super().__init__(reason)
