"""The Verilog of wrappers: Verilator has nothing to say about it, and Yosys maps it."""

from __future__ import annotations

from pathlib import Path

import pytest

import allo
import allo.dataflow as df
from allo import Partition
from allo.ir.types import Int, Stream, float32, int8, int32
from tests.verilog.readers import lint

from .kernels import build


def axpy(a: float32, A: float32[64], B: float32[64]) -> int32:
    for i in allo.grid(64):
        B[i] = B[i] + a * A[i]
    return 7


def gemm(A: int8[6, 8], B: int8[8, 8], C: Int(21)[6, 8]):
    for i, j in allo.grid(6, 8):
        total: Int(21) = 0
        for k in range(8):
            total += A[i, k] * B[k, j]
        C[i, j] = total


def sums(words: Stream[int32, 4], totals: Stream[int32, 4], n: int32):
    total: int32 = 0
    for _ in range(n):
        total += words.get()
        totals.put(total)


@df.region()
def two(A: int32[12], B: int32[12]):
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def feed(a: int32[12]):
        for i in range(12):
            word: int32 = a[i]
            pipe.put(word)

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[12]):
        for i in range(12):
            b[i] = 2 * pipe.get()


def banked():
    schedule = allo.customize(gemm)
    for name, kind in (("A", Partition.Cyclic), ("B", Partition.Complete), ("C", Partition.Block)):
        target = getattr(schedule, name)
        schedule.partition(target, dim=2, partition_type=kind, factor=4)
    schedule.pipeline("j")
    return schedule


WIDE = {"kind": "m_axi", "width": 512}
SHARED = {"kind": "m_axi", "bundle": "mem", "width": 64}
DESIGNS = {
    "masters": (lambda: allo.customize(axpy), "m_axi"),
    "narrow": (lambda: allo.customize(axpy), {"A": {"kind": "m_axi", "burst": 1}, "B": "memory"}),
    "banks": (banked, dict.fromkeys("ABC", WIDE)),
    "several masters": (
        lambda: allo.customize(axpy),
        dict.fromkeys("AB", {"kind": "m_axi", "bundle": ["left", "right"], "width": 64}),
    ),
    "one bundle": (banked, dict.fromkeys("ABC", SHARED)),
    "streams": (lambda: allo.customize(axpy), {"A": "axis", "a": "port", "return": "port"}),
    "stream arguments": (lambda: allo.customize(sums), {"n": "s_axilite"}),
    "region": (lambda: df.customize(two), {"A": "axis", "B": "m_axi"}),
    "ports": (banked, {"return": "port"}),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_a_wrapper_has_no_warning(name: str, tmp_path: Path) -> None:
    schedule, interface = DESIGNS[name]
    design = build(schedule(), interface).design
    assert lint(design.verilog, design.top, tmp_path) == []


@pytest.mark.slow
def test_yosys_maps_a_wrapper() -> None:
    module = build(allo.customize(axpy), "m_axi")
    found = module.synthesize()
    estimated = module.report.resources
    assert found.lut > 500
    assert 0.7 < estimated["lut"] / found.lut < 1.4
    assert 0.7 < estimated["ff"] / found.ff < 1.4
