"""RTL builds in the process of pytest are replayed; a test in which a schedule is wrong fails."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext

import pytest

from .watcher import Watcher

FOLDERS = frozenset(
    {"bounds", "dataflow", "fixed", "float", "index", "memory", "passes", "regions", "rtl"}
)
"""Folders of tests whose builds are judged: of no other one all tests were run so."""
_WATCHER = pytest.StashKey[Watcher]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the watcher of this process."""
    config.stash[_WATCHER] = Watcher()


@pytest.fixture
def watcher(request: pytest.FixtureRequest) -> Watcher:
    """What watches the builds of this process. A test that expects alarms takes them out."""
    return request.config.stash[_WATCHER]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test in which a schedule does something else than its source says."""
    found = item.config.stash[_WATCHER]
    found.alarms.clear()
    with found.watching() if FOLDERS & set(item.path.parts) else nullcontext():
        yield
    if found.alarms:
        pytest.fail("\n".join(found.alarms), pytrace=False)
