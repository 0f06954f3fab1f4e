"""FIFOs of the whole design are emptied behind a reset and a run; the next starts in the cycle after."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import allo
import allo.dataflow as df
from allo.ir.types import Stream, int32
from tests.verilog.readers import with_icarus

RUNS = 50
_EMPTIED = re.compile(r"emptied <= rst \| \w+;")


@df.region()
def leaves_words(B: int32[3]):
    """Its first words come in the cycle after the start, and a run leaves some of them."""
    words: Stream[int32, 4]

    @df.kernel(mapping=[1])
    def put():
        for i in range(6):
            words.put(i + 70)

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[3]):
        for j in range(3):
            b[j] = words.get()


BENCH = """
module bench;
  reg clk = 0, rst = 1, start = 0;
  wire done, en, we;
  wire [1:0] place;
  wire [31:0] word;
  leaves_words dut(.clk(clk), .rst(rst), .start(start), .done(done),
    .B_0_p0_addr(place), .B_0_p0_en(en), .B_0_p0_we(we), .B_0_p0_wdata(word));
  integer cycle, runs = 0, words = 0, wrong = 0, gap = 0;
  initial begin
    for (cycle = 0; cycle < 5000 && runs < RUNS; cycle = cycle + 1) begin
      rst = cycle < 2;
      start = cycle == 2 || gap == 1;
      #1;
      gap = gap == 1 ? 0 : gap;
      if (!rst && (en & we) === 1'b1) begin
        wrong = wrong + (word !== 70 + words % 3 || place !== words % 3);
        words = words + 1;
      end
      if (!rst && done === 1'b1) begin runs = runs + 1; gap = 1; end
      clk = 1; #1; clk = 0; #1;
    end
    $display("%0d %0d %0d", runs, words, wrong);
  end
endmodule
"""


def built() -> str:
    schedule = allo.customize(leaves_words)
    for loop in ("put_0:i", "take_0:j"):
        schedule.pipeline(loop)
    return schedule.build(target="systemverilog")


def simulated(verilog: str, folder: Path) -> tuple[int, ...]:
    """(runs, words, wrong words) where each run starts in the cycle after the end of the one before."""
    (folder / "bench.sv").write_text(verilog + BENCH.replace("RUNS", str(RUNS)))
    build = ["iverilog", "-g2012", "-s", "bench", "-o", "bench", "bench.sv"]
    subprocess.run(build, cwd=folder, check=True, timeout=60)
    done = subprocess.run(
        ["vvp", "bench"], cwd=folder, capture_output=True, text=True, timeout=120, check=True
    )
    return tuple(int(word) for word in done.stdout.split())


@with_icarus
def test_runs_that_follow_each_other_at_once_find_no_words(tmp_path: Path) -> None:
    assert simulated(built(), tmp_path) == (RUNS, 3 * RUNS, 0)


@with_icarus
def test_fifos_that_only_a_reset_empties_are_found(tmp_path: Path) -> None:
    verilog = built()
    assert len(_EMPTIED.findall(verilog)) == 1
    runs, words, wrong = simulated(_EMPTIED.sub("emptied <= rst;", verilog), tmp_path)
    assert wrong or (runs, words) != (RUNS, 3 * RUNS)
