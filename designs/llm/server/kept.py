"""Keys and values that finished sequences leave, for those that begin with the same tokens."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from .engine import Engine


class KeptCaches:
    """The caches of the last finished sequences, by their tokens.

    A conversation goes on where it ended: its next request begins with the tokens of the one before. A copy
    is taken, so that two requests may go on from the same place.

    Args:
        most: caches that are kept; the one that was used longest ago goes first.
    """

    def __init__(self, engine: Engine, most: int) -> None:
        self._engine = engine
        self._most = most
        self._caches: OrderedDict[tuple[int, ...], Any] = OrderedDict()

    def keep(self, tokens: Sequence[int], cache: Any) -> None:
        """Keep the cache of a sequence that has ended."""
        if not self._most or not tokens:
            return
        self._caches[tuple(tokens)] = cache
        self._caches.move_to_end(tuple(tokens))
        while len(self._caches) > self._most:
            self._caches.popitem(last=False)

    def open(self, prompt: Sequence[int]) -> tuple[Any, int]:
        """A cache for a prompt, and of how many of its first tokens it holds keys and values.

        The last token is never among these, for its step gives the first logits.
        """
        longest, found = 0, None
        for tokens in self._caches:
            common = _common(tokens, prompt[:-1])
            if common > longest:
                longest, found = common, tokens
        if found is None:
            return self._engine.open(), 0
        self._caches.move_to_end(found)
        return self._engine.copy(self._caches[found]), longest


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences begin with together."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
