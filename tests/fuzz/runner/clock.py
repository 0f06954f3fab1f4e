"""The one place of the fuzzer that reads a clock: limits of time, and figures of speed."""

from __future__ import annotations

import time


def now() -> float:
    """Seconds on a clock that only goes forward."""
    return time.monotonic()
