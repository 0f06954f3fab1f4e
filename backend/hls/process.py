"""Running external programs: argument lists, a time limit, the last lines on failure."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Timer

from allo.dialects.diagnostics import ToolFailedError

_TAIL = 20


def run_tool(
    command: Sequence[str],
    folder: Path,
    *,
    what: str,
    timeout_s: float,
    progress: Callable[[str], None] | None = None,
    log: Path | None = None,
) -> str:
    """Run a program to its end and return what it printed.

    Args:
        what: the step in words, for the error message (``"C synthesis"``).
        timeout_s: seconds after which the program and its children are ended.
        progress: called with each line as it is printed.
        log: file that receives the output.

    Raises:
        ToolFailedError: it ended with a status other than 0, or ran past its limit;
            its last lines are in the notes.
    """
    lines: list[str] = []
    try:
        status = _follow(command, folder, timeout_s, progress, lines)
    finally:
        text = "\n".join(lines)
        if log:
            log.write_text(text + "\n")
    name = Path(command[0]).name
    tail = tuple(lines[-_TAIL:])
    if status is None:
        raise ToolFailedError(
            f"{what} by {name} ran past its time limit of {timeout_s:g} s.",
            help="raise the limit with configs={'timeout': seconds}.",
            notes=tail,
        )
    if status != 0:
        where = f" The whole log is {log}." if log else ""
        raise ToolFailedError(f"{what} by {name} failed with status {status}.{where}", notes=tail)
    return text


def _follow(
    command: Sequence[str],
    folder: Path,
    timeout_s: float,
    progress: Callable[[str], None] | None,
    lines: list[str],
) -> int | None:
    """Add what a program prints to ``lines``; its status, or None where it ran past its limit."""
    process = subprocess.Popen(
        list(command),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    expired = False

    def expire() -> None:
        nonlocal expired
        expired = True
        _end(process)

    timer = Timer(timeout_s, expire)
    timer.start()
    try:
        for line in process.stdout or ():
            lines.append(line.rstrip("\n"))
            if progress:
                progress(lines[-1])
        status = process.wait()
    except BaseException:
        _end(process)
        raise
    finally:
        timer.cancel()
        if process.stdout:
            process.stdout.close()
    return None if expired else status


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
