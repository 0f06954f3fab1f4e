"""FIFO modules: those of block RAM are, cycle for cycle, those of one memory that is read at once."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import allo.dataflow as df
from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.emit.deep_fifo import deep_fifo_module, fifo_of
from allo.backend.rtl.emit.fifo import fifo_module
from allo.backend.rtl.netlist.modules import Netlist
from allo.backend.rtl.resources.design import module_resources, whole
from allo.ir.types import Stream, UInt
from tests.verilog.readers import with_icarus

CYCLES = 60_000

BENCH = """
module bench;
  reg clk = 0, rst = 1;
  reg [{top}:0] data = 0;
  reg valid = 0, ready = 0;
  wire [{top}:0] out_a, out_b;
  wire ready_a, ready_b, valid_a, valid_b;
  wire [{bits}:0] fill_a, fill_b;
  fifo_{width}x{depth} a(.clk(clk), .rst(rst), .in_data(data), .in_valid(valid), .out_ready(ready),
    .in_ready(ready_a), .out_data(out_a), .out_valid(valid_a), .fill(fill_a));
  deep b(.clk(clk), .rst(rst), .in_data(data), .in_valid(valid), .out_ready(ready),
    .in_ready(ready_b), .out_data(out_b), .out_valid(valid_b), .fill(fill_b));
  integer cycle, puts, gets, held = 0, words = 0, full = 0;
  initial begin
    puts = 8; gets = 8;
    for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin
      rst = cycle < 2 || cycle % 9973 == 0;
      if (cycle % 53 == 0) begin puts = $urandom % 17; gets = $urandom % 17; end
      valid = $urandom % 16 < puts; ready = $urandom % 16 < gets; data = $urandom;
      #1;
      if (cycle > 2) begin
        if (ready_a !== ready_b || valid_a !== valid_b || fill_a !== fill_b
            || (valid_a && out_a !== out_b)) begin
          $display("DIFFER in cycle %0d: %b%b %0d %0d", cycle, valid_a, valid_b, out_a, out_b);
          $finish;
        end
        if (fill_a !== held || valid_a !== (held > 0) || ready_a !== (held < {depth})) begin
          $display("HOLDS %0d in cycle %0d: %0d %b%b", held, cycle, fill_a, valid_a, ready_a);
          $finish;
        end
        words = words + (valid_a && ready); full = full + !ready_a;
      end
      held = rst ? 0 : held + (valid && held < {depth}) - (ready && held > 0);
      clk = 1; #1; clk = 0;
    end
    $display("EQUAL %0d %0d", words, full);
  end
endmodule
"""


@with_icarus
@pytest.mark.parametrize("depth", [2, 3, 5, 8, 13])
def test_a_fifo_of_block_ram_is_that_of_one_memory(depth: int, tmp_path: Path) -> None:
    """Ready, valid, fill and words in every cycle, at rates that change, with resets.

    The bench counts the words held by itself.
    """
    width = 12
    plain = fifo_module(width, depth, bypass=False).module(private=False).text()
    deep = replace(deep_fifo_module(width, depth).module(private=False), name="deep").text()
    bits = depth.bit_length() - 1
    bench = BENCH.format(top=width - 1, bits=bits, width=width, depth=depth, cycles=CYCLES)
    (tmp_path / "bench.sv").write_text(export_verilog(f"{plain}\n{deep}\n") + bench)
    build = ["iverilog", "-g2012", "-s", "bench", "-o", "bench", "bench.sv"]
    subprocess.run(build, cwd=tmp_path, check=True, timeout=60)
    done = subprocess.run(
        ["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    verdict, words, full = done.stdout.split()
    assert verdict == "EQUAL", done.stdout
    assert int(words) > CYCLES / 4 and int(full) > CYCLES / 20


# --- which memory -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "depth", "device", "blocks"),
    [
        (512, 1024, "xcup", {"bram": 29}),
        (32, 512, "ecp5", {"bram": 1}),
        (72, 4096, "xcup", {"uram": 1}),
        (72, 4096, "xc7", {"bram": 16}),
        (32, 4096, "xcup", {"bram": 8}),
        (64, 128, "xcup", {}),
        (512, 64, "xcup", {}),
    ],
)
def test_the_memory_of_a_fifo_is_chosen_by_its_size(
    width: int, depth: int, device: str, blocks: dict[str, int]
) -> None:
    """Half full, and by the smaller share of what the largest device has; small ones are lookup tables."""
    made = fifo_of(width, depth, bypass=False)
    found = whole(module_resources(Netlist([made.module(private=False)]), device), made.name)
    assert {kind: found[kind] for kind in ("bram", "uram") if kind in found} == blocks
    assert bool(blocks) == ("lutram" not in found)


def buffered(words: int):
    """Two FIFOs: a large one of ``words``, and one of 512."""

    @df.region()
    def buffered_sums(source: UInt(64)[words], target: UInt(64)[words]):
        before: Stream[UInt(64), words]
        behind: Stream[UInt(64), 512]

        @df.kernel(mapping=[1], args=[source])
        def feed(values: UInt(64)[words]):
            for i in range(words):
                before.put(values[i])

        @df.kernel(mapping=[1])
        def add():
            for i in range(words):
                behind.put(before.get() + 1)

        @df.kernel(mapping=[1], args=[target])
        def keep(values: UInt(64)[words]):
            for i in range(words):
                values[i] = behind.get()

    return df.customize(buffered_sums)


@pytest.mark.slow
def test_yosys_makes_of_large_fifos_the_blocks_that_the_estimate_counts() -> None:
    built = buffered(8192).build(target="verilog", simulator="jit", device="xcup", clock_mhz=200)
    assert str(built).count('(* no_rw_check, ram_style = "ultra" *)') == 1
    assert str(built).count("(* no_rw_check *)") == 1
    found, estimate = built.synthesize().resources, built.report.resources
    assert (found["uram"], found["bram"], found["lutram"]) == (2, 2, 0)
    assert (estimate["uram"], estimate["bram"], estimate.get("lutram", 0)) == (2, 2, 0)


def test_both_engines_pass_words_through_large_fifos_in_the_same_cycles() -> None:
    """The in-process engine has one memory in place of the blocks and the registers around them."""
    s = buffered(600)
    given = np.random.default_rng(3).integers(0, 1 << 63, 600, dtype=np.uint64)
    cycles = []
    for simulator in ("jit", "verilator"):
        built = s.build(target="verilog", simulator=simulator)
        got = np.zeros(600, np.uint64)
        built(given, got)
        np.testing.assert_array_equal(got, given + 1)
        cycles.append(built.cycles)
    assert cycles[0] == cycles[1]
    assert "no_rw_check" in str(built)
