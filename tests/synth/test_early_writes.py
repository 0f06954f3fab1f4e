"""On ECP5, FIFOs of few words write into their free place in every cycle; words and cycles are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.export.writes_in_reset import writes_in_reset
from allo.backend.rtl.netlist.passes import run_passes
from allo.ir.types import Stream, int32
from tests.netlist.reader import lines_of, read_netlist

WORDS = 32


@df.region()
def uneven(A: int32[WORDS], B: int32[WORDS]):
    """Two FIFOs, of two words and of three, between processes of which each is slower at times."""
    one: Stream[int32, 2]
    two: Stream[int32, 3]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[WORDS]):
        for i in range(WORDS):
            if i < 8:
                for _ in range(9):
                    a[i] += 8
            one.put(a[i])

    @df.kernel(mapping=[1])
    def between():
        for _ in range(WORDS):
            word: int32 = one.get()
            two.put(word * word)

    @df.kernel(mapping=[1], args=[B])
    def last(b: int32[WORDS]):
        for i in range(WORDS):
            word: int32 = two.get()
            if i >= 8:
                for _ in range(9):
                    word += 1
            b[i] = word


def built(simulator: str) -> Any:
    return allo.customize(uneven).build(
        target="verilog", simulator=simulator, device="ecp5", clock_mhz=100
    )


def run(hardware: Any) -> tuple[np.ndarray, int]:
    a = np.random.default_rng(3).integers(0, 1000, WORDS).astype(np.int32)
    out = np.zeros(WORDS, np.int32)
    hardware(a, out)
    return out, hardware.cycles


def test_words_and_cycles_are_those_of_a_fifo_that_writes_words_alone() -> None:
    expected = np.zeros(WORDS, np.int32)
    a = np.random.default_rng(3).integers(0, 1000, WORDS).astype(np.int32)
    allo.customize(uneven).build()(a, expected)
    plain, early = run(built("jit")), run(built("verilator"))
    assert np.array_equal(plain[0], expected)
    assert np.array_equal(early[0], expected)
    assert plain[1] == early[1]


def test_a_write_where_there_is_no_room_is_found() -> None:
    hardware = built("verilator")
    right = "if (~full)\n      stored[tail]"
    assert hardware.design.verilog.count(right) == 2
    wrong = hardware.design.verilog.replace(right, "if (clk | ~clk)\n      stored[tail]")
    hardware.design.verilog = wrong
    assert not np.array_equal(run(hardware)[0], run(built("jit"))[0])


FIFO = [
    "hw.module private @fifo_8x2(in %clk : !seq.clock, in %rst : i1, in %in_data : i8, in %tail : i1, "
    "in %room : i1, in %put : i1, out in_ready : i1, out fill : i1) {",
    "  %stored = seq.hlmem @stored %clk, %rst : <2xi8>",
    "  seq.write %stored[%tail] %in_data wren %put { latency = 1} : !seq.hlmem<2xi8>",
    "  hw.output %room, %put : i1, i1",
    "}",
]


def test_the_enable_is_what_says_that_there_is_room() -> None:
    made = lines_of(run_passes(read_netlist("\n".join(FIFO)), "ecp5"))
    assert made == [line.replace("wren %put", "wren %room") for line in FIFO]


@pytest.mark.parametrize(
    ("device", "name"), [("xcup", "@fifo_8x2"), ("ecp5", "@other"), ("ecp5", "@fifo")]
)
def test_other_text_stays(device: str, name: str) -> None:
    text = "\n".join(FIFO).replace("@fifo_8x2", name)
    assert lines_of(run_passes(read_netlist(text), device)) == text.split("\n")


GUARDED = """  always_ff @(posedge clk) begin
    if (rst) begin
    end
    else begin
      if (~full)
        stored[tail] <= in_data;
    end
  end // always_ff @(posedge)
"""
UNGUARDED = """  always_ff @(posedge clk) begin
    if (~full)
      stored[tail] <= in_data;
  end // always_ff @(posedge)
"""


@pytest.mark.parametrize(
    ("name", "device", "written"),
    [
        ("fifo_8x2", "ecp5", UNGUARDED),
        ("elastic_8x4", "ecp5", UNGUARDED),
        ("kernel", "ecp5", GUARDED),
        ("fifo_8x2", "xcup", GUARDED),
    ],
)
def test_a_reset_keeps_no_fifo_from_writing(name: str, device: str, written: str) -> None:
    text = "module {}(\n  input clk\n);\n{}endmodule\n"
    assert writes_in_reset(text.format(name, GUARDED), device) == text.format(name, written)


def test_the_fifos_of_a_design_write_in_a_reset() -> None:
    assert "    if (rst) begin\n    end\n" not in built("jit").design.verilog
