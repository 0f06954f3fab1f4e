"""Engines for the tests: one whose logits follow from all tokens before, so that a mistaken cache shows."""

from __future__ import annotations

import queue
import time
import zlib
from collections.abc import Sequence

import numpy as np

from allo.designs.llm.language.speaker import FOLDER
from allo.designs.llm.language.tokenizer import Tokenizer, load_tokenizer
from allo.designs.llm.server.engine import Result, Work
from allo.designs.llm.server.request import Done, Event, Failed, Piece, Request
from allo.designs.llm.server.scheduler import Scheduler


def speaker_tokenizer() -> Tokenizer:
    """Bytes in pairs, of 1,536 tokens."""
    return load_tokenizer(FOLDER / "tokenizer.json")


class Remembering:
    """Logits are random numbers whose seed is every token that the sequence has taken in."""

    def __init__(self, vocab: int, context: int = 64, pause_s: float = 0.0, chunk: int = 1) -> None:
        self.context = context
        self.chunk = chunk
        self.vocab = vocab
        self.pause_s = pause_s
        self.steps = 0
        self.most_at_once = 0
        self.broken = False

    def open(self) -> list[int]:
        return []

    def copy(self, cache: list[int]) -> list[int]:
        return list(cache)

    def step(self, work: Sequence[Work]) -> list[Result]:
        time.sleep(self.pause_s)
        if self.broken:
            raise OSError("the board is gone")
        self.most_at_once = max(self.most_at_once, len(work))
        self.steps += len(work)
        assert len({id(each.cache) for each in work}) == len(work)
        return [Result(self._logits(each), 10) for each in work]

    def _logits(self, work: Work) -> np.ndarray:
        del work.cache[work.position :]
        assert len(work.cache) == work.position, "keys and values before a position are missing"
        assert len(work.more) < self.chunk
        work.cache.extend((work.token, *work.more))
        seed = zlib.crc32(np.array(work.cache, np.int64).tobytes())
        return 3 * np.random.default_rng(seed).standard_normal(self.vocab, np.float32)


class Collected:
    """What a scheduler delivers of one request."""

    def __init__(self) -> None:
        self.events: queue.Queue[Event] = queue.Queue()
        self.text = ""
        self.scored = []
        self.done: Done | None = None

    def __call__(self, event: Event) -> None:
        self.events.put(event)

    def wait(self) -> Collected:
        """Until the answer has ended."""
        while self.done is None:
            event = self.events.get(timeout=60)
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Piece):
                self.text += event.text
                self.scored += event.tokens
            else:
                self.done = event
        return self


def answers(scheduler: Scheduler, requests: Sequence[Request]) -> list[Collected]:
    """Ask for all at once, and wait for them."""
    found = [Collected() for _ in requests]
    for request, collected in zip(requests, found, strict=True):
        scheduler.submit(request, collected)
    return [collected.wait() for collected in found]
