"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# Every primitive is followed by a check of the module against the rules of docs/internals/core_ir.md.
os.environ["ALLO_VERIFY"] = "1"

# The same examples on every run and machine; a test bounds its own number of them.
settings.register_profile("allo", deadline=None, derandomize=True, database=None)
settings.load_profile("allo")

pytest_plugins = [
    "pytester",
    "tests.figures_plugin",
    "tests.plant",
    "tests.replay.plugin",
    "tests.selection",
]
