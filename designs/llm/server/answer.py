"""One sequence under way: what it takes in next, and what it says."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..language.sampling import Sampler
from ..language.tokenizer import Tokenizer
from ..wide.candidates.largest import largest
from .engine import Result, Work
from .request import Done, Event, Piece, Request, Scored
from .text import GrowingText


class Answer:
    """A request whose steps are being taken.

    Args:
        count: tokens of the answer at most.
        ends: tokens that end an answer.
        deliver: takes what the answer gives, as it comes.
        cache: of its keys and values, which holds the first ``reused`` tokens of the prompt already.
    """

    def __init__(
        self,
        request: Request,
        count: int,
        tokenizer: Tokenizer,
        ends: Sequence[int],
        deliver: Callable[[Event], None],
        cache: Any,
        reused: int,
    ) -> None:
        self.cache = cache
        self.deliver = deliver
        self.taken = list(request.prompt[:reused])
        """The tokens whose keys and values are in the cache."""
        self._request = request
        self._count = count
        self._ends = ends
        self._tokenizer = tokenizer
        self._reused = reused
        self._text = GrowingText(tokenizer, request.prompt, request.stops)
        self._said: list[int] = []
        self._scored: list[Scored] = []
        self._cycles: int | None = None
        self._sampler = _sampler(request)
        self._step: Work

    def work(self, most: int = 1) -> Work:
        """The next step, which takes ``most`` tokens of a prompt at once."""
        position = len(self.taken)
        prompt = self._request.prompt
        if position < len(prompt):
            token, *more = prompt[position : position + most]
            self._step = Work(self.cache, token, position, tuple(more))
        else:
            self._step = Work(self.cache, self._said[-1], position)
        return self._step

    def take(self, result: Result) -> bool:
        """Go on behind the step that :meth:`work` gave last; whether the answer has ended."""
        self.taken += (self._step.token, *self._step.more)
        if result.cycles is not None:
            self._cycles = (self._cycles or 0) + result.cycles
        if len(self.taken) < len(self._request.prompt):
            return False
        token = self._choose(result.logits)
        if token in self._ends:
            self._said.append(token)
            return self._end("stop")
        if self._request.likeliest is not None:
            self._scored.append(self._score(result.logits, token))
        self._said.append(token)
        self._say(self._text.add(token))
        if self._text.stopped:
            return self._end("stop")
        return len(self._said) == self._count and self._end("length")

    def cancel(self) -> None:
        """Tell that nobody waits any more."""
        self._done("cancelled")

    def _choose(self, logits: np.ndarray) -> int:
        r = self._request
        if r.presence or r.frequency:
            logits = logits.astype(np.float32, copy=True)
            for token, times in Counter(self._said).items():
                logits[token] -= np.float32(r.presence + r.frequency * times)
        return self._sampler.choose(logits)

    def _score(self, logits: np.ndarray, token: int) -> Scored:
        """Log-probabilities as the model has them, without temperature and penalties."""
        wide = logits.astype(np.float64)
        every = wide - wide.max()
        every -= np.log(np.exp(every).sum())
        count = self._request.likeliest or 0
        best = [int(each) for each in largest(logits, count).tokens] if count else []
        spelled = tuple((self._spell(each), float(every[each])) for each in best)
        return Scored(self._spell(token), float(every[token]), spelled)

    def _spell(self, token: int) -> str:
        return self._tokenizer.decode([token])

    def _say(self, text: str) -> None:
        if text:
            self.deliver(Piece(text, tuple(self._scored)))
            self._scored = []

    def _end(self, reason: str) -> bool:
        rest = "" if self._text.stopped else self._text.finish()
        if rest or self._scored:
            self.deliver(Piece(rest, tuple(self._scored)))
        self._done("stop" if self._text.stopped else reason)
        return True

    def _done(self, reason: str) -> None:
        prompt = len(self._request.prompt)
        self.deliver(Done(reason, prompt, len(self._said), self._reused, self._cycles))


def _sampler(request: Request) -> Sampler:
    """What chooses the tokens of an answer: of all of the vocabulary, where no number is asked for."""
    if request.temperature == 0:
        return Sampler()
    return Sampler(
        request.candidates or sys.maxsize, request.temperature, request.seed, request.share
    )
