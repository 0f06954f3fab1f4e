"""The tree of the repository, parsed once a session."""

from __future__ import annotations

import pytest

from tests.house.tree import Tree


@pytest.fixture(scope="session")
def tree() -> Tree:
    """Every Python file of the repository; a file is read and parsed when a test first asks."""
    return Tree()
