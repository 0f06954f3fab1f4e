"""Kernels with reductions, and a comparison of their builds on all targets, every element."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import allo
from allo.errors import DTypeWarning
from allo.ir.types import float16, float32, index, int8, int16, int32, uint1, uint8
from allo.schedule import Schedule

BUILDS: dict[str, dict[str, Any]] = {
    "cpu": {},
    "csim": {"target": "vhls", "mode": "csim"},
    "jit": {"target": "verilog", "simulator": "jit"},
    "verilator": {"target": "verilog", "simulator": "verilator"},
}
QUICK = ("cpu", "csim", "jit")


def dot(x: float32[64], y: float32[64]) -> float32:
    acc: float32 = 0.0
    for k in range(64):
        acc += x[k] * y[k]
    return acc


def odd_dot(x: float32[61], y: float32[61], z: float32[1]):
    for k in range(61):
        z[0] += x[k] * y[k]


def rows(A: int32[5, 16], y: int32[16], z: int32[5]):
    for i in range(5):
        for k in range(16):
            z[i] += A[i, k] * y[k]


def mixed(x: int8[30], u: uint8[30], b: uint1[30], r: int8[6], q: uint8[6], p: uint1[3]):
    for k in range(3, 30, 2):
        r[0] = r[0] + x[k] * x[k - 1]
        r[1] = r[1] - x[k]
        r[2] *= x[k]
        r[3] = max(r[3], x[k])
        r[4] = min(r[4], x[k])
        r[5] &= x[k]
        q[0] += u[k]
        q[1] = max(q[1], u[k])
        q[2] = min(q[2], u[k])
        q[3] |= u[k]
        q[4] ^= u[k]
        q[5] &= u[k]
        p[0] ^= b[k]
        p[1] |= b[k]
        p[2] &= b[k]


def guarded(x: int16[40], z: int32[2]):
    for k in range(40):
        if x[k] > 0:
            z[0] += x[k]
            z[0] -= 3
        if k > 7:
            z[1] = max(z[1], z[1])
            z[1] += k


def triangle(L: float32[9, 9], x: float32[9], y: float32[9]):
    for i in range(9):
        for j in range(i):
            y[i] -= L[i, j] * x[j]


def bicg(A: float32[6, 20], r: float32[6], p: float32[20], s: float32[20], q: float32[6]):
    for i in range(6):
        for j in range(20):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]


def floats(x: float32[20], h: float16[20], z: float32[3], q: float16[2]):
    for k in range(20):
        z[0] = min(z[0], x[k])
        z[1] = max(z[1], x[k])
        z[2] *= x[k]
        q[0] += h[k]
        q[1] -= h[k]


def positions(x: index[12], z: index[3]):
    for k in range(12):
        z[0] += x[k]
        z[1] = max(z[1], x[k])
        z[2] = min(z[2], x[k])


def filtered(x: int8[40], u: uint8[40], z: int16[40]):
    for i in range(5, 40):
        z[i] = x[i] * 3 - u[i - 1] + x[i - 2] * x[i - 3] + (u[i - 4] - x[i - 5]) + 7


def arguments(kernel: Callable[..., Any], seed: int = 0) -> list[np.ndarray]:
    """Random arrays of the types that a kernel declares."""
    rng = np.random.default_rng(seed)
    made = []
    for argument in allo.customize(kernel).func_args[kernel.__name__]:
        name, shape = str(argument.dtype), argument.shape
        dtype = np.dtype(NAMES[name])
        if dtype.kind == "f":
            made.append(rng.standard_normal(shape).astype(dtype))
            continue
        info = np.iinfo(dtype)
        low, high = {"ui1": (0, 1), "index": (-999, 999)}.get(name, (info.min, info.max))
        made.append(rng.integers(low, high, shape, dtype, endpoint=True))
    return made


NAMES = {"f32": "float32", "f16": "float16", "i8": "int8", "i16": "int16", "i32": "int32"}
NAMES |= {"ui8": "uint8", "ui1": "uint8", "index": "int64"}


def run(s: Schedule, arrays: list[np.ndarray], build: str) -> list[np.ndarray]:
    """Every array after a run of a build, and its result; the cycles of hardware are as predicted."""
    module = s.build(**BUILDS[build])
    given = [a.copy() for a in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DTypeWarning)
        result = module(*given)
    if BUILDS[build].get("target") == "verilog" and module.report.cycles is not None:
        assert module.cycles == module.report.cycles
    return given if result is None else [*given, np.asarray(result)]


def check_all(
    kernel: Callable[..., Any],
    schedule: Callable[[Schedule], None],
    *,
    exact: bool,
    builds: Iterable[str] = BUILDS,
    seed: int = 0,
) -> Schedule:
    """All builds give the same bits; those of the unscheduled program too where results are exact."""
    s, plain = allo.customize(kernel), allo.customize(kernel)
    schedule(s)
    arrays = arguments(kernel, seed)
    want = run(plain if exact else s, arrays, "cpu")
    for build in builds:
        got = run(s, arrays, build)
        for position, (a, b) in enumerate(zip(got, want, strict=True)):
            assert a.tobytes() == b.tobytes(), f"{build}, array {position}: {a} is not {b}"
    if not exact:
        for a, b in zip(want, run(plain, arrays, "cpu"), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-3)
    return s
