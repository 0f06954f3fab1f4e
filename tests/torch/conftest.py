"""These tests need the extra ``torch``: ``scripts/test torch`` installs it and runs them."""

from __future__ import annotations

from importlib.util import find_spec

# The suite as a whole runs without PyTorch; this folder then has no tests.
collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
