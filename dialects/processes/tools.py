"""Running external programs: argument lists, a time limit, the last lines on failure."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from typing import IO, Any

from ..diagnostics import ToolFailedError

_TAIL = 20
_KEPT_LINES = 100_000
_AT_ONCE = 2
_NO_ROOM = ("No space left on device", "Disk quota exceeded")


def run_tool(
    command: Sequence[str],
    folder: Path | None,
    *,
    what: str,
    timeout_s: float,
    option: str = "configs={'timeout': seconds}",
    progress: Callable[[str], None] | None = None,
    log: Path | None = None,
    env: Mapping[str, str] | None = None,
    text: str = "",
    apart: bool = False,
    started: Callable[[subprocess.Popen[str]], None] | None = None,
) -> str:
    """Run a program to its end and return what it printed, its last 100,000 lines.

    Args:
        folder: where it runs; None for the current folder.
        what: the step in words, for the error message (``"C synthesis"``).
        timeout_s: seconds after which the program and its children are ended.
        option: how a user raises the limit.
        progress: called with each line as it is printed.
        log: file that receives the output.
        env: environment variables, beside those there are.
        text: what it reads from its standard input.
        apart: give standard output alone; errors are then shown only when it fails.
        started: called with the process.

    Raises:
        ToolFailedError: it cannot be run, ended with a status other than 0 or by a signal, or ran past
            its limit; its last lines are in the notes.
    """
    name = Path(command[0]).name
    lines: deque[str] = deque(maxlen=_KEPT_LINES)
    try:
        with contextlib.ExitStack() as stack:
            kept = stack.enter_context(tempfile.TemporaryFile()) if apart else None
            process = _start(command, folder, env, text, kept)
            stack.enter_context(_ended_with_us(process))
            if started:
                started(process)
            status = _follow(process, timeout_s, progress, lines, text)
            errors = _lines_of(kept) if kept else []
    except OSError as error:
        raise ToolFailedError(
            f"{what}: {name} cannot be run: {error.strerror or error}.",
            help=f"see whether {command[0]} is a program of this machine.",
        ) from error
    finally:
        if log:
            _write_log(log, lines)
    if status == 0:
        return "\n".join(lines)
    raise _failure(what, name, status, timeout_s, option, [*lines, *errors][-_TAIL:], log)


class Programs:
    """Runs programs two at a time, each by ``run``, in the order in which they are started.

    Used in a ``with`` statement. Where that is left by an exception, say because one of the programs
    failed or Ctrl-C ended the waiting for it, the others are ended, too.

    Args:
        run: runs one program, as :func:`run_tool` does.
        settings: what ``run`` is given with each of them.
    """

    def __init__(self, run: Callable[..., str] = run_tool, **settings: Any) -> None:
        self._run = run
        self._settings = settings
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self._processes: list[subprocess.Popen[str]] = []
        self._over = False

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if failed is not None:
            self._over = True
            for process in list(self._processes):
                if process.poll() is None:
                    _end(process)
        self._pool.shutdown(cancel_futures=failed is not None)

    def start(self, command: Sequence[str], **settings: Any) -> Future[str]:
        """Run a program when the turn comes to it; its result is what the program printed."""
        given = {**self._settings, **settings}
        return self._pool.submit(self._run, command, started=self._started, **given)

    def _started(self, process: subprocess.Popen[str]) -> None:
        self._processes.append(process)
        if self._over:
            _end(process)


def _failure(
    what: str,
    name: str,
    status: int | None,
    timeout_s: float,
    option: str,
    tail: Sequence[str],
    log: Path | None,
) -> ToolFailedError:
    if status is None:
        return ToolFailedError(
            f"{what} by {name} ran past its time limit of {timeout_s:g} s.",
            help=f"raise the limit with {option}.",
            notes=tuple(tail),
        )
    where = f" The whole log is {log}." if log else ""
    how = f"failed with status {status}" if status > 0 else f"was ended by {_signal(-status)}"
    advice = None
    if any(words in line for line in tail for words in _NO_ROOM):
        advice = "free some space there, or name other folders in ALLO_CACHE_DIR and TMPDIR."
    elif status < 0:
        advice = "the machine may have too little memory, or the program a fault: try it again."
    return ToolFailedError(f"{what} by {name} {how}.{where}", help=advice, notes=tuple(tail))


def _signal(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


def _lines_of(file: IO[bytes]) -> list[str]:
    file.seek(0)
    return file.read().decode(errors="replace").splitlines()


def _write_log(log: Path, lines: Sequence[str]) -> None:
    """Keep the output; where it cannot be written, the run's own outcome is what counts."""
    with contextlib.suppress(OSError):
        log.write_text("\n".join(lines) + "\n", errors="replace")


def _start(
    command: Sequence[str],
    folder: Path | None,
    env: Mapping[str, str] | None,
    text: str,
    errors: IO[bytes] | None,
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(command),
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdin=subprocess.PIPE if text else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors or subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


@contextlib.contextmanager
def _ended_with_us(process: subprocess.Popen[str]) -> Iterator[None]:
    """End a program and its children when this process is ended in a way that it cannot catch.

    A shell waits at the end of a pipe that only this process holds, and kills the group when it closes.
    """
    watch = ["sh", "-c", 'read _; kill -s KILL -- "-$1"', "sh", str(process.pid)]
    quiet = subprocess.DEVNULL
    try:
        keeper = subprocess.Popen(
            watch, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True
        )
    except OSError:  # no process is left for it: the program itself still runs
        yield
        return
    with keeper:
        try:
            yield
        finally:
            keeper.kill()


def _follow(
    process: subprocess.Popen[str],
    timeout_s: float,
    progress: Callable[[str], None] | None,
    lines: deque[str],
    text: str,
) -> int | None:
    """Add what a program prints to ``lines``; its status, or None where it ran past its limit."""
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = True
        _end(process)

    timer = Timer(timeout_s, expire)
    timer.daemon = True
    timer.start()
    try:
        _feed(process, text)
        for line in process.stdout or ():
            lines.append(line.rstrip("\n"))
            if progress:
                progress(lines[-1])
        status = process.wait()
    except BaseException:
        _end(process)
        process.wait()
        raise
    finally:
        timer.cancel()
        if process.stdout:
            process.stdout.close()
    return None if expired else status


def _feed(process: subprocess.Popen[str], text: str) -> None:
    """Give a short text to a program that may already have ended."""
    if process.stdin:
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(text)


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
