"""Integers of more than 64 bits become floats of every format with the CPU's bits."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np

import allo
from allo.ir.types import Int, bfloat16, float16, float32

FORMATS = (ml_dtypes.bfloat16, np.float16, np.float32)
VALUES = [1 << 127, -(1 << 128) + 5, (1 << 71) + 1, -3, 0, (1 << 60) + 7, -(1 << 15), 65519]


def converted(L: Int(130)[8], a: bfloat16[8], h: float16[8], f: float32[8]):
    for i in range(8):
        a[i] = L[i]
        h[i] = L[i]
        f[i] = L[i]


def test_csim_rounds_as_the_cpu(tmp_path: Path) -> None:
    """bfloat16 was refused by g++, for long long is neither of its two integers."""
    s = allo.customize(converted)
    csim = s.build(target="vhls", mode="csim", project=str(tmp_path / "project"))
    found = []
    for module in (s.build(), csim):
        floats = [np.zeros(8, kind) for kind in FORMATS]
        module(np.array(VALUES, dtype=object), *floats)
        found.append(floats)
    with np.errstate(over="ignore"):
        exact = np.array([float(v) for v in VALUES], np.float32)
    np.testing.assert_array_equal(found[0][2], exact)
    for ours, theirs in zip(*found, strict=True):
        assert ours.tobytes() == theirs.tobytes()
