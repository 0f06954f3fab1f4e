"""A build reads the core IR once."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.dialects._mlir import ir
from allo.dialects.core.parse import text_of
from allo.dialects.declaration import DECLARATION
from allo.ir.types import int32


def doubled(x: int32[8], y: int32[8]):
    for i in range(8):
        y[i] = 2 * x[i]


@pytest.mark.parametrize("target", ["llvm", "vhls", "verilog", "systemverilog"])
def test_a_build_parses_the_module_once(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = allo.customize(doubled)
    seen, parse = [], ir.Module.parse
    counting = staticmethod(lambda *given: seen.append(given[0]) or parse(*given))
    monkeypatch.setattr(ir.Module, "parse", counting)
    built = schedule.build(target=target)
    assert [text for text in seen if text != DECLARATION] == [text_of(schedule.module)]
    assert len(seen) <= 2
    if target == "llvm":
        x, y = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
        built(x, y)
        np.testing.assert_array_equal(y, 2 * x)
