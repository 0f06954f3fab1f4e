"""Importing modules of a package without what the package itself does when imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def bare_package(name: str) -> Iterator[None]:
    """Within this context a package that is not imported yet is one without content of its own.

    What is imported from it stays; the package itself is imported as ever later on.
    """
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None:
        yield
        return
    package = ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[name] = package
    try:
        yield
    finally:
        del sys.modules[name]
