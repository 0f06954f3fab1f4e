"""Proposals of a draft head, and of what stood in the text before, for a model that verifies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..language.proposals import Proposal, Propose
from ..wide.block.rows import Rows
from .growth import Node
from .head import DraftHeadError

SPARED = 2
"""Tokens of a tree that are left for the head where something was looked up."""


class Target(Protocol):
    """A model that takes steps of rows, and keeps what each row of the last one ended in."""

    @property
    def hidden(self) -> Any:
        """What they ended in, a row each, as the head takes it."""

    def step(self, rows: Rows, spoken: int) -> np.ndarray:
        """The logits after so many of the last rows."""


class Head(Protocol):
    """What grows trees of proposals: :class:`.head.DraftHead`, or :class:`.integer.IntegerHead`."""

    @property
    def places(self) -> int:
        """Places of the text that were taken."""

    def take(self, hidden: Sequence[Any], following: np.ndarray) -> None:
        """Take what the model ends in at the next places, and the token that follows each."""

    def grow(self, room: int) -> list[Node]:
        """The likeliest continuations of the text, parents before their children."""


@dataclass(slots=True)
class Drafting:
    """A model and its draft head, for :func:`..language.speculation.speculate`: ``step`` is its engine.

    Attributes:
        target: what verifies.
        head: what proposes.
        lookup: another one, whose proposals go before the head's where it finds any.
    """

    target: Target
    head: Head
    lookup: Propose | None = None
    _steps: list[tuple[Rows, Any]] = field(default_factory=list)

    def step(self, rows: Rows, spoken: int) -> np.ndarray:
        """A step of the model.

        Raises:
            DraftHeadError: the model does not tell what its rows end in, or the rows are of several texts.
        """
        if len(np.unique(rows.slots)) > 1:
            raise DraftHeadError(
                "A draft head is given rows of several sequences, and it follows one.",
                help="give each sequence a Drafting of its own.",
            )
        logits = self.target.step(rows, spoken)
        hidden = self.target.hidden
        if len(hidden) != len(rows):
            raise DraftHeadError(
                "The model does not tell what its rows end in.",
                help="take one whose activations have steps of tokens, Wide(block=…).",
            )
        self._steps.append((rows, hidden))
        return logits

    def propose(self, text: Sequence[int], room: int) -> Proposal:
        """A tree of ``room`` tokens at most behind a text; of the lookup alone where steps lag behind it.

        Raises:
            DraftHeadError: the head has taken more places than the text has.
        """
        first, last = self.head.places, len(text) - 1
        if first > last:
            raise DraftHeadError(
                f"The draft head has taken {first} places, and proposals are asked behind {last + 1} tokens.",
                help="reset the head between texts, or make another Drafting.",
            )
        hidden: list[Any] = []
        while first + len(hidden) < last:
            found = self._hidden(text, first + len(hidden))
            if found is None:
                break
            hidden.append(found)
        if hidden:
            self.head.take(hidden, np.array(text[first + 1 : first + 1 + len(hidden)]))
        if self.head.places < last or room < 1:
            return self.lookup(text, room) if self.lookup is not None and room > 0 else Proposal()
        self._steps.clear()
        proposal = Proposal()
        if self.lookup is not None:
            proposal = self.lookup(text, max(room - SPARED, 1))
        number = {-1: -1}
        for at, node in enumerate(self.head.grow(room)):
            placed = proposal.place(node.token, number[node.parent], room)
            if placed is None:
                break
            number[at] = placed
        return proposal

    def _hidden(self, text: Sequence[int], place: int) -> Any:
        """What the model ended in at a place, from a row with the text up to there; None without one."""
        for rows, hidden in reversed(self._steps):
            for row in np.flatnonzero((rows.positions == place) & (rows.tokens == text[place])):
                before = np.flatnonzero(rows.sees[row])
                if all(rows.tokens[at] == text[rows.positions[at]] for at in before):
                    return hidden[int(row)]
        return None
