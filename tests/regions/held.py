"""Regions that tests run in hardware, each foretold before it is counted: ``pytest -p tests.regions.held``.

``benchmarks/region_cycles.py --suite FOLDER`` runs suites with it. Each call of a module with processes
becomes a line of the file that ``ALLO_REGIONS_OUT`` names: the test, the cycles foretold and counted (null
where it deadlocks), or why nothing is foretold.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from allo.backend.sim.module import RTLModule
from allo.errors import AlloError, DeadlockError, PredictionError

OUT = "ALLO_REGIONS_OUT"
OF_RUN = ("wave", "simulator", "max_cycles", "stall_seed")
"""Arguments of a call that are the simulation's."""


def is_foretold(module: RTLModule) -> bool:
    """Whether a design has processes, and nothing outside makes it wait."""
    compiled = module.design.compiled
    outside = module.options.memory or module.options.streams or module.design.board
    return compiled is not None and bool(compiled.waits) and not outside


class Held:
    """The calls of one test.

    Args:
        test: its name.
        out: the file that gets a line for each.
    """

    def __init__(self, test: str, out: Path) -> None:
        self._test = test
        self._out = out

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Foretell every call within."""
        original = RTLModule.__call__

        def call(module: RTLModule, *args: Any, **named: Any) -> Any:
            return self._call(original, module, args, named)

        RTLModule.__call__ = call  # type: ignore[method-assign]
        try:
            yield
        finally:
            RTLModule.__call__ = original  # type: ignore[method-assign]

    def _call(
        self,
        original: Callable[..., Any],
        module: RTLModule,
        args: tuple[Any, ...],
        named: dict[str, Any],
    ) -> Any:
        if not is_foretold(module):
            return original(module, *args, **named)
        given = {name: value for name, value in named.items() if name not in OF_RUN}
        told: int | None = None
        try:
            told = module.predict(*args, **given).cycles
        except DeadlockError:
            pass
        except PredictionError as why:
            self._write(module, refused=str(why))
            return original(module, *args, **named)
        except AlloError:  # the call is refused with the same
            return original(module, *args, **named)
        try:
            result = original(module, *args, **named)
        except DeadlockError:
            self._write(module, told=told, counted=None)
            raise
        self._write(module, told=told, counted=module.cycles)
        return result

    def _write(self, module: RTLModule, **found: Any) -> None:
        line = {"test": self._test, "top": module.top_func_name, **found}
        with self._out.open("a") as out:
            out.write(json.dumps(line) + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Foretell what a test runs."""
    with Held(item.nodeid, Path(os.environ[OUT])).watching():
        return (yield)
