"""Products between registers are multiplier blocks with these registers on ECP5, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend import devices
from allo.backend.rtl.export.block_cells import block_module
from allo.backend.rtl.netlist.blocks import BlockShape
from allo.backend.rtl.netlist.passes import run_passes
from allo.backend.synth.tools import find_yosys, run
from allo.errors import ToolFailedError
from allo.ir.types import UInt, int8, int16, int32, uint8
from tests.netlist.reader import lines_of, read_netlist
from tests.verilog.readers import lint

BLOCK = devices.family("ecp5").cells.registered
assert BLOCK is not None
MODEL = Path(__file__).with_name("mult18x18d.v")
SHAPES = [
    BlockShape(a, b, result, a_signed, b_signed, gated)
    for a, b, result, gated in (
        (3, 4, 7, False),
        (4, 3, 5, True),
        (3, 3, 3, False),
        (2, 4, 24, True),
    )
    for a_signed in (False, True)
    for b_signed in (False, True)
]


def compared(folder: Path, shape: BlockShape, block: str) -> bool:
    """Prove by Yosys that a block does in six cycles what its text for simulation does; raises otherwise."""
    (folder / "block.sv").write_text(block)
    (folder / "text.sv").write_text(block_module(shape, BLOCK))
    (folder / "model.v").write_text(MODEL.read_text())
    script = (
        f"read_verilog -sv block.sv model.v; hierarchy -top {shape.module}; proc; flatten; opt_clean; "
        f"rename {shape.module} cell; delete MULT18X18D; "
        f"read_verilog -sv -nosynthesis text.sv; proc; rename {shape.module} text; "
        "miter -equiv -flatten cell text both; hierarchy -top both; "
        "sat -verify -set-init-zero -seq 6 -prove trigger 0 both"
    )
    run(find_yosys(), ["-q", "-p", script], folder, what="Proof", timeout=300)
    return True


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.module)
def test_the_block_is_what_its_text_for_simulation_says(tmp_path: Path, shape: BlockShape) -> None:
    assert compared(tmp_path, shape, block_module(shape, BLOCK))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (".SIGNEDA(1'b1)", ".SIGNEDA(1'b0)"),
        ('.REG_OUTPUT_CLK("CLK0")', '.REG_OUTPUT_CLK("NONE")'),
        (".CE0(ce)", ".CE0(1'b1)"),
        (".A2(wide_a[2])", ".A2(wide_a[1])"),
    ],
)
def test_a_wrong_block_is_found(tmp_path: Path, right: str, wrong: str) -> None:
    shape = BlockShape(3, 4, 24, True, False, True)
    text = block_module(shape, BLOCK)
    assert right in text
    with pytest.raises(ToolFailedError):
        compared(tmp_path, shape, text.replace(right, wrong))


def products(
    a: int8[64], b: int8[64], c: int8[64], d: uint8[64], e: int16[64], f: UInt(18)[64], g: UInt(12)[64],
    out: int32[64, 4],
):  # fmt: skip
    for i in range(64):
        out[i, 0] = a[i] * b[i] + 1
        out[i, 1] = c[i] * d[i] + 1
        out[i, 2] = e[i] * e[i] + 1
        out[i, 3] = f[i] * g[i] + 1


RANGES = (
    (-128, 127, np.int8), (-128, 127, np.int8), (-128, 127, np.int8), (0, 255, np.uint8),
    (-(2**15), 2**15 - 1, np.int16), (0, 2**18 - 1, np.uint32), (0, 2**12 - 1, np.uint16),
)  # fmt: skip


def arguments() -> list[np.ndarray]:
    """Random operands, with the ends of their ranges."""
    random = np.random.default_rng(5)
    found = []
    for place, (low, high, kind) in enumerate(RANGES):
        values = random.integers(low, high + 1, 64).astype(kind)
        values[:4] = [low, high, low, high] if place % 2 else [low, low, high, high]
        found.append(values)
    return found


def built(simulator: str) -> Any:
    s = allo.customize(products)
    s.pipeline("i")
    s.partition(s.out, dim=2)
    return s.build(target="verilog", simulator=simulator, device="ecp5", clock_mhz=100)


@pytest.mark.parametrize("primitive", [False, True], ids=["text", "block"])
def test_designs_compute_the_same_with_blocks(primitive: bool) -> None:
    hardware = built("verilator")
    verilog = hardware.design.verilog
    for shape in ("s8_s8_16", "s8_u8_16", "s16_s16_32", "u18_u12_30"):
        assert f"  product_{shape} " in verilog
    if primitive:
        hardware.design.verilog = f"`define SYNTHESIS\n{verilog}\n{MODEL.read_text()}"
    given = arguments()
    out = np.zeros((64, 4), np.int32)
    hardware(*given, out)
    a, b, c, d, e, f, g = (x.astype(np.int64) for x in given)
    assert np.array_equal(out, np.stack([a * b, c * d, e * e, f * g], 1).astype(np.int32) + 1)


def test_verilator_has_no_warning(tmp_path: Path) -> None:
    design = built("jit").design
    assert lint(design.verilog, design.top, tmp_path) == []


def test_yosys_takes_what_the_estimate_says() -> None:
    hardware = built("jit")
    found, estimate = hardware.synthesize(), hardware.report.resources
    assert found.dsp == estimate["dsp"] == 4
    assert estimate["ff"] == pytest.approx(found.ff, rel=0.1)


HEAD = "hw.module @m(in %clk : !seq.clock, in %rst : i1, in %en : i1, in %x : i8, in %y : i8, out r : i16) {"
CHAIN = [
    "  %a = seq.compreg %x, %clk : i8",
    "  %b = seq.compreg %y, %clk : i8",
    "  %0 = comb.extract %a from 7 : (i8) -> i1",
    "  %1 = comb.replicate %0 : (i1) -> i8",
    "  %2 = comb.concat %1, %a : i8, i8",
    "  %3 = hw.constant 0 : i8",
    "  %4 = comb.concat %3, %b : i8, i8",
    "  %5 = comb.mul %2, %4 : i16",
    "  %p = seq.compreg %5, %clk : i16",
    "  hw.output %p : i16",
    "}",
]


def test_a_product_between_registers_is_a_block() -> None:
    netlist = run_passes(read_netlist("\n".join([HEAD, *CHAIN])), "ecp5")
    shapes = [module.block for module in netlist.modules if module.block is not None]
    assert shapes == [BlockShape(8, 8, 16, True, False, False)]
    text = netlist.body_text()
    assert "comb.mul" not in text and "compreg" not in text
    assert "@product_s8_u8_16(clk: %clk: !seq.clock, a: %x: i8, b: %y: i8) -> (p: i16)" in text


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        (0, "  %a = seq.compreg %x, %clk reset %rst, %3 : i8"),  # a reset
        (0, "  %a = seq.compreg.ce %x, %clk, %en : i8"),  # an enable that the others do not have
        (8, "  %p = seq.compreg.ce %5, %clk, %en : i16"),
        (2, "  %0 = comb.extract %a from 6 : (i8) -> i1"),  # not the sign
        (2, "  %0 = comb.extract %b from 7 : (i8) -> i1"),
        (9, "  hw.output %5 : i16"),  # something else reads the product
        (9, "  hw.output %2 : i16"),  # or an operand
    ],
)
def test_other_products_stay(line: int, instead: str) -> None:
    chain = [*CHAIN]
    chain[line] = instead
    assert lines_of(run_passes(read_netlist("\n".join([HEAD, *chain])), "ecp5")) == [HEAD, *chain]


def test_other_families_keep_their_text() -> None:
    assert lines_of(run_passes(read_netlist("\n".join([HEAD, *CHAIN])), "xcup")) == [HEAD, *CHAIN]
