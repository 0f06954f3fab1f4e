"""The other end of a :class:`~.worker.Worker`: the program of its process, and how requests travel.

A message is its length in 8 bytes and a pickle. A request is (function, arguments); an answer is
a tuple of the result, or an exception.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import resource
import signal
import struct
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO, Any

from ..diagnostics import AlloError, BuildError
from .bare import bare_package

HEADER = struct.Struct("<Q")


def pack(message: Any) -> bytes:
    """A message as bytes, its length before it."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(data)) + data


def serve(preload: Sequence[str], bare: Sequence[str]) -> None:
    """Answer the requests on standard input until it ends; what functions print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    with ExitStack() as packages:
        for name in bare:
            packages.enter_context(bare_package(name))
        for name in preload:
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what the imports made stays: collecting it takes 35 ms behind each answer
    while (request := _read(requests)) is not None:
        answers.write(pack(_answer(*request)))
        answers.flush()
        gc.collect()  # whoever asked is at work again; designs are large, and cycles hold them


def _read(requests: IO[bytes]) -> Any:
    head = requests.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    return pickle.loads(requests.read(HEADER.unpack(head)[0]))


def _answer(function: str, arguments: tuple[Any, ...]) -> tuple[Any] | Exception:
    module, name = function.split(":")
    try:
        return (getattr(importlib.import_module(module), name)(*arguments),)
    except AlloError as error:
        return error
    except Exception as error:
        return BuildError(
            f"{name} failed with {type(error).__name__}: {error}",
            help="this is a fault of Allo, not of your program; please report it.",
            notes=tuple(traceback.format_exc().splitlines()[-8:]),
        )
