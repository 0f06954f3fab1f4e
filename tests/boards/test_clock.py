"""Clocks of boards: held against the vendors' limits and against ecppll, and refused with the nearest two."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from allo import boards
from allo.boards.flow import clock
from allo.errors import BoardError

OPEN = [name for name in boards.boards() if boards.board(name).tools == "open"]


@pytest.mark.parametrize("name", OPEN)
def test_every_clock_is_within_the_limits_of_the_sheet(name: str) -> None:
    board = boards.board(name)
    pll = board.pll
    made = [s for s in clock.settings(board) if s.generated]
    assert len(made) > 100
    for s in made:
        compared = board.oscillator_mhz / s.reference
        vco = compared * s.feedback * (s.output if pll.behind_output else 1)
        assert s.mhz == pytest.approx(vco / s.output)
        assert pll.reference_mhz[0] <= compared <= pll.reference_mhz[1]
        assert pll.vco_mhz[0] <= vco <= pll.vco_mhz[1]


@pytest.mark.parametrize("mhz", [30, 48, 62.5, 80, 87.5, 100, 133, 200])
def test_a_clock_is_no_farther_than_that_of_ecppll(mhz: float, tmp_path: Path) -> None:
    tool = Path(sys.executable).with_name("yowasp-ecppll")
    said = subprocess.run(
        [tool, "-i", "25", "-o", str(mhz), "-f", "pll.v"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = float(re.search(r"clkout0 frequency: ([\d.]+) MHz", said.stdout)[1])
    ours = min(
        (s.mhz for s in clock.settings(boards.board("ulx3s-85f"))), key=lambda f: abs(f - mhz)
    )
    assert abs(ours - mhz) <= abs(theirs - mhz) + 1e-6 or abs(ours - mhz) < 0.01 * mhz


def test_a_clock_that_cannot_be_made_gets_the_nearest_two() -> None:
    with pytest.raises(BoardError) as caught:
        clock.asked(boards.board("icebreaker"), 50)
    assert "cannot make a clock of 50 MHz from its oscillator of 12 MHz." in str(caught.value)
    assert "take clock_mhz=49.5 or clock_mhz=50.25" in str(caught.value)


def test_the_oscillator_needs_no_generator() -> None:
    board = boards.board("icebreaker")
    text = clock.verilog(board, clock.asked(board, 12))
    assert "assign clock = oscillator;" in text and "SB_PLL40" not in text
    made = clock.verilog(board, clock.asked(board, 48))
    assert ".DIVR(0), .DIVF(63), .DIVQ(4)" in made and ".FILTER_RANGE(1)" in made
