"""Caches that need both kinds of block RAM of a device, and those that fit by their bytes alone."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import allo
from allo.backend.rtl.resources import design
from allo.errors import CapacityError
from allo.ir.types import int32

INTERFACE = {"interface": "m_axi"}


def built(rows: int, *, twice: bool) -> Any:
    """A kernel that reads blocks of 4 kB rows, cached in two buffers; each element once, or twice."""

    def once(A: int32[4, rows, 1024], B: int32[4, rows, 1024]):
        for t in range(4):
            for i in range(rows):
                for j in range(1024):
                    B[t, i, j] = A[t, rows - 1 - i, 1023 - j] + 1

    def both(A: int32[4, rows, 1024], B: int32[4, rows, 1024]):
        for t in range(4):
            for i in range(rows):
                for j in range(1024):
                    B[t, i, j] = A[t, rows - 1 - i, 1023 - j] + A[t, i, j]

    s = allo.customize(both if twice else once)
    s.cache(s.A, at="t", double_buffer=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would say that there are too few blocks
        return s.build(target="verilog", simulator="jit", configs=INTERFACE)


def test_caches_above_the_small_blocks_go_to_the_large_ones() -> None:
    module = built(1024, twice=False)
    assert 'ram_style = "ultra"' in module.design.verilog
    assert module.report.resources["uram"] > 0
    assert module.report.resources["bram"] < 4032


def test_smaller_ones_stay() -> None:
    assert "ultra" not in built(256, twice=False).design.verilog


def test_what_the_large_blocks_do_not_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CapacityError, match="A_cache keeps 12,582,912 bytes of A for loop t") as e:
        built(1536, twice=True)
    assert "take 6,144 blocks of 18 kbit, and a U280 (xcu280) has 4,032" in str(e.value)
    assert "one access reads and one writes, in words of 72 bits" in str(e.value)
    assert "^" in str(e.value)
    monkeypatch.setattr(design, "LARGE_BITS", 1 << 40)
    built(1536, twice=True)
