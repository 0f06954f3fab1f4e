"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# The same examples on every run and machine; a test bounds its own number of them.
settings.register_profile("allo", deadline=None, derandomize=True, database=None)
settings.load_profile("allo")

pytest_plugins = ["pytester", "tests.plant"]
