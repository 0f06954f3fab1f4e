"""Proposals of the tokens that may follow, which a model verifies in one step.

A proposal is a tree: where a text has been continued in several ways before, several branches stand beside
each other (token trees: Miao et al., "SpecInfer", ASPLOS 2024). Looking for the last tokens farther in front
costs no second model (prompt lookup: Saxena, 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True)
class Proposal:
    """A tree of tokens behind a text.

    Attributes:
        tokens: each behind the one that it follows, the likeliest branch first.
        parents: the token that each follows; -1 for the last of the text.
        drawn: for tokens drawn by chance, the distribution that each was drawn from, (tokens, vocabulary);
            None where nothing was left to chance.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    drawn: np.ndarray | None = None

    def children(self, parent: int) -> list[int]:
        """The tokens behind one, in their order."""
        return [node for node, of in enumerate(self.parents) if of == parent]

    def add(self, branch: Sequence[int], room: int) -> None:
        """Add a branch, which shares what it has in common with others, up to ``room`` tokens."""
        at = -1
        for token in branch:
            placed = self.place(token, at, room)
            if placed is None:
                return
            at = placed

    def place(self, token: int, parent: int, room: int) -> int | None:
        """The node of a token behind another, added if it is new; None where ``room`` tokens are there."""
        known = [node for node in self.children(parent) if self.tokens[node] == token]
        if known:
            return known[0]
        if len(self.tokens) >= room:
            return None
        self.tokens.append(token)
        self.parents.append(parent)
        return len(self.tokens) - 1


Propose = Callable[[Sequence[int], int], Proposal]
"""Takes a text and room for so many tokens."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Proposes what followed the last tokens of a text where they stood before.

    Attributes:
        longest, shortest: of the last tokens that are looked for; longer ones first, and the latest place
            first.
        branches: places at most.
        depth: tokens of a branch at most.
    """

    longest: int = 4
    shortest: int = 1
    branches: int = 3
    depth: int = 16

    def __call__(self, text: Sequence[int], room: int) -> Proposal:
        """A tree of ``room`` tokens at most."""
        found = Proposal()
        for _, place in zip(range(self.branches), self._places(text), strict=False):
            found.add(text[place : place + self.depth], room)
        return found

    def _places(self, text: Sequence[int]) -> Iterator[int]:
        """Where text goes on behind what its last tokens are, each place once."""
        seen = set()
        for length in range(min(self.longest, len(text) - 1), self.shortest - 1, -1):
            last = list(text[-length:])
            for place in range(len(text) - 1, length - 1, -1):
                if place not in seen and list(text[place - length : place]) == last:
                    seen.add(place)
                    yield place


def nothing(text: Sequence[int], room: int) -> Proposal:
    """No proposal, so that a step says one token."""
    return Proposal()
