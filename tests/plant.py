"""Faults planted in results, to show that tests look at them.

``pytest --plant TARGET`` changes one element of what every second call of a built module of TARGET
(``cpu``, ``csim`` or ``rtl``) hands back. A test that makes such a call and still passes compares
nothing of it, or only a part: it is listed at the end, and the run fails. ``scripts/test-oracles``
runs this for each target.

A test may be about something else than values, such as cycles, messages or files. It then carries
the mark ``@pytest.mark.values_elsewhere``, with the reason as its argument.
"""

from __future__ import annotations

import functools
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

TARGETS = {
    "cpu": ("allo.backend.cpu.module", "LLVMModule"),
    "csim": ("allo.backend.hls.module", "HLSModule"),
    "rtl": ("allo.backend.sim.module", "RTLModule"),
}
_MARK = "values_elsewhere"
_PROPERTY = "planted"


def changed_scalar(value: Any) -> Any:
    """Another value of the same kind, far enough for any tolerance."""
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | np.integer):
        return type(value)(int(value) ^ 1)
    return type(value)(0.0 if np.isnan(value) or np.isinf(value) else value + 1 + abs(value))


def change_element(array: np.ndarray, position: int) -> None:
    """Replace the element at a flat position by another value."""
    index = np.unravel_index(position, array.shape)
    if array.dtype.names or array.dtype.kind not in "biuf":
        raw = bytearray(array[index].tobytes())
        raw[0] ^= 1
        array[index] = np.frombuffer(bytes(raw), array.dtype)[0]
        return
    with np.errstate(all="ignore"):
        array[index] = changed_scalar(array[index])


class Fault:
    """Changes one element of the results of every second call, and counts what it changed."""

    def __init__(self, seed: str) -> None:
        self.calls = 0
        self.changed = 0
        self._random = random.Random(zlib.crc32(seed.encode()))

    def after(self, result: Any, written: list[np.ndarray]) -> Any:
        """The result to hand back; ``written`` are the argument arrays that the call changed."""
        self.calls += 1
        if self.calls % 2 == 0:
            return result
        parts = list(result) if isinstance(result, tuple) else [result]
        places = [k for k, part in enumerate(parts) if part is not None]
        choice = self._random.randrange(len(places) + len(written)) if places or written else -1
        if choice < 0:
            return result
        self.changed += 1
        if choice >= len(places):
            self._change_array(written[choice - len(places)])
            return result
        parts[places[choice]] = self._changed(parts[places[choice]])
        return tuple(parts) if isinstance(result, tuple) else parts[0]

    def _changed(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray) or not value.ndim:
            return changed_scalar(value)
        copy = value.copy()
        self._change_array(copy)
        return copy

    def _change_array(self, array: np.ndarray) -> None:
        change_element(array, self._random.randrange(array.size))


def planting(call: Callable[..., Any], fault: Fault) -> Callable[..., Any]:
    """``call`` of a module class, with the fault behind it."""

    @functools.wraps(call)
    def wrapped(module: Any, *args: Any, **options: Any) -> Any:
        arrays = [a for a in args if isinstance(a, np.ndarray) and a.size and a.dtype != object]
        before = [a.tobytes() for a in arrays]
        result = call(module, *args, **options)
        written = [
            a for a, b in zip(arrays, before, strict=True) if a.flags.writeable and a.tobytes() != b
        ]
        return fault.after(result, written)

    return wrapped


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--plant", choices=sorted(TARGETS), help="change results of this target")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--plant"):
        config.pluginmanager.register(Planter(config.getoption("--plant")), "planter")


class Planter:
    """The pytest hooks of a run with planted faults."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.blind: list[str] = []
        self.seen = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        file, name = TARGETS[self.target]
        kind = getattr(__import__(file, fromlist=[name]), name)
        fault = Fault(item.nodeid)
        original = kind.__call__
        kind.__call__ = planting(original, fault)
        try:
            return (yield)
        finally:
            kind.__call__ = original
            if fault.changed and item.get_closest_marker(_MARK) is None:
                item.user_properties.append((_PROPERTY, fault.changed))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" or not dict(report.user_properties).get(_PROPERTY):
            return
        self.seen += 1
        if report.passed:
            self.blind.append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section(f"faults planted in the results of {self.target}")
        terminalreporter.line(f"{self.seen} tests had a changed result, {len(self.blind)} passed:")
        for name in sorted(self.blind):
            terminalreporter.line(f"BLIND {name}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        session.exitstatus = 1 if self.blind or not self.seen else 0
