"""Which tests run at every change and which at night, and what the tests of a folder may cost.

``tests/selection.toml`` holds both. A test that it moves to the night carries the mark ``nightly``,
which a plain run leaves out, and ``scripts/test-nightly`` runs. Of a function with many cases, every
``keep``-th case stays in the plain run.

A whole run ends with a table of the CPU seconds of each folder, child processes included, which names the
folders over their budget. It fails no run: no test asserts on time. The budgets are in seconds of the
machine they were measured on, and the table is scaled by the speed of this one.
"""

from __future__ import annotations

import ast
import os
import resource
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).with_suffix(".toml")
REFERENCE_S = 0.2
"""CPU seconds of :func:`calibration_s` on the machine whose seconds the budgets are."""
CPU_SECONDS = "cpu_seconds"
"""The property of a report that holds what a test took."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Moved:
    """Functions whose cases run at night, but every ``keep``-th; 0 keeps none."""

    why: str
    tests: tuple[str, ...]
    keep: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """What ``tests/selection.toml`` says."""

    budgets: Mapping[str, float] = field(default_factory=dict)
    moved: Sequence[Moved] = ()
    always: frozenset[str] = frozenset()
    """Dear functions that take no turns (tests/turns.py)."""

    @classmethod
    def read(cls, file: Path = FILE) -> Selection:
        """Read the file."""
        content = tomllib.loads(file.read_text())
        moved = [Moved(m["why"], tuple(m["tests"]), m.get("keep", 0)) for m in content["nightly"]]
        return cls(content["budgets"], moved, frozenset(content.get("turns", {}).get("always", ())))

    def at_night(self, names: Sequence[str]) -> set[str]:
        """Those of the node ids, given in their order, that run at night."""
        keeps = {test: moved.keep for moved in self.moved for test in moved.tests}
        seen: Counter[str] = Counter()
        found = set()
        for name in names:
            function = name.partition("[")[0]
            if function not in keeps:
                continue
            keep, number = keeps[function], seen[function]
            seen[function] += 1
            if keep == 0 or number % keep:
                found.add(name)
        return found

    def over(self, spent: Mapping[str, float]) -> list[str]:
        """The folders that took more than their budget, or have none."""
        return [
            f"tests/{folder} took {seconds:.0f} s of {self.budgets.get(folder, 0):.0f} s"
            for folder, seconds in sorted(spent.items())
            if seconds > self.budgets.get(folder, 0)
        ]


def pytest_configure(config: pytest.Config) -> None:
    """Count in the workers, and sum up where the reports arrive."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    config.pluginmanager.register(Costs(whole and not config.option.keyword), "costs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs at night, before pytest leaves marks out."""
    night = Selection.read().at_night([item.nodeid for item in items])
    for item in items:
        if item.nodeid in night:
            item.add_marker("nightly")


class Costs:
    """The CPU seconds of each test, and their sums."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.tests: Counter[str] = Counter()
        self._before = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        """Note what the process had used before a test."""
        self._before = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        """Tell with a test's last report what it used."""
        if call.when == "teardown":
            item.user_properties.append((CPU_SECONDS, round(cpu_seconds() - self._before, 4)))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test to its folder."""
        if report.when == "teardown":
            folder = folder_of(report.nodeid)
            self.spent[folder] += float(dict(report.user_properties).get(CPU_SECONDS, 0))
            self.tests[folder] += 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the table of a whole run."""
        if not self.whole or not self.tests:
            return
        selection, speed = Selection.read(), calibration_s() / REFERENCE_S
        terminalreporter.section("CPU seconds a folder")
        terminalreporter.line(f"{'folder':<14}{'tests':>7}{'seconds':>9}{'budget':>8}")
        for folder, seconds in sorted(self.spent.items(), key=lambda each: -each[1]):
            budget = selection.budgets.get(folder, 0)
            row = f"{folder:<14}{self.tests[folder]:>7}{seconds / speed:>9.1f}{budget:>8.0f}"
            terminalreporter.line(row)
        total = sum(self.spent.values())
        terminalreporter.line(
            f"{total:.0f} s here, on a machine that takes {speed:.2f} times as long as that of the budgets"
        )
        scaled = {folder: seconds / speed for folder, seconds in self.spent.items()}
        for line in selection.over(scaled):
            terminalreporter.line(f"OVER BUDGET: {line} (tests/selection.toml)", red=True)


def folder_of(name: str) -> str:
    """The folder of tests that a node id is in."""
    return name.split("/")[1] if name.startswith("tests/") else name.split("/")[0]


def cpu_seconds() -> float:
    """What this process and its children have used, those that still run included."""
    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        spent += used.ru_utime + used.ru_stime
    return spent + sum(map(_used_by, _children()))


def _children() -> Iterable[str]:
    try:
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    except OSError:
        return ()


def _used_by(process: str) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def calibration_s() -> float:
    """CPU seconds of a fixed piece of work in Python, the best of five."""
    text = "\n".join(f"def f{n}(a, b):\n    return a[{n}] + b * {n}\n" for n in range(5000))

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        sum(1 for _ in ast.walk(ast.parse(text)))
        return resource.getrusage(resource.RUSAGE_SELF).ru_utime - before

    return min(once() for _ in range(5))
