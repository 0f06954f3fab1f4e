"""Unsigned integers become floats by their value at every level of optimisation."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir import types

NAMES = {name: getattr(types, name) for name in dir(types) if not name.startswith("_")}
KERNEL = """
def kernel(A: {source}[8], D: {target}[8]):
    for i in range(8):
        x: {middle} = A[i] {operation}
        D[i] = x
"""


@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("bits", [16, 32, 33, 48, 63, 64, 65, 100, 128, 200])
def test_differences_that_wrap(bits: int, target: str):
    """LLVM's vectoriser took 2⁶⁴ − 1 for 2³² − 1, as float32."""
    for source, operation in (("UInt(2)", "- 1"), ("uint8", "- 3"), ("int8", "* 5 - 2")):
        text = KERNEL.format(
            source=source, target=target, middle=f"UInt({bits})", operation=operation
        )
        dtype = np.int8 if source == "int8" else np.uint8
        a = np.array([0, 1, 2, 3, 0, 0, 1, 3], dtype)
        made = np.float64 if target == "float64" else np.float32
        made = np.float16 if target == "float16" else made
        s = allo.customize(text, global_vars=NAMES)
        want = np.zeros(8, made)
        allo.interpret(text, global_vars=NAMES)(a, want)
        for level in range(4):
            got = np.zeros(8, made)
            s.build(opt_level=level)(a, got)
            assert got.tobytes() == want.tobytes(), (source, operation, level, got, want)


@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
@pytest.mark.parametrize("target", ["float32", "float64"])
@pytest.mark.parametrize("bits", [33, 53, 63, 64, 65, 96])
def test_halfway_cases_are_rounded_once(bits: int, target: str):
    """Numbers between two floats, and one on either side of the middle."""
    text = f"def kernel(A: UInt({bits})[8], D: {target}[8]):\n    for i in range(8):\n        D[i] = A[i]\n"
    s = allo.customize(text, global_vars=NAMES)
    fraction = 24 if target == "float32" else 53
    rng = np.random.default_rng(bits)
    for _ in range(20):
        top = 1 << (bits - 1)
        step = max(1, top >> (fraction - 1))
        base = top + step * int(rng.integers(0, 1 << 20)) % top
        near = [base + step // 2 + d for d in (-1, 0, 1)] + [base, top, 2 * top - 1, 0, 1]
        a = np.array([n % (2 * top) for n in near], object if bits > 64 else np.uint64)
        want, got = np.zeros(8, target), np.zeros(8, target)
        allo.interpret(text, global_vars=NAMES)(a, want)
        for level in (0, 2):
            s.build(opt_level=level)(a, got)
            assert got.tobytes() == want.tobytes(), (a, got, want)
