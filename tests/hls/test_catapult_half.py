"""The text for Catapult with float16, compiled and run with Siemens' own ``ac_ieee_float``."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.hls.csim.headers import compiler, open_ac_headers
from allo.ir.types import (
    Fixed,
    Int,
    Stateful,
    Struct,
    UInt,
    float16,
    float32,
    float64,
    int16,
    int32,
    uint16,
)

from .programs import program

N = 8
Pair = Struct({"x": float16, "y": int16})


def arithmetic(A: float16[N], B: float16[N], C: float16[N], D: int32[N]):
    total: float16 @ Stateful = 0.25
    for i in range(N):
        C[i] = A[i] * B[i] + A[i] / B[i] - 1.5 + max(A[i], B[i]) + min(-A[i], 2.0)
        total += A[i]
        if A[i] < B[i] and A[i] != 0.5:
            C[i] += total
        D[i] = 1 if A[i] >= B[i] else 2
        print("C", C[i])


def conversions(
    A: float16[N], F: float32[N], D: float64[N], I: int32[N], U: UInt(40)[N], X: Fixed(24, 12)[N]
):
    for i in range(N):
        wide: Int(90) = A[i]
        odd: Int(7) = A[i]
        bit: UInt(1) = A[i]
        F[i] = A[i]
        D[i] = A[i]
        I[i] = A[i]
        U[i] = A[i]
        X[i] = A[i]
        A[i] = wide + odd + bit
        A[i] += F[i]
        A[i] += D[i]
        A[i] += U[i]
        A[i] += X[i]
        A[i] += i


def bits(A: float16[N], B: uint16[N], C: int16[N], P: Pair[N]):
    for i in range(N):
        B[i] = A[i].bitcast() + 1
        A[i] = C[i].bitcast()
        P[i]["x"] = P[i]["x"] + A[i]


def functions(A: float16[N], B: float16[N]):
    for i in range(N):
        a: float16 = abs(A[i]) + 0.25
        B[i] = allo.exp(A[i]) + allo.log(a) + allo.log2(a) + allo.log10(a) + allo.sqrt(a)
        B[i] += allo.sin(A[i]) + allo.cos(A[i]) + allo.tan(A[i]) + allo.tanh(A[i])
        B[i] += allo.power(a, A[i])


def compiled(text: str, name: str, folder: Path) -> Callable[..., Any]:
    """The text as a C function of this process, under the tool's own headers and no others."""
    lines = text.split(f"void {name}(\n")[1].split("\n)")[0].splitlines()
    declared = [line.strip().rstrip(",").split("[")[0] for line in lines]
    arguments = ", ".join(part.split()[-1] for part in declared)
    takes = ", ".join(" *".join(part.rsplit(" ", 1)) for part in declared)
    source = folder / f"{name}.cpp"
    source.write_text(f'{text}\nextern "C" void run({takes}) {{ {name}({arguments}); }}\n')
    command = [compiler(), "-std=c++14", "-w", "-shared", "-fPIC", f"-I{open_ac_headers()}"]
    return ctypes.CDLL(str(program(folder, command, [source.name]))).run


def halves(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-9, 9, N).astype(np.float16)


def pairs() -> np.ndarray:
    made = np.zeros(N, np.dtype([("x", "f2"), ("y", "i2")]))
    made["x"], made["y"] = halves(4), np.arange(N)
    return made


ARGUMENTS = {
    arithmetic: [halves(0), halves(1), np.zeros(N, np.float16), np.zeros(N, np.int32)],
    bits: [halves(0), np.zeros(N, np.uint16), halves(2).view(np.int16), pairs()],
    functions: [halves(3), np.zeros(N, np.float16)],
}


@pytest.mark.parametrize("kernel", ARGUMENTS, ids=lambda k: k.__name__)
def test_the_text_runs_with_the_tools_own_half(kernel, tmp_path, capfd):
    s = allo.customize(kernel)
    wanted = [array.copy() for array in ARGUMENTS[kernel]]
    found = [array.copy() for array in ARGUMENTS[kernel]]
    s.build()(*wanted)
    run = compiled(s.build(target="catapult").hls_code, kernel.__name__, tmp_path)
    run(*(array.ctypes.data_as(ctypes.c_void_p) for array in found))
    for mine, theirs in zip(found, wanted, strict=True):
        if kernel is functions:  # each function is within a unit of the last place of the float's
            np.testing.assert_allclose(mine.astype(float), theirs.astype(float), rtol=4e-3)
        else:
            np.testing.assert_array_equal(mine.view(np.uint8), theirs.view(np.uint8))


def test_conversions_of_every_kind_compile_and_agree(tmp_path):
    s = allo.customize(conversions)
    a = np.array([0, 0.75, 1, 2.5, 17, 3.25, 40, 63], np.float16)
    dtypes = (np.float32, np.float64, np.int32, np.uint64)
    others = [np.zeros(N, dtype) for dtype in dtypes]
    wanted = [a.copy(), *(o.copy() for o in others), np.zeros(N)]
    s.build()(*wanted)
    text = s.build(target="catapult").hls_code
    assert "ac_fixed<24, 12, true> X[8]" in text and "ac_int<40, false> U[8]" in text
    found = [a.copy(), *others, np.zeros(N, np.int32)]
    run = compiled(text, "conversions", tmp_path)
    run(*(array.ctypes.data_as(ctypes.c_void_p) for array in found))
    found[5] = found[5] / 2.0**12  # the words of ac_fixed
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs)
