"""``reassociate=True`` on a build: float sums are balanced trees, with the same bits on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.errors import OptionError
from allo.ir.types import float16, float32, float64, int32

ROWS, TERMS = 8, 16


def dot[T](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: T[ROWS]):
    for i in range(ROWS):
        s: T = 0.0
        for k in range(TERMS):
            s += a[i, k] * b[i, k]
        o[i] = s


def guarded[T](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: T[ROWS]):
    s: T = 1.0
    for i in range(ROWS):
        for k in range(TERMS):
            if a[i, k] > b[i, k]:
                s -= a[i, k]
        o[i] = s + a[i, 0] + b[i, 1] + a[i, 2] + b[i, 3]


def nested[T](a: T[ROWS, TERMS], b: T[ROWS, TERMS], o: T[ROWS]):
    for i in range(ROWS):
        s: T = 1.0
        m: T = 0.0
        for u in range(4):
            for v in range(4):
                s *= a[i, 4 * u + v]
                m = max(m, b[i, 4 * u + v])
        o[i] = s + m


def _schedule(kernel: Any, kind: Any) -> Any:
    s = allo.customize(kernel, instantiate=[kind])
    s.partition(s.a, dim=2)
    s.partition(s.b, dim=2)
    s.pipeline("i")
    return s


def _operands(kind: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    shape = (ROWS, TERMS)
    return tuple((rng.standard_normal(shape) * 1.5).astype(kind) for _ in range(2))


def _run(build: Any, kind: Any) -> np.ndarray:
    a, b = _operands(kind)
    out = np.zeros(ROWS, kind)
    build(a, b, out)
    return out


KINDS = {
    "float16": (float16, np.float16),
    "float32": (float32, np.float32),
    "float64": (float64, np.float64),
}
KERNELS = {"dot": dot, "guarded": guarded, "nested": nested}


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize("name", KERNELS)
def test_every_target_gives_the_same_bits(name: str, simulator: str) -> None:
    ours, theirs = KINDS["float32"]
    s = _schedule(KERNELS[name], ours)
    before = str(s.module)
    hardware = s.build(target="verilog", simulator=simulator, reassociate=True)
    found = _run(hardware, theirs)
    expected = _run(s.build(reassociate=True), theirs)
    assert found.tobytes() == expected.tobytes()
    assert hardware.cycles == hardware.report.cycles
    assert str(s.module) == before
    in_order = _run(s.build(), theirs)
    assert found.tobytes() != in_order.tobytes()
    np.testing.assert_allclose(found, in_order, rtol=1e-4)
    assert hardware.cycles < s.build(target="verilog", simulator="jit").report.cycles


@pytest.mark.parametrize("name", KINDS)
def test_the_order_is_a_tree(name: str) -> None:
    ours, theirs = KINDS[name]
    found = _run(_schedule(dot, ours).build(reassociate=True), theirs)
    a, b = _operands(theirs)
    row = [a[:, k] * b[:, k] for k in range(TERMS)]
    while len(row) > 1:
        row = [x + y for x, y in zip(row[::2], row[1::2], strict=True)]
    assert found.tobytes() == (theirs(0.0) + row[0]).astype(theirs).tobytes()


def test_csim_gives_the_same_bits(tmp_path: Any) -> None:
    s = _schedule(guarded, float32)
    csim = s.build(target="vitis_hls", mode="csim", project=str(tmp_path / "p"), reassociate=True)
    expected = _run(s.build(reassociate=True), np.float32)
    assert _run(csim, np.float32).tobytes() == expected.tobytes()


def test_it_does_what_rebalance_does() -> None:
    s = _schedule(dot, float32)
    on_build = _run(s.build(reassociate=True), np.float32)
    s.rebalance("k")
    assert _run(s.build(), np.float32).tobytes() == on_build.tobytes()


def kept(a: float32[8], o: float32[1]):
    for i in range(8):
        o[0] += a[i]


def integers(a: int32[8], o: int32[1]):
    for i in range(8):
        o[0] = o[0] + a[i] + a[7 - i] + i


@pytest.mark.parametrize("kernel", [kept, integers])
def test_loops_that_stay_and_integers_keep_their_order(kernel: Any) -> None:
    s = allo.customize(kernel)
    texts = [s.build(target="vhls", reassociate=on).hls_code for on in (False, True)]
    assert texts[0] == texts[1]


def test_a_value_that_is_no_flag_is_refused() -> None:
    s = allo.customize(kept)
    with pytest.raises(
        OptionError, match=r"^Option reassociate of build takes True or False, not 1\."
    ):
        s.build(reassociate=1)


def test_it_is_no_key_of_configs() -> None:
    s = allo.customize(kept)
    with pytest.raises(OptionError, match="^configs has no key 'reassociate' for target llvm"):
        s.build(configs={"reassociate": True})
