"""The fixture ``figures``: a measured figure is no worse than the recorded one (``scripts/figures``).

    def test_it(figures):
        figures.hold("rtl.fir.cycles", hardware.cycles, report=hardware.report.cycles)

A worse figure fails. A better one passes, and the summary says so. With the variable ``ALLO_FIGURES_OUT``,
which ``scripts/figures --update`` sets, only tests that hold figures run, nothing is compared, and what
they measured is written to the file of that name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.pages.figures.store import AUTHOR, FigureError, Figures, Number, better, family_of

OUT = "ALLO_FIGURES_OUT"
_PROPERTY = "allo figure"


class Held:
    """Holds what one test measures against what is recorded."""

    def __init__(self, recorded: Figures, properties: list[tuple[str, object]]) -> None:
        self._recorded = recorded
        self._properties = properties

    def hold(self, key: str, measured: Number | None, *, report: Number | None = None) -> None:
        """A figure is as the report said, and no worse than recorded.

        Args:
            key: of the figure; its last word says what is measured.
            measured: the figure.
            report: what the compiler's report foretold of the same run, if it is to be exact.

        Raises:
            FigureError: it is worse than recorded, or not recorded.
        """
        assert measured is not None, f"{key} was not measured"
        assert report is None or measured == report, (
            f"{key}: {measured} measured, and the report says {report}"
        )
        self._properties.append((_PROPERTY, [key, measured]))
        if os.environ.get(OUT):
            return
        recorded = self._recorded.find(key)
        if measured != recorded and not better(key, measured, recorded):
            raise FigureError(
                f"The figure {key} is worse: {measured:,} measured, {recorded:,} recorded. "
                f"Where that is meant, {AUTHOR} --only {family_of(key)} records it."
            )

    def recorded(self, key: str) -> Number:
        """A recorded figure, for what is computed from it.

        Raises:
            FigureError: there is none of this key.
        """
        return self._recorded.find(key)


class _Session:
    """What the tests of a run measured, gathered where their reports come in."""

    def __init__(self, recorded: Figures) -> None:
        self.recorded = recorded
        self.measured: dict[str, Number] = {}
        self.contradictions: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" or not report.passed:
            return
        for name, value in report.user_properties:
            if name == _PROPERTY and isinstance(value, (list, tuple)):
                self._add(*value)

    def _add(self, key: str, value: Number) -> None:
        before = self.measured.setdefault(key, value)
        if before != value:
            self.contradictions.append(f"{key} was measured as {before:,} and as {value:,}")

    def better(self) -> dict[str, tuple[Number, Number]]:
        """Figures that are better than recorded: both values."""
        pairs = {key: (value, self.recorded.find(key)) for key, value in self.measured.items()}
        return {key: pair for key, pair in pairs.items() if better(key, *pair)}

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if os.environ.get(OUT):
            return
        found = self.better()
        for key, (measured, recorded) in sorted(found.items()):
            terminalreporter.write_line(
                f"better than recorded: {key}, {measured:,} for {recorded:,}"
            )
        if found:
            families = " ".join(sorted({family_of(key) for key in found}))
            terminalreporter.write_line(f"run {AUTHOR} --only {families}")

    def pytest_sessionfinish(self) -> None:
        target = os.environ.get(OUT)
        if target:
            content = {"figures": self.measured, "contradictions": self.contradictions}
            Path(target).write_text(json.dumps(content))


def pytest_configure(config: pytest.Config) -> None:
    """One place that hears of all reports: not in the workers, which only send them."""
    recorded = Figures()
    config.stash[RECORDED] = recorded
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Session(recorded), "figures-of-a-session")


RECORDED = pytest.StashKey[Figures]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where figures are measured, the other tests do not run."""
    if not os.environ.get(OUT):
        return
    holding = [item for item in items if "figures" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in holding])
    items[:] = holding


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Iterator[Held]:
    """Holds measured figures against recorded ones."""
    yield Held(request.config.stash[RECORDED], request.node.user_properties)
