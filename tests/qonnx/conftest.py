"""These tests need the extra ``qonnx``."""

from __future__ import annotations

from importlib.util import find_spec

# The suite as a whole runs without it; this folder then has no tests.
collect_ignore_glob = [] if find_spec("qonnx") else ["test_*.py"]
