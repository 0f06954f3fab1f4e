"""Programs the tests run apart, in an interpreter that may die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 120


@dataclass(frozen=True)
class Ended:
    """How a program ended: its status (negative: a signal) and what it printed."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.split("\n")[:-1]


PRELUDE = """
import signal
import numpy as np
import allo
from allo.ir.types import *
# A shell that starts a job in the background has it, and so the tests, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def write(folder: Path, body: str) -> Path:
    """A program file: the prelude and ``body``."""
    path = folder / "program.py"
    path.write_text(PRELUDE + textwrap.dedent(body))
    return path


def run(folder: Path, body: str, *arguments: str) -> Ended:
    """Run ``body`` behind the prelude as a program of its own, to its end."""
    done = subprocess.run(
        [sys.executable, str(write(folder, body)), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def interrupt(folder: Path, body: str, *, within: float) -> Ended:
    """Run ``body`` until it prints ``ready``, let it go on for a moment, and press Ctrl-C.

    Raises:
        subprocess.TimeoutExpired: it did not end ``within`` seconds of the signal.
    """
    process = subprocess.Popen(
        [sys.executable, "-u", str(write(folder, body))],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out = process.stdout
        line = out.readline() if out else ""
        if line.strip() != "ready":
            rest, err = process.communicate(timeout=LIMIT_S)
            return Ended(process.returncode, line + rest, err)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=within)
        return Ended(process.returncode, rest, err)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
