"""The text of an answer as its tokens come: whole characters, and nothing of what might end it."""

from __future__ import annotations

from collections.abc import Sequence

from ..language.tokenizer import Tokenizer

_BROKEN = "\ufffd"
_CONTEXT = 4
"""Tokens in front of new ones that decide how these are spelled: spaces, and bytes of one character."""


class GrowingText:
    """Turns tokens into text.

    Args:
        prompt: the tokens in front of the answer.
        stops: texts that end the answer.
    """

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int], stops: Sequence[str]) -> None:
        self.stopped = False
        self._tokenizer = tokenizer
        self._stops = stops
        self._tokens = list(prompt[-_CONTEXT:])
        self._spelled = len(self._tokens)
        self._held = ""

    def add(self, token: int) -> str:
        """The text that is certain behind one more token."""
        self._tokens.append(token)
        new = self._new()
        if new.endswith(_BROKEN) and len(self._tokens) - self._spelled < _CONTEXT:
            return ""
        return self._let_go(new)

    def finish(self) -> str:
        """What is left where no more tokens come."""
        text = self._let_go(self._new())
        if self.stopped:
            return text
        text, self._held = text + self._held, ""
        return text

    def _new(self) -> str:
        """The text of the tokens that are not spelled yet."""
        first = max(0, self._spelled - _CONTEXT)
        before = self._tokenizer.decode(self._tokens[first : self._spelled], special=False)
        return self._tokenizer.decode(self._tokens[first:], special=False)[len(before) :]

    def _let_go(self, new: str) -> str:
        """Of the text up to here, what no stop can begin in."""
        self._spelled = len(self._tokens)
        text = self._held + new
        found = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        begun = max((_begun(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - begun :]
        return text[: len(text) - begun]


def _begun(text: str, stop: str) -> int:
    """Characters at the end of a text that are the beginning of another one."""
    most = min(len(text), len(stop) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(stop[:size])), 0)
