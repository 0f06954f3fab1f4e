"""A process of our own for work that may abort or cannot be interrupted.

A :class:`Worker` starts a Python process when first asked and keeps it. What the
process dies of, an assertion of a C++ library for one, is an exception here; Ctrl-C and time limits end
it, and the next request starts another. After ``os.fork`` the child starts one of its own.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from ..diagnostics import BuildError, ToolFailedError
from .worker_protocol import HEADER, pack

_TAIL = 12
_PIECE = 1 << 20
_FRAME = re.compile(r"\s*#?\d+[.:]?\s|Stack dump|PLEASE submit|\s*$")
_WIDTH = 300
_BOOT = (
    "import sys; sys.path[:] = {path!r}; from {server} import serve; serve({preload!r}, {bare!r})"
)


class Worker:
    """Runs functions of Allo's in another process, one request at a time, from any thread.

    Args:
        what: what is at work there, for messages: ``"CIRCT"``.
        preload: modules to import before the first request.
        bare: packages whose own imports the process needs nothing of (:mod:`.bare`).
    """

    def __init__(self, what: str, preload: Sequence[str], bare: Sequence[str] = ()) -> None:
        self._what = what
        self._preload = tuple(preload)
        self._bare = tuple(bare)
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        os.register_at_fork(after_in_child=self._forget)

    def start(self) -> None:
        """Start the process ahead of a request, unless it runs or is being asked."""
        if self._turn.acquire(blocking=False):
            try:
                self._running()
            finally:
                self._turn.release()

    def call(self, function: str, *arguments: Any, timeout: float | None = None) -> Any:
        """What ``function`` (``"module:name"``) returns; arguments and result are pickled.

        Args:
            timeout: seconds it may take.

        Raises:
            AlloError: as the function raises.
            BuildError: the process died; the last lines it printed are in the notes.
            ToolFailedError: it did not answer in time.
        """
        request = pack((function, arguments))
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._turn:
            try:
                answer = self._exchange(request, deadline)
            except BaseException:
                self._end()
                raise
        if isinstance(answer, BaseException):
            raise answer
        return answer[0]

    def close(self) -> None:
        """End the process, if there is one."""
        with self._turn:
            self._end()

    # --- the process ----------------------------------------------------------------

    def _running(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is not None and process.poll() is None:
            return process
        self._end()
        try:
            return self._started()
        except OSError as error:
            raise BuildError(
                f"{self._what} cannot be started in a process of its own: {error.strerror or error}.",
                help="free memory, processes or space in the temporary folder ($TMPDIR).",
            ) from error

    def _started(self) -> subprocess.Popen[bytes]:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        server = f"{__package__}.worker_protocol"
        boot = _BOOT.format(path=sys.path, server=server, preload=self._preload, bare=self._bare)
        self._process = subprocess.Popen(
            [sys.executable, "-c", boot],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            bufsize=0,
            start_new_session=True,  # Ctrl-C of the terminal is for this process, not for that
            env={**os.environ, "LLVM_DISABLE_SYMBOLIZATION": "1"},
        )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
            _close(process)
        if self._said is not None:
            self._said.close()
            self._said = None

    def _forget(self) -> None:
        """In the child of a fork: the process belongs to the parent."""
        self._turn = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0  # not ours to wait for
            _close(process)
        if self._said is not None:
            self._said.close()
            self._said = None

    # --- a request ------------------------------------------------------------------

    def _exchange(self, request: bytes, deadline: float | None) -> Any:
        process = self._running()
        try:
            _send(process, request)
        except BrokenPipeError:  # it had died between two requests
            self._end()
            process = self._running()
            with contextlib.suppress(BrokenPipeError):
                _send(process, request)
        size = self._receive(process, HEADER.size, deadline)
        return pickle.loads(self._receive(process, HEADER.unpack(size)[0], deadline))

    def _receive(
        self, process: subprocess.Popen[bytes], size: int, deadline: float | None
    ) -> bytes:
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        poller = select.poll()
        poller.register(pipe, select.POLLIN)
        pieces = bytearray()
        while len(pieces) < size:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not poller.poll(None if left is None else left * 1000):
                raise ToolFailedError(
                    f"{self._what} did not end within its time limit.",
                    help="allow more with timeout=, or make the design smaller.",
                )
            piece = os.read(pipe, min(_PIECE, size - len(pieces)))
            if not piece:
                raise self._died(process)
            pieces += piece
        return bytes(pieces)

    def _died(self, process: subprocess.Popen[bytes]) -> BuildError:
        status = process.wait()
        said = ""
        if self._said is not None:
            self._said.seek(0)
            said = self._said.read().decode(errors="replace")
        how = f"ended with status {status}"
        if status < 0:
            how = f"was ended by signal {_signal_name(-status)}"
        return BuildError(
            f"{self._what} {how} while it worked on the design.",
            help="this is a fault of Allo or of the library, not of your program; please report it.",
            notes=tuple(_telling(said)),
        )


def _telling(said: str) -> list[str]:
    """What a program said before it died, less the frames of its stack."""
    lines = [line for line in said.strip().splitlines() if not _FRAME.match(line)]
    return [line[:_WIDTH] for line in lines[-_TAIL:]]


def _send(process: subprocess.Popen[bytes], request: bytes) -> None:
    assert process.stdin is not None
    rest = memoryview(request)
    while rest:
        rest = rest[os.write(process.stdin.fileno(), rest) :]


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
