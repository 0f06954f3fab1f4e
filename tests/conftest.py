"""What all tests share."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

# Every primitive is followed by a check of the module against the rules of docs/internals/core_ir.md.
os.environ["ALLO_VERIFY"] = "1"

# The same examples on every run and machine; a test bounds its own number of them.
settings.register_profile("allo", deadline=None, derandomize=True, database=None)
settings.load_profile("allo")
# Hypothesis draws constants from all modules of the tree that are loaded, so that examples would depend on
# the tests before, and it parses them all for that, 4 s in each worker.
providers.is_local_module_file = lambda _: False

pytest_plugins = [
    "pytester",
    "tests.figures_plugin",
    "tests.plant",
    "tests.replay.plugin",
    "tests.selection",
    "tests.turns",
]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Search for no garbage while tests are collected, and never again in what is there behind it.

    What collecting makes stays to the end. Searches took 10 s of the 17 s of collecting, in each worker.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)
        gc.enable()
