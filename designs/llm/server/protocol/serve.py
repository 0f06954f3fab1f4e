"""Runs the application on the loopback address, in front or in a thread."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

from allo.errors import AlloError

from ..scheduler import Scheduler
from ..served import Served
from .app import make_app
from .libraries import library

ADDRESS = "127.0.0.1"
_PATIENCE_S = 5
"""Seconds that answers under way have when the server is stopped."""


class AddressError(AlloError, OSError):
    """A port that the server cannot listen at."""


def listen(port: int) -> socket.socket:
    """A socket at the loopback address; port 0 is any that is free.

    Raises:
        AddressError: another program has the port, or it is none.
    """
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((ADDRESS, port))
        found.listen()
    except (OSError, OverflowError) as error:
        found.close()
        raise AddressError(
            f"The server cannot listen at port {port} of {ADDRESS} ({error}).",
            help="take another port, or 0 for any that is free.",
        ) from error
    return found


def address(listening: socket.socket) -> str:
    """The base address of the protocol, as clients take it."""
    return f"http://{ADDRESS}:{listening.getsockname()[1]}/v1"


def run(served: Served, scheduler: Scheduler, listening: socket.socket) -> None:
    """Answer until the process is interrupted; the scheduler is closed then."""
    try:
        _server(served, scheduler).run(sockets=[listening])
    finally:
        scheduler.close()
        listening.close()


@contextlib.contextmanager
def running(served: Served, scheduler: Scheduler) -> Iterator[str]:
    """A server in a thread, at a free port; its base address.

    The scheduler is closed at the end.
    """
    listening = listen(0)
    server = _server(served, scheduler)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield address(listening)
    finally:
        server.should_exit = True
        scheduler.close()
        thread.join()
        listening.close()


def _server(served: Served, scheduler: Scheduler) -> Any:
    uvicorn = library("uvicorn")
    config = uvicorn.Config(
        make_app(served, scheduler),
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=_PATIENCE_S,
    )
    return uvicorn.Server(config)
