"""Sums and differences take turns in one unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.operators.library import OperatorLibrary
from allo.backend.rtl.operators.netlist import evaluate
from allo.ir.types import Int, float16, float32, float64

from .differential import bits, compare, function

ENGINES = pytest.mark.parametrize("simulator", ["jit", "verilator"])
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.5)


def butterfly[T](a: T[100], b: T[100], o: T[100, 2]):
    for i in range(100):
        o[i, 0] = a[i] + b[i]
        o[i, 1] = a[i] - b[i]


@ENGINES
@pytest.mark.parametrize(
    ("kind", "plain"), [(float32, np.float32), (float64, np.float64), (float16, np.float16)]
)
def test_float_sums_and_differences_share_a_unit(kind: Any, plain: Any, simulator: str) -> None:
    """All pairs of special values, and of random ones."""
    s = allo.customize(butterfly, instantiate=[kind])
    s.pipeline("i", initiation_interval=2)
    module = s.build(target="verilog", simulator=simulator)
    with np.errstate(over="ignore"):
        special = np.array(SPECIAL, plain)
    rng = np.random.default_rng(5)
    for a, b in (
        (np.repeat(special, 10), np.tile(special, 10)),
        (rng.standard_normal(100).astype(plain), rng.standard_normal(100).astype(plain)),
    ):
        ours, theirs = np.zeros((100, 2), plain), np.zeros((100, 2), plain)
        module(a, b, ours)
        s.build()(a, b, theirs)
        # Which of the NaNs is left open.
        ours[np.isnan(ours)], theirs[np.isnan(theirs)] = 7, 7
        assert bits(ours) == bits(theirs)
        assert module.cycles == module.report.cycles
    # Before, two units: fadd and fsub.
    assert module.report.functions[-1].operators == {f"fadd_{kind}": 1}
    assert module.report.functions[-1].loops[0].ii == 2


def wide(width: int, interval: int) -> str:
    """Three sums and three differences of words of so many bits."""
    kind = f"i{width}"
    lines = ["affine.for %i = 0 to 6 {"]
    for name in "ab":
        lines.append(f"%{name} = affine.load %in_{name}[%i] : memref<6xi64>")
        lines.append(f"%{name}0 = arith.extsi %{name} : i64 to {kind}")
        lines.append(f"%{name}1 = arith.muli %{name}0, %{name}0 : {kind}")
        lines.append(f"%{name}2 = arith.muli %{name}1, %{name}0 : {kind}")
    lines.append(f"%top = arith.constant {width - 64} : {kind}")
    for k in range(3):
        for position, op in ((2 * k, "addi"), (2 * k + 1, "subi")):
            v = f"%v{position}"
            lines.append(f"{v} = arith.{op} %a2, %b{k} : {kind}")
            lines.append(f"{v}s = arith.shrui {v}, %top : {kind}")
            lines.append(f"{v}x = arith.xori {v}s, {v} : {kind}")
            lines.append(f"{v}t = arith.trunci {v}x : {kind} to i64")
            lines.append(f"affine.store {v}t, %out[%i, {position}] : memref<6x6xi64>")
    mark = f'loop_name = "i", op_name = "S_i_0", pipeline_ii = {interval} : ui32'
    lines += [f"}} {{{mark}}}", "return"]
    word = ("memref<6xi64>", "i64")
    return function(
        "\n".join(lines), {"in_a": word, "in_b": word, "out": ("memref<6x6xi64>", "i64")}
    )


@ENGINES
def test_wide_sums_and_differences_share_a_unit(simulator: str) -> None:
    """Beyond some 170 bits an addition takes cycles on this device at this clock."""
    rtl = compare(wide(300, 6), "f", runs=3, simulator=simulator, clock_mhz=300)
    operators = rtl.report.functions[-1].operators
    adders = {name: count for name, count in operators.items() if not name.startswith("mul")}
    assert adders == {"addsub_i300": 1}


def sums(a: Int(300)[4], b: Int(300)[4], o: Int(300)[4]):
    for i in range(4):
        o[i] = a[i] + b[i]


@pytest.mark.filterwarnings("ignore::allo.errors.DTypeWarning")
def test_sums_alone_need_no_sign() -> None:
    s = allo.customize(sums)
    s.pipeline("i")
    operators = s.build(target="verilog", simulator="jit").report.functions[-1].operators
    assert operators == {"add_i301": 1}


@pytest.mark.parametrize("device", ["xcup", "ecp5"])
@pytest.mark.parametrize("width", [1, 8, 64, 300])
def test_the_unit_adds_and_subtracts(device: str, width: int) -> None:
    kind = f"i{width}"
    unit = OperatorLibrary(device, 200.0).find("arith.addi", (kind, kind, "i1"), kind)
    rng = np.random.default_rng(width)
    mask = (1 << width) - 1
    values = [
        0,
        1,
        mask,
        mask >> 1,
        *(int.from_bytes(rng.bytes(38), "little") & mask for _ in "abc"),
    ]
    for a in values:
        for b in values:
            assert evaluate(unit.netlist, {"a": a, "b": b, "c": 0}) == a + b & mask
            assert evaluate(unit.netlist, {"a": a, "b": b, "c": 1}) == a - b & mask
