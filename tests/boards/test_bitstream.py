"""Bitstreams of a real board by the real tools, and what is said where one cannot be made."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

import allo
from allo import boards
from allo.backend.synth import Routing
from allo.backend.synth.tools import Tool
from allo.boards import registry
from allo.boards.flow import bitstream
from allo.boards.flow.fit import check_fit
from allo.boards.flow.tools import Flow
from allo.boards.shell import shell_of
from allo.cli import main
from allo.errors import AlloWarning, BoardError, BuildError, CapacityError, TimingError
from allo.ir.types import int32

BOARD = "icebreaker"


def mixed(A: int32[8]) -> int32:
    mix: int32 = 1
    for i in range(8):
        x: int32 = (mix + 3) ^ mix
        y: int32 = (x + mix) ^ x
        mix = ((y + x) ^ y) + A[i]
    return mix


@pytest.fixture(scope="module")
def slow():
    """A design whose sums are one long path: it is pipelined for 4 MHz."""
    return allo.customize(mixed).build(target="verilog", board=BOARD, clock_mhz=4)


def test_a_clock_that_is_not_reached_shows_the_path_in_python(slow, tmp_path: Path) -> None:
    with pytest.raises(TimingError) as caught:
        slow.bitstream(tmp_path / "x.bin", clock_mhz=48)
    error = caught.value
    assert "MHz on 1BitSquared iCEBreaker, and 48 MHz is asked for." in str(error)
    assert "try more seeds (seeds=4), or build it for a faster clock" in str(error)
    first, added, *lines = error.__notes__
    assert first.startswith("The slowest path is from ") and "test_bitstream.py:" in first
    assert " ns are, in " in added and "logic " in added and "routing " in added
    assert 0 < len(lines) <= 6
    assert all(" ns  " in line and "test_bitstream.py:" in line for line in lines)
    assert not (tmp_path / "x.bin").exists()


def test_a_bitstream_is_made_once_and_read_by_icestorm(tmp_path: Path) -> None:
    def add(A: int32[8], B: int32[8]) -> int32[8]:
        C: int32[8] = 0
        for i in range(8):
            C[i] = A[i] + B[i]
        return C

    mod = allo.customize(add).build(target="verilog", board=BOARD)
    made = mod.bitstream(tmp_path / "x.bin", clock_mhz=12)
    assert made.board == BOARD and made.clock_mhz == 12 and made.fmax_mhz > 12
    assert 300 < made.cells["lut"][0] < made.cells["lut"][1] == 5280 and made.cells["bram"][0] > 0
    assert "icebreaker at 12 MHz" in str(made) and len(made.digest) == 8
    steps = []
    again = mod.bitstream(tmp_path / "y.bin", clock_mhz=12, progress=steps.append)
    assert steps == [] and again.digest == made.digest
    assert (tmp_path / "y.bin").read_bytes() == (tmp_path / "x.bin").read_bytes()
    plan = made.floorplan()
    assert plan.count("memory") == made.cells["bram"][0]
    assert plan.count("design") > 10 and plan.count("pin") == 5
    drawn = ElementTree.fromstring(plan.svg())
    assert len(drawn.findall("{http://www.w3.org/2000/svg}rect")) == len(plan.tiles) + 4
    unpack = Path(sys.executable).with_name("yowasp-iceunpack")
    text = subprocess.run(
        [unpack, "x.bin", "x.asc"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert text.returncode == 0 and ".device 5k" in (tmp_path / "x.asc").read_text()


def test_a_led_that_zero_lights_is_inverted(slow) -> None:
    for name, text in (("icebreaker", "led = ~running;"), ("ulx3s-85f", "led = running;")):
        assert f"  assign {text}" in shell_of(slow, boards.board(name), 12, 1_000_000).verilog


def test_a_design_that_does_not_fit_names_its_users_and_a_board(slow) -> None:
    used = {"lut": 9_000, "ff": 6_000, "dsp": 2, "bram": 12, "uram": 0}
    with pytest.raises(CapacityError) as caught:
        check_fit(boards.board(BOARD), used, slow.report)
    said = str(caught.value)
    assert "takes 9,000 lookup tables, and 1BitSquared iCEBreaker has 5,280: 3,720 too many" in said
    assert "and 6,000 of 5,280 flip-flops." in said
    assert "its largest users are mixed" in said and "it fits board='tang-nano-20k'" in said


def test_the_memory_of_an_argument_is_named_where_it_does_not_fit() -> None:
    def summed(A: int32[16384], b: int32[4]) -> int32:
        total: int32 = b[0]
        for i in range(16384):
            total += A[i]
        return total

    mod = allo.customize(summed).build(target="verilog", board=BOARD)
    memories = shell_of(mod, boards.board(BOARD), 12, 1_000_000).memories
    assert memories == {"A": 16384 * 32, "b": 4 * 32}
    used = {"lut": 900, "ff": 600, "dsp": 0, "bram": 128, "uram": 0}
    with pytest.raises(CapacityError) as caught:
        check_fit(boards.board(BOARD), used, mod.report, memories)
    said = str(caught.value)
    assert "takes 128 blocks of RAM, and 1BitSquared iCEBreaker has 30: 98 too many." in said
    assert "its largest users are the memory of argument A (128), " in said


def test_a_design_that_fits_no_board_says_so(slow) -> None:
    used = {"lut": 900_000, "ff": 6_000, "dsp": 2, "bram": 12, "uram": 0}
    with pytest.raises(CapacityError, match="no board with open tools that is known here has room"):
        check_fit(boards.board(BOARD), used, slow.report)


def test_a_pin_that_a_board_lacks_is_named(slow, tmp_path: Path) -> None:
    board = boards.board(BOARD)
    pins = {role: pin for role, pin in board.pins.items() if role != "serial_tx"}
    with pytest.raises(BoardError) as caught:
        bitstream(slow, tmp_path / "x.bin", replace(board, pins=pins))
    assert "The board 'icebreaker' has no pin for 'serial_tx', which the design needs." in str(
        caught.value
    )
    assert "it has pins for clock, serial_rx, reset, led, button" in str(caught.value)


def test_a_clock_that_the_generator_cannot_make_gets_the_nearest_two(slow, tmp_path) -> None:
    with pytest.raises(BoardError, match=r"take clock_mhz=49\.5 or clock_mhz=50\.25"):
        slow.bitstream(tmp_path / "x.bin", clock_mhz=50)


@pytest.mark.parametrize(
    ("board", "used", "told"),
    [
        ("tang-nano-9k", {"dsp": 0, "bram": 3}, "memory, comparison to logic"),
        ("tang-nano-9k", {"dsp": 1, "bram": 0}, "product, comparison to logic"),
        ("gatemate-evb", {"dsp": 0, "bram": 0}, "sum, comparison, so that a clock of 10 MHz"),
        ("icebreaker", {"dsp": 2, "bram": 3}, "product, so that a clock of 12 MHz"),
        ("icebreaker", {"dsp": 0, "bram": 3}, None),
    ],
)
def test_a_clock_is_warned_of_where_a_path_is_not_timed(
    board, used, told, slow, tmp_path, monkeypatch
) -> None:
    """The tools say what they would of such a design: they need not be installed."""
    found = {"lut": 9, "ff": 9, "uram": 0, **used}

    class Answered(Flow):
        count = lambda *_: (None, found)  # noqa: E731
        route = lambda *_: Routing("part", 24.0, 30.0)  # noqa: E731
        packed = lambda *_: b"bits"  # noqa: E731
        kept = lambda *_: Path("absent")  # noqa: E731

    monkeypatch.setattr("allo.boards.flow.tools.find_tool", lambda *names: Tool("tool", "1"))
    monkeypatch.setattr("allo.boards.flow.make.Flow", Answered)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = bitstream(
            slow,
            tmp_path / "x.bit",
            boards.board(board),
            clock_mhz=boards.board(board).oscillator_mhz,
        )
    said = [str(w.message) for w in caught if issubclass(w.category, AlloWarning)]
    assert (told is None and not said) or (told in said[0] and len(said) == 1)
    assert bool(made.untimed) == (told is not None)
    with pytest.raises(BuildError, match="is no longer in the cache"):
        made.floorplan()


def test_boards_that_are_unknown_missing_or_of_another_family_are_refused(tmp_path) -> None:
    s = allo.customize(mixed)
    with pytest.raises(BoardError, match="icebraker") as caught:
        s.build(target="verilog", board="icebraker")
    assert "icebreaker" in str(caught.value)
    with pytest.raises(
        BoardError, match="has a device of the family 'ice40', and device='ecp5' is"
    ):
        s.build(target="verilog", board=BOARD, device="ecp5")
    with pytest.raises(BoardError, match="mixed was built for no board, so its bitstream has no"):
        s.build(target="verilog").bitstream(tmp_path / "x.bin")


def test_boards_are_listed_and_a_file_that_is_not_there_is_not_programmed(capsys) -> None:
    assert main(["boards"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in boards.boards()) and "iCE40UP5K-SG48" in said
    assert main(["program", "absent.bin", "--board", BOARD]) == 1
    assert "BoardError: There is no bitstream absent.bin." in capsys.readouterr().err


def test_a_link_is_asked_for_on_the_command_line(tmp_path, monkeypatch, capsys) -> None:
    file = tmp_path / "add.py"
    file.write_text(
        "import allo\nfrom allo.ir.types import int32\n\n"
        "def add(a: int32, b: int32) -> int32:\n    return a + b\n"
    )
    asked = ["bitstream", f"{file}:add", "--board", "upduino-3", "-o", str(tmp_path / "x.bin")]
    assert main([*asked, "--link", "fifo245"]) == 1
    assert "has no pin for 'fifo_d[0]', which link='fifo245' needs" in capsys.readouterr().err
    assert main([*asked, "--link", "fifo"]) != 0
    assert "'uart' or 'fifo245'" in capsys.readouterr().err
    links = []
    monkeypatch.setattr(
        "allo.backend.sim.RTLModule.bitstream",
        lambda mod, *given, **options: links.append(mod.options.link) or SimpleNamespace(table=str),
    )
    asked[3] = BOARD
    assert main([*asked, "--link", "fifo245"]) == 0 and main(asked) == 0
    assert links == ["fifo245", "uart"]


def test_a_board_of_a_users_own_is_one_file(tmp_path, monkeypatch) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import replace\n\nfrom allo import boards\nfrom allo.ir.types import int32\n\n"
        "boards.register(replace(boards.board('icebreaker'), name='mine', title='Mine'))\n\n\n"
        "def add(a: int32, b: int32) -> int32:\n    return a + b\n"
    )
    monkeypatch.setattr(registry._REGISTRY, "_table", registry._REGISTRY.table())
    made = []
    monkeypatch.setattr(
        "allo.backend.sim.RTLModule.bitstream",
        lambda mod, *given, **options: made.append(mod) or SimpleNamespace(table=str),
    )
    assert main(["bitstream", f"{file}:add", "--board", "mine", "-o", str(tmp_path / "x.bin")]) == 0
    assert made[0].options.board == "mine" and made[0].report.clock_mhz == 25


def test_a_board_is_not_programmed_without_the_loader(tmp_path, monkeypatch, capsys) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(b"x")
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert main(["program", str(file), "--board", BOARD]) == 1
    assert "ToolMissingError: openFPGALoader is not installed." in capsys.readouterr().err
