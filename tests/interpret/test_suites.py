"""Every kernel of the benchmark suites, interpreted, against the suite's reference in NumPy."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import allo
import allo.designs.machsuite.kernels as machsuite
import allo.designs.polybench.kernels as polybench

KERNELS = [(machsuite, name) for name in machsuite.NAMES]
KERNELS += [(polybench, name) for name in polybench.NAMES]
INEXACT = {"backprop"}
CLOSE = {"backprop", "fft_strided", "fft_transpose"}
"""The reference adds in another order, or calls NumPy's functions."""


@pytest.mark.parametrize(("suite", "name"), KERNELS, ids=[name for _, name in KERNELS])
def test_kernel(suite: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = suite.load(name)
    size = module.SIZES["tiny"]
    asked: dict[int, tuple[Any, Any]] = {}

    def customize(kernel: Any, *, instantiate: Any = None) -> MagicMock:
        schedule = MagicMock()
        asked[id(schedule)] = kernel, instantiate
        return schedule

    monkeypatch.setattr(allo, "customize", customize)
    run = allo.interpret(*asked[id(module.schedule(size))])
    given = module.inputs(np.random.default_rng(7), size)
    mine, wanted = ([a.copy() for a in given] for _ in range(2))
    result, expected = run(*mine), module.reference(*wanted)
    assert run.inexact == (name in INEXACT)
    compare: Any = np.testing.assert_array_equal
    if name in CLOSE:
        compare = partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-12)
    for got, want in zip(mine, wanted, strict=True):
        compare(got, want)
    if expected is not None:
        compare(result, expected)


def test_the_suites_are_found() -> None:
    assert len(KERNELS) >= 40
