"""The one place of the fuzzer that reads a clock: limits of time, and figures of speed."""

from __future__ import annotations

import os
import time
from pathlib import Path


def now() -> float:
    """Seconds on a clock that only goes forward."""
    return time.monotonic()


def cpu_seconds(process: int) -> float:
    """Seconds that a process and its ended children have computed; 0 where the system does not say.

    A machine that others use as well does not make a program slow by this clock.
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def queued_seconds(process: int) -> float:
    """Seconds that a process was ready and had no processor; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/schedstat").read_text().split()
    except OSError:
        return 0.0
    return int(fields[1]) / 1e9
