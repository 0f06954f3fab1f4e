"""allo.bitexact has the bits of the CPU build on random floats of every kind and on specials."""

from __future__ import annotations

import numpy as np
import pytest

from allo import bitexact
from allo.backend.cpu import LLVMModule

COUNT = 400_000
SPECIALS = np.array(
    [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7F800001],
    np.uint32,
)


def samples() -> np.ndarray:
    rng = np.random.default_rng(11)
    parts = [
        rng.integers(0, 1 << 32, COUNT // 2, dtype=np.uint64).astype(np.uint32).view(np.float32),
        rng.normal(0, 30, COUNT // 4).astype(np.float32),
        rng.normal(0, 1, COUNT // 4 - 2 * len(SPECIALS)).astype(np.float32),
        SPECIALS.view(np.float32),
        (SPECIALS | np.uint32(1 << 31)).view(np.float32),
    ]
    return np.concatenate(parts)


def compiled(op: str) -> LLVMModule:
    attributes = 'arg_names = ["x", "y"], arg_types = ["f32", "f32"], res_types = [], '
    text = f"""
    func.func @f(%x: memref<{COUNT}xf32>, %y: memref<{COUNT}xf32>)
        attributes {{{attributes} itypes = "__", otypes = ""}} {{
      affine.for %i = 0 to {COUNT} {{
        %v = affine.load %x[%i] : memref<{COUNT}xf32>
        %r = math.{op} %v : f32
        affine.store %r, %y[%i] : memref<{COUNT}xf32>
      }}
      return
    }}"""
    return LLVMModule(text, "f")


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "erf", "rsqrt"])
def test_bits_equal_the_cpu_build(op: str):
    x = samples()
    expected = np.zeros(COUNT, np.float32)
    compiled(op)(x, expected)
    got = getattr(bitexact, op)(x)
    both_nan = np.isnan(got) & np.isnan(expected)
    wrong = (got.view(np.uint32) != expected.view(np.uint32)) & ~both_nan
    assert not wrong.any(), list(
        zip(x[wrong][:5], got[wrong][:5], expected[wrong][:5], strict=True)
    )
