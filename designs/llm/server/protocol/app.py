"""The paths of the server: OpenAI's completions, chats and models, over HTTP."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from ..errors import RequestError
from ..request import Done, Event, Failed, Piece, Request
from ..scheduler import Scheduler, Ticket
from ..served import Served
from . import asked
from .asked import Asked
from .fields import read_body
from .libraries import library
from .told import Choice, Form

MOST_BYTES = 4 << 20
"""Of the body of a request."""
_LOOK_S = 0.25
"""Seconds between two looks whether the client of an answer that is not sent in pieces is still there."""
Read = Callable[[Mapping[str, Any], Served], Asked]


def make_app(served: Served, scheduler: Scheduler) -> Any:
    """The application, for any ASGI server.

    Raises:
        ToolMissingError: the package ``starlette`` is not installed.
    """
    http, routing = library("starlette.responses"), library("starlette.routing")
    began = int(time.time())

    def refused(error: RequestError) -> Any:
        return http.JSONResponse(_error(error), status_code=error.status)

    def about() -> dict[str, Any]:
        return {"id": served.name, "object": "model", "created": began, "owned_by": "allo"}

    async def models(_: Any) -> Any:
        return http.JSONResponse({"object": "list", "data": [about()]})

    async def model(request: Any) -> Any:
        try:
            asked.check_model(request.path_params["name"], served)
        except RequestError as error:
            return refused(error)
        return http.JSONResponse(about())

    async def health(_: Any) -> Any:
        active, waiting = scheduler.load
        return http.JSONResponse({"model": served.name, "active": active, "waiting": waiting})

    def answering(read: Read, chat: bool) -> Callable[[Any], Awaitable[Any]]:
        async def answer(request: Any) -> Any:
            try:
                wanted = read(read_body(await _body(request)), served)
                under_way = UnderWay(wanted, scheduler)
            except RequestError as error:
                return refused(error)
            form = _form(served, wanted, chat)
            if wanted.stream:
                pieces = _stream(under_way, form)
                return http.StreamingResponse(pieces, media_type="text/event-stream")
            try:
                choices = await under_way.whole(request)
            except RequestError as error:
                return refused(error)
            return http.JSONResponse(form.whole(choices))

        return answer

    paths = [
        ("/v1/completions", answering(asked.completion, False), "POST"),
        ("/v1/chat/completions", answering(asked.chat, True), "POST"),
        ("/v1/models", models, "GET"),
        ("/v1/models/{name:path}", model, "GET"),
        ("/health", health, "GET"),
    ]
    routes = [routing.Route(path, handler, methods=[method]) for path, handler, method in paths]
    return library("starlette.applications").Starlette(routes=routes)


class UnderWay:
    """The sequences of one request, and what comes of them.

    Raises:
        RequestError: the scheduler refuses one; those before it are cancelled.
    """

    def __init__(self, wanted: Asked, scheduler: Scheduler) -> None:
        self.wanted = wanted
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[tuple[int, Event]] = asyncio.Queue()
        self._tickets: list[Ticket] = []
        try:
            for number, request in enumerate(wanted.requests):
                self._tickets.append(self._submit(scheduler, request, number))
        except RequestError:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Nobody waits any more."""
        for ticket in self._tickets:
            ticket.cancel()

    async def next(self) -> tuple[int, Event]:
        """What comes next, and of which choice."""
        return await self._events.get()

    async def whole(self, request: Any) -> list[Choice]:
        """All choices when they are complete; cancelled when the client goes away.

        Raises:
            EngineError: the engine failed.
        """
        choices = [Choice() for _ in self._tickets]
        watching = asyncio.ensure_future(self._watch(request))
        try:
            while any(choice.done is None for choice in choices):
                number, event = await self.next()
                choices[number].take(event)
        finally:
            watching.cancel()
            self.cancel()
        return choices

    async def _watch(self, request: Any) -> None:
        """Cancel when the client goes away."""
        while not await request.is_disconnected():
            await asyncio.sleep(_LOOK_S)
        self.cancel()

    def _submit(self, scheduler: Scheduler, request: Request, number: int) -> Ticket:
        def deliver(event: Event) -> None:
            """Called in the scheduler's thread; a loop that is closed has nobody who waits."""
            try:
                self._loop.call_soon_threadsafe(self._events.put_nowait, (number, event))
            except RuntimeError:
                self.cancel()

        return scheduler.submit(request, deliver)


async def _stream(under_way: UnderWay, form: Form) -> AsyncIterator[str]:
    """Server-sent events: pieces as they come, and at last the word that ends them.

    A client that goes away ends the generator, which cancels what is under way.
    """
    choices = [Choice() for _ in under_way.wanted.requests]
    try:
        for number in range(len(choices)):
            first = form.first(number)
            if first is not None:
                yield _sent(first)
        while any(choice.done is None for choice in choices):
            number, event = await under_way.next()
            if isinstance(event, Failed):
                yield _sent(_error(event.error))
                return
            before = len(choices[number].text)
            choices[number].take(event)
            if isinstance(event, Piece):
                yield _sent(form.piece(number, event, before))
            if isinstance(event, Done):
                yield _sent(form.last(number, event))
        if under_way.wanted.usage:
            yield _sent(form.used(choices))
        yield "data: [DONE]\n\n"
    finally:
        under_way.cancel()


def _sent(body: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(body, separators=(',', ':'))}\n\n"


def _form(served: Served, wanted: Asked, chat: bool) -> Form:
    identity = ("chatcmpl-" if chat else "cmpl-") + uuid.uuid4().hex
    scored = wanted.requests[0].likeliest is not None
    return Form(chat, identity, served.name, int(time.time()), scored)


async def _body(request: Any) -> bytes:
    """The body of a request, as far as it is not too large.

    Raises:
        RequestError: it is.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise RequestError(
                f"The body of the request has more than {MOST_BYTES:,} bytes.", help="send less."
            )
        parts.append(part)
    return b"".join(parts)


def _error(error: Exception) -> dict[str, Any]:
    """An error in OpenAI's form."""
    server = not isinstance(error, RequestError) or error.status >= 500
    return {
        "error": {
            "message": str(error),
            "type": "server_error" if server else "invalid_request_error",
            "param": getattr(error, "parameter", None),
            "code": getattr(error, "code", None),
        }
    }
