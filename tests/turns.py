"""Which of the dear tests run at this change: they take turns from commit to commit.

``tests/costs.toml`` holds the CPU seconds of the functions that take the most. With ``--turn auto``, as
``scripts/test`` runs, a seventh of their cases runs, chosen by the commit, so that every case runs at one
change in seven; a plain ``pytest`` runs them all, and ``scripts/test-nightly`` those that the commit leaves
out. A function that is not in the file always runs, and so does one that ``tests/selection.toml`` lists as
such. ``scripts/test --turn all --record-costs`` measures the file anew.
"""

from __future__ import annotations

import subprocess
import tomllib
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

from .selection import CPU_SECONDS, REFERENCE_S, Selection, calibration_s

FILE = Path(__file__).with_name("costs.toml")
TURNS = 7
DEAR_S = 0.4
"""CPU seconds of all cases of a function, on the machine of ``REFERENCE_S``, from which it takes turns."""


def costs(file: Path = FILE) -> dict[str, float]:
    """CPU seconds by function, as they were measured last."""
    return dict(tomllib.loads(file.read_text())["seconds"])


def write_costs(measured: Mapping[str, float], file: Path = FILE) -> None:
    """Put what a run has measured in the place of what the file says of the same functions."""
    dear = {name: seconds for name, seconds in measured.items() if seconds >= DEAR_S}
    kept = {name: s for name, s in costs(file).items() if name not in measured}
    lines = [f'"{name}" = {seconds:.1f}' for name, seconds in sorted({**kept, **dear}.items())]
    heading = "# Written by scripts/test --turn all --record-costs (tests/turns.py)."
    file.write_text("\n".join([heading, "[seconds]", *lines, ""]))


def waiting(names: Sequence[str], turn: int, dear: Collection[str]) -> set[str]:
    """Those of the node ids, given in their order, whose turn it is not.

    The tests of a file that have no cases have one turn, for they may share what is set up for them.
    """
    seen: Counter[str] = Counter()
    found = set()
    for name in names:
        function = name.partition("[")[0]
        if function not in dear:
            continue
        number = zlib.crc32(function.partition("::")[0].encode()) + seen[function]
        seen[function] += 1
        if number % TURNS != turn:
            found.add(name)
    return found


def turn_of_commit() -> int:
    """The turn of the commit that is checked out; the first outside a repository."""
    command = ["git", "-C", str(FILE.parent), "rev-parse", "HEAD"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    return int(said.stdout.strip() or "0", 16) % TURNS


def chosen_turn(said: str) -> int | None:
    """The turn that ``--turn`` asks for; all of them are None."""
    if said == "all":
        return None
    if said == "auto":
        return turn_of_commit()
    if said.isdigit() and int(said) < TURNS:
        return int(said)
    raise pytest.UsageError(
        f"--turn takes auto, all, or a number below {TURNS}; {said!r} is none of them."
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--turn`` and ``--record-costs``."""
    group = parser.getgroup("turns")
    group.addoption("--turn", default="all", help="which dear tests run: auto, all or a number")
    group.addoption("--record-costs", action="store_true", help="write tests/costs.toml anew")


def pytest_configure(config: pytest.Config) -> None:
    """Record where the reports arrive."""
    if config.getoption("record_costs") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(), "record-costs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the night what waits for another turn."""
    turn = chosen_turn(config.getoption("turn"))
    if turn is None:
        return
    always = Selection.read().always
    dear = costs().keys() - always
    left = waiting([item.nodeid for item in items], turn, dear)
    for item in items:
        if item.nodeid in left:
            item.add_marker("nightly")


class Recorder:
    """The CPU seconds of each function in a run."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test to its function."""
        if report.when == "teardown":
            seconds = float(dict(report.user_properties).get(CPU_SECONDS, 0))
            self.spent[report.nodeid.partition("[")[0]] += seconds

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        speed = calibration_s() / REFERENCE_S
        write_costs({name: seconds / speed for name, seconds in self.spent.items()})
