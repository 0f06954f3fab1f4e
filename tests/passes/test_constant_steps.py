"""Loops with a step of run time count iterations, and give what they gave."""

from __future__ import annotations

import numpy as np

import allo
from allo.dialects._mlir import ir, make_context
from allo.dialects.affine.loops import walk
from allo.dialects.passes.constant_steps import constant_steps
from allo.ir.types import int32


def scatter(A: int32[24], first: int32, step: int32):
    for i in range(first, 24, step):
        for j in range(0, i, 2 * step):
            A[j] += i * step
        for k in range(0, first, 2):
            A[k] -= 1


def test_only_constant_steps_are_left_and_results_stay():
    s = allo.customize(scatter)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(str(s.module))
        constant_steps(module)
        loops = [op for op in walk(module.operation) if op.name == "scf.for"]
        owners = [op.operands[2].owner.operation for op in loops]
        assert [o.name for o in owners] == ["arith.constant"] * len(loops) and len(loops) >= 2
        text = str(module)
    before, after = s.build(), allo.LLVMModule(text, "scatter")
    for first, step in ((0, 1), (1, 5), (7, 3), (23, 100), (30, 2)):
        expected, found = np.zeros((2, 24), np.int32)
        before(expected, first, step)
        after(found, first, step)
        np.testing.assert_array_equal(found, expected)
