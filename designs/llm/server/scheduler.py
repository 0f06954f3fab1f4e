"""Which sequences step next: all that are under way, and as many of those that wait as there is room for.

A sequence begins as soon as another one ends, between two steps, and not behind the longest one of a batch
(iteration-level scheduling: Yu et al., "Orca", OSDI 2022, section 3.1).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..language.tokenizer import Tokenizer
from .answer import Answer
from .engine import Engine
from .errors import BusyError, ContextLengthError, EngineError, RequestError
from .kept import KeptCaches
from .request import Done, Event, Failed, Request

Deliver = Callable[[Event], None]


@dataclass(slots=True)
class Ticket:
    """A request that a scheduler has taken."""

    request: Request
    count: int
    deliver: Deliver
    cancelled: bool = False

    def cancel(self) -> None:
        """Nobody waits for the answer any more; its place is free behind the step that is under way."""
        self.cancelled = True


class Scheduler:
    """Runs an engine in a thread of its own until it is closed.

    Args:
        ends: tokens that end an answer.
        slots: sequences under way at once.
        waiting: requests that wait for a place, beyond which new ones are refused.
        kept: caches of finished sequences that are kept.
    """

    def __init__(
        self,
        engine: Engine,
        tokenizer: Tokenizer,
        ends: Sequence[int] = (),
        slots: int = 8,
        waiting: int = 256,
        kept: int = 8,
    ) -> None:
        for name, value in (("slots", slots), ("waiting", waiting)):
            if value < 1:
                raise RequestError(
                    f"A server with {value} {name} answers nothing.", help="take 1 or more."
                )
        self._engine = engine
        self._tokenizer = tokenizer
        self._ends = tuple(ends)
        self._slots = slots
        self._most_waiting = waiting
        self._kept = KeptCaches(engine, kept)
        self._waiting: deque[Ticket] = deque()
        self._active: list[tuple[Ticket, Answer]] = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="allo-llm-scheduler", daemon=True)
        self._thread.start()

    @property
    def load(self) -> tuple[int, int]:
        """Sequences under way, and requests that wait."""
        with self._changed:
            return len(self._active), len(self._waiting)

    def submit(self, request: Request, deliver: Deliver) -> Ticket:
        """Take a request, whose answer goes to ``deliver``, called in the scheduler's thread.

        Raises:
            RequestError: the prompt has no token.
            ContextLengthError: prompt and answer do not fit the context.
            BusyError: as many requests wait as the server keeps.
        """
        ticket = Ticket(request, self._count(request), deliver)
        with self._changed:
            if self._closed:
                raise BusyError("The server is being stopped.", help="ask again later.")
            if len(self._waiting) >= self._most_waiting:
                raise BusyError(
                    f"{len(self._waiting)} requests wait for an answer already.",
                    help="ask again later, or start the server with more places.",
                )
            self._waiting.append(ticket)
            self._changed.notify()
        return ticket

    def close(self) -> None:
        """Stop; requests that are under way or wait end as cancelled."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _count(self, request: Request) -> int:
        """Tokens of the answer at most."""
        length, context = len(request.prompt), self._engine.context
        if length == 0:
            raise RequestError(
                "The prompt has no token.",
                parameter="prompt",
                help="give a text that says something.",
            )
        room = context + 1 - length
        if room < 1 or (request.count or 0) > room:
            asked = f" and {request.count} of the answer" if request.count else ""
            raise ContextLengthError(
                f"The prompt has {length} tokens; with these{asked} a sequence does not fit the context "
                f"of {context}.",
                parameter="prompt" if room < 1 else "max_tokens",
                help="shorten the prompt, or ask for fewer tokens.",
            )
        return request.count or room

    def _run(self) -> None:
        while self._admit():
            self._drop()
            if not self._active:
                continue
            try:
                results = self._engine.step(
                    [answer.work(self._engine.chunk) for _, answer in self._active]
                )
            except (
                Exception
            ) as error:  # whatever an engine raises ends the answers, and not the server
                self._fail(error)
                continue
            going = []
            for (ticket, answer), result in zip(self._active, results, strict=True):
                if answer.take(result):
                    self._kept.keep(answer.taken, answer.cache)
                else:
                    going.append((ticket, answer))
            with self._changed:
                self._active = going
        for _, answer in self._active:
            answer.cancel()

    def _admit(self) -> bool:
        """Give free places to those that wait; wait where there is nothing to do. False when closed."""
        with self._changed:
            while not (self._active or self._waiting or self._closed):
                self._changed.wait()
            free = self._slots - len(self._active)
            count = 0 if self._closed else min(free, len(self._waiting))
            admitted = [self._waiting.popleft() for _ in range(count)]
            left = list(self._waiting) if self._closed else []
        for ticket in left:
            ticket.deliver(Done("cancelled", len(ticket.request.prompt), 0, 0, None))
        begun = [(ticket, self._begin(ticket)) for ticket in admitted]
        with self._changed:
            self._active += begun
            return not self._closed

    def _begin(self, ticket: Ticket) -> Answer:
        cache, reused = self._kept.open(ticket.request.prompt)
        return Answer(
            ticket.request, ticket.count, self._tokenizer, self._ends, ticket.deliver, cache, reused
        )

    def _drop(self) -> None:
        """End the answers that nobody waits for."""
        gone = [answer for ticket, answer in self._active if ticket.cancelled]
        for answer in gone:
            answer.cancel()
            self._kept.keep(answer.taken, answer.cache)
        with self._changed:
            self._active = [each for each in self._active if not each[0].cancelled]

    def _fail(self, error: Exception) -> None:
        said = EngineError(f"The engine failed in the middle of an answer ({error}).")
        said.__cause__ = error
        for ticket, _ in self._active:
            ticket.deliver(Failed(said))
        with self._changed:
            self._active = []
