"""Constant arrays of a function whose calls are joined by FIFOs."""

import numpy as np
import pytest

import allo
from allo.ir.types import int32

W = np.arange(1, 5, dtype=np.int32)


def scale(X: int32[4], C: int32[4], Z: int32[4]):
    for i in range(4):
        Z[i] = X[i] * C[i]


def shift(Z: int32[4], C: int32[4], Y: int32[4]):
    for i in range(4):
        Y[i] = Z[i] + C[i]


def top(X: int32[4]) -> int32[4]:
    Z: int32[4]
    Y: int32[4]
    C: int32[4] = W
    scale(X, C, Z)
    shift(Z, C, Y)
    return Y


@pytest.mark.parametrize("target", ["llvm", "vhls", "verilog"])
def test_processes_hold_the_constants_that_they_take(target):
    s = allo.customize(top)
    s.to(s.Z, "shift", depth=4)
    options = {"simulator": "jit"} if target == "verilog" else {}
    X = np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(s.build(target=target, **options)(X), X * W + W)
