"""cache(…, double_buffer=n): n buffers that iterations take in turn, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl.emit.network.iterations import Iterations
from allo.backend.sim import external_memory
from allo.errors import CapacityError
from allo.ir.types import int32

ROWS, N = 24, 32


def uneven(work: int32[ROWS], A: int32[ROWS, N], y: int32[ROWS, N]):
    """What a row takes is data: none, or as long as four rows take to be filled."""
    for t in range(ROWS):
        for k in range(work[t]):
            for j in range(N):
                y[t, j] += A[t, N - 1 - j] * (k + j)


def schedule(depth: Any, *, banks: int = 1) -> Any:
    s = allo.customize(uneven)
    s.pipeline("j")
    if banks > 1:
        s.partition(s.A, Partition.Cyclic, dim=2, factor=banks)
    s.cache(s.A, at="t", double_buffer=depth)
    s.cache(s.y, at="t")
    return s


def arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    work = np.where(np.arange(ROWS) % 4 == 3, 4, 0).astype(np.int32)
    A, y = rng.integers(-1000, 1000, (2, ROWS, N)).astype(np.int32)
    return [work, A, y]


def run(s: Any, mod: Any) -> int | None:
    """A run must leave what the CPU build leaves; its cycles."""
    mine, theirs = arguments(), arguments()
    mod(*mine)
    s.build()(*theirs)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    return getattr(mod, "cycles", None)


@pytest.mark.parametrize("depth", [2, 3, 4, 5])
@pytest.mark.parametrize("banks", [1, 4])
def test_every_depth_gives_what_the_cpu_gives(depth: int, banks: int) -> None:
    s = schedule(depth, banks=banks)
    mod = s.build(target="verilog", simulator="jit")
    run(s, mod)
    said = f"A_cache has {depth} copies, which iterations take in turn."
    assert (said in mod.report.notes) == (depth > 2)


def test_both_engines_and_csim_agree_and_hls_text_asks_for_the_buffers() -> None:
    s = schedule(3)
    interface = {"A": {"kind": "m_axi", "copy": False}, "y": {"kind": "m_axi", "copy": False}}
    cycles = [
        run(s, s.build(target="verilog", simulator=engine, configs={"interface": interface}))
        for engine in ("jit", "verilator")
    ]
    assert cycles[0] == cycles[1]
    mod = s.build(target="vitis_hls", mode="csim", wrap_io=False)
    run(s, mod)
    assert "#pragma HLS stream variable=A_cache type=pipo depth=3" in mod.hls_code
    text = schedule(True).build(target="vitis_hls", wrap_io=False).hls_code
    assert "#pragma HLS dataflow" in text and "pipo" not in text


def test_deeper_buffers_hide_uneven_work_from_dynamic_memory() -> None:
    """On banks, rows and refresh: with two buffers, only one row is filled while a long one is worked on."""
    hbm = external_memory("hbm2", clock_mhz=200, timing="dram")
    found = {}
    for depth in (2, 4):
        s = schedule(depth)
        mod = s.build(target="verilog", simulator="jit", memory={"A": hbm[0], "y": hbm[1]})
        found[depth] = run(s, mod)
    assert found[4] < 0.9 * found[2], found


def test_the_deepest_of_several_calls_counts_and_the_device_must_hold_it() -> None:
    s = allo.customize(uneven)
    s.cache(s.A, at="t", double_buffer=4)
    s.cache(s.y, at="t", double_buffer=2)
    assert "copies = 4 : i32" in str(s.module)

    def large(A: int32[8, 1 << 20], y: int32[8]):
        for t in range(8):
            for j in range(1 << 20):
                y[t] += A[t, j]

    for depth, fits in ((2, True), (11, False)):
        s = allo.customize(large)
        s.cache(s.A, at="t", double_buffer=depth)
        if fits:
            s.build(target="vitis_hls")
            continue
        with pytest.raises(
            CapacityError, match=f"A_cache keeps {11 << 22:,} bytes of A for loop t"
        ):
            s.build(target="vitis_hls")


def test_a_turn_that_goes_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations that all take one buffer leave wrong elements."""
    monkeypatch.setattr(Iterations, "_rotate", lambda self, name, pulse, restart: self._text.alias(
        name, self._text.const(0, 2), 2))  # fmt: skip
    s = schedule(3)
    with pytest.raises(AssertionError):
        run(s, s.build(target="verilog", simulator="jit"))
