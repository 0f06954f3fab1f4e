"""What tests may not do."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
CLOCKS = {"perf_counter", "process_time", "monotonic", "time", "perf_counter_ns", "time_ns"}


def clock_reads(text: str) -> list[int]:
    """Lines that read a clock of module ``time``."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if (
            isinstance(node, ast.Attribute)
            and node.attr in CLOCKS
            and isinstance(node.value, ast.Name)
            and node.value.id == "time"
        )
        or (isinstance(node, ast.ImportFrom) and node.module == "time")
    ]


def test_no_test_reads_a_clock() -> None:
    """A machine at work makes such a test fail: speed is measured in benchmarks/."""
    found = [
        f"{file.relative_to(TESTS)}:{line}"
        for file in sorted(TESTS.rglob("*.py"))
        for line in clock_reads(file.read_text())
    ]
    assert not found


def test_a_clock_read_is_found() -> None:
    assert clock_reads("import time\n\nstart = time.perf_counter()\n") == [3]
    assert clock_reads("from time import perf_counter\n") == [1]
    assert clock_reads("import time\ntime.sleep(1)\n") == []
