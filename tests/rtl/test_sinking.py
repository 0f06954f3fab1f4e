"""Values are computed just before their use: a product of a long sum does not wait in registers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import AlloType, float32, int8, int32

from .differential import bits
from .test_dataflow_tasks import everywhere


def dot[T, R, N](a: T[8, N], b: T[8, N], o: R[8]):
    for i in range(8):
        s: R = 0
        for k in range(N):
            s += a[i, k] * b[i, k]
        o[i] = s


def _dot(element: AlloType, result: AlloType, width: int, ii: int = 1) -> Any:
    s = allo.customize(dot, instantiate=[element, result, width])
    s.pipeline("i", initiation_interval=ii)
    s.unroll("k")
    s.partition(s.a, dim=2)
    s.partition(s.b, dim=2)
    return s


def _register_bits(text: str, module: str) -> int:
    """Bits of the registers that a module declares, memories left out."""
    body = text[text.index(f"module {module}(") :]
    found = re.findall(r"^\s*reg\s+(?:\[(\d+):0\])?\s*\w+;", body[: body.index("endmodule")], re.M)
    return sum(int(high or 0) + 1 for high in found)


def _random(element: AlloType, width: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(width)
    if element is float32:
        a, b = (rng.standard_normal((8, width)).astype(np.float32) for _ in range(2))
    else:
        a, b = (rng.integers(-128, 128, (8, width), dtype=np.int8) for _ in range(2))
    return a, b


CASES = {
    # Before units sank: 84,259, 34,991 and 23,593 bits.
    "float": (float32, float32, 32, 1, 6000),
    "int": (int8, int32, 128, 1, 7000),
    "shared": (float32, float32, 32, 4, 7000),
}


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize("name", CASES)
def test_products_do_not_wait_in_registers(name: str, simulator: str) -> None:
    element, result, width, ii, most = CASES[name]
    s = _dot(element, result, width, ii)
    module = s.build(target="verilog", simulator=simulator)
    a, b = _random(element, width)
    kind = np.float32 if element is float32 else np.int32
    ours, theirs = np.zeros(8, kind), np.zeros(8, kind)
    module(a, b, ours)
    s.build()(a, b, theirs)
    assert bits(ours) == bits(theirs)
    assert module.cycles == module.report.cycles
    assert _register_bits(str(module), "dot") < most
    if element is float32:
        assert module.report.float_units == 2 * -(-width // ii)


@pytest.mark.parametrize("pipelined", [False, True])
def test_a_load_stays_before_a_store_to_its_element(pipelined: bool) -> None:
    """What is read is needed late, and the element changes before."""

    def replace(A: int32[16], B: float32[16], C: float32[16]):
        for i in range(16):
            t: int32 = A[15 - i]
            A[15 - i] = i
            C[i] = ((B[i] * 1.5 + 2.5) * B[i] + 0.5) * t

    s = allo.customize(replace)
    if pipelined:
        s.pipeline("i")
    A, B = np.arange(16, dtype=np.int32) + 100, np.ones(16, np.float32)
    want = np.float32(4.5) * A[::-1].astype(np.float32)
    everywhere(s, [A, B, np.zeros(16, np.float32)], [np.arange(15, -1, -1, np.int32), B, want])
