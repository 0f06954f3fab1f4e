"""``verilator --lint-only -Wall`` has nothing to say about the Verilog of any design."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.sim import MemoryChannel
from allo.ir.types import Int, Stream, float32, int32
from tests.verilog.designs import DESIGNS, LARGE, SMALL
from tests.verilog.readers import lint

ROM = np.arange(40, dtype=np.int32) * 77


def lookup(x: int32[16], y: int32[16]):
    t: int32[40] = ROM
    for i in range(16):
        y[i] = t[x[i] % 40]


def search(A: int32[64], key: int32) -> int32:
    i: int32 = 0
    while A[i] != key:
        i += 1
    return i


def axpy(a: float32, x: float32[64], y: float32[64]):
    for i in range(64):
        y[i] = a * x[i] + y[i]


def quotients(x: Int(11)[64], y: Int(23)[64], z: Int(40)[64]):
    for i in range(64):
        z[i] = x[i] // y[i] + x[i] * y[i] % 7


def double(x: int32) -> int32:
    return x * 2 + 1


def calls(x: int32[8], y: int32[8]):
    for i in range(8):
        y[i] = double(x[i])
    for j in range(8):
        y[j] = double(y[j]) - 3


OWN = (lookup, search, axpy, quotients, calls)


@pytest.mark.parametrize("name", SMALL)
def test_a_design_has_no_warning(name: str, tmp_path: Path) -> None:
    design = DESIGNS[name]().build(target="verilog", simulator="jit").design
    assert lint(design.verilog, design.top, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in DESIGNS if n not in SMALL])
def test_a_large_design_has_no_warning(name: str, tmp_path: Path) -> None:
    assert name.partition("-")[2] in LARGE
    design = DESIGNS[name]().build(target="verilog", simulator="jit").design
    assert lint(design.verilog, design.top, tmp_path) == []


@pytest.mark.parametrize("kernel", OWN, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("checked", [False, True])
def test_a_kernel_has_no_warning(kernel, checked: bool, tmp_path: Path) -> None:
    module = allo.customize(kernel).build(target="verilog", check_bounds=checked)
    assert lint(module.verilog, module.design.top, tmp_path) == []


def words(x: Stream[int32, 4], y: Stream[int32, 4]):
    for i in range(16):
        word: int32 = x.get() + 5
        y.put(word)


def test_a_kernel_with_streams_has_no_warning(tmp_path: Path) -> None:
    s = allo.customize(words)
    s.pipeline("i")
    assert lint(str(s.build(target="systemverilog")), "words", tmp_path) == []


@df.region()
def passes(A: float32[8], B: float32[8]):
    inner: Stream[float32, 3]

    @df.kernel(mapping=[1], args=[A])
    def first(a: float32[8]):
        for i in range(8):
            inner.put(a[i] + 5)

    @df.kernel(mapping=[1], args=[B])
    def second(b: float32[8]):
        for j in range(8):
            b[j] = inner.get()


@pytest.mark.parametrize("memory", [{}, {"A": MemoryChannel("m", 4.0)}], ids=["near", "far"])
def test_a_region_has_no_warning(memory, tmp_path: Path) -> None:
    module = df.customize(passes).build(target="verilog", memory=memory)
    assert lint(module.verilog, module.design.top, tmp_path) == []


@pytest.mark.parametrize(
    ("fault", "warning"),
    [
        ("  wire [7:0] forgotten = 8'h3;\n", "UNUSEDSIGNAL"),
        ("  wire [3:0] short = 8'h3;\n  wire left = &short;\n", "WIDTHTRUNC"),
        ("  wire [3:0] open;\n  wire left = &open;\n", "UNDRIVEN"),
    ],
)
def test_a_fault_has_a_warning(fault: str, warning: str, tmp_path: Path) -> None:
    module = allo.customize(search).build(target="verilog")
    text = module.verilog
    assert lint(text, "search", tmp_path) == []
    planted = text.replace("\nendmodule", f"\n{fault}endmodule", 1)
    assert any(f"-{warning}:" in said for said in lint(planted, "search", tmp_path))


def test_marks_name_one_signal_each(tmp_path: Path) -> None:
    """A mark stands around one declaration, and says what of it is not read."""
    text = DESIGNS["gallery-biquad"]().build(target="systemverilog")
    marks = re.findall(r"lint_off UNUSEDSIGNAL \*/  // (.*)\n(.*\n)+?.*lint_on UNUSEDSIGNAL", text)
    assert text.count("lint_off UNUSEDSIGNAL") == text.count("lint_on UNUSEDSIGNAL") == len(marks)
    assert any(reason == "s1: bits 47:30 are not read" for reason, _ in marks)
    without = re.sub(r".*lint_o(n|ff) UNUSEDSIGNAL.*\n", "", text)
    said = lint(without, "biquad", tmp_path)
    assert len(said) == len(marks) + 1  # the last line says how many there are
