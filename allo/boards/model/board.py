"""``simulate(mod)``: shell and core in Verilator, in a process of its own, behind a pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tty
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from allo.backend.devices import family
from allo.backend.sim import RTLModule
from allo.backend.sim.engines.verilator.compile import inlining_flags
from allo.backend.sim.engines.verilator.runtime import Runtime
from allo.backend.sim.engines.verilator.tools import find_compiler, find_verilator, run
from allo.dialects.caches.files import cached, content_key
from allo.dialects.diagnostics import BoardError
from allo.dialects.processes.tools import Programs
from allo.dialects.text.near import did_you_mean
from allo.dialects.text.shown import shown

from ..flow import netlist as netlist_of
from ..record import Board, Pin
from ..registry import board as board_of
from ..shell import Shell, shell_of
from ..shell.protocol import BAUD
from .netlist import families, verilog_of

SYNTHESISED, ROUTED = "synthesised", "routed"
STAGES = (SYNTHESISED, ROUTED)
_CLOCK_MHZ = 4.0

_HARNESS = Path(__file__).with_name("harness.cpp")
_PINS = {role: Pin(role) for role in ("clock", "serial_rx", "serial_tx", "reset", "led[0]")}
_CLOCK = """
// The clock generator of a board, for simulation: the oscillator itself.
module allo_clock (input oscillator, output clock, output locked);
  assign clock = oscillator;
  assign locked = 1'b1;
endmodule
"""


class SimulatedPort(str):
    """The name of the port of a simulated board, and what can be done to its line."""

    _process: subprocess.Popen[bytes]
    _files: list[int]

    def errors(self, *, flip: int = 0, lose: int = 0, double: int = 0, seed: int = 1) -> None:
        """Damage the line: bytes in a million with a wrong bit, lost, or sent twice."""
        self._tell(f"rates {flip} {lose} {double} {seed}")

    def press_reset(self) -> None:
        """Press the button of the reset."""
        self._tell("reset")

    def pull(self) -> None:
        """Pull the cable: the port is gone."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        while self._files:
            os.close(self._files.pop())

    def _tell(self, text: str) -> None:
        if self._process.stdin is not None and self._process.stdout is not None:
            self._process.stdin.write(f"{text}\n".encode())
            self._process.stdin.flush()
            self._process.stdout.read(1)


@dataclass(frozen=True, slots=True)
class _Design:
    """What is simulated.

    Attributes:
        verilog, top: the text, and its top module.
        clock_mhz: the clock of the design.
        defines: macros of the harness.
    """

    verilog: str
    top: str
    clock_mhz: float
    defines: tuple[str, ...]


@contextlib.contextmanager
def simulate(
    mod: RTLModule,
    *,
    netlist: str | None = None,
    clock_mhz: float | None = None,
    timeout: float = 600.0,
) -> Iterator[SimulatedPort]:
    """The name of a pseudo-terminal behind which the design runs on a board.

    Args:
        netlist: what runs there: None for the Verilog of the design in its shell; ``"synthesised"`` for what
            Yosys makes of it for the board of the build, ``"routed"`` for what nextpnr has placed and routed.
        clock_mhz: of the design; a bit of 1,000,000 baud takes so many clocks. None is 4 MHz, and
            for netlists the clock of ``mod.bitstream``.
        timeout: seconds that making the model may take, and each run of Yosys and nextpnr.

    Raises:
        BoardError: the build names no board, or there are no models of its cells.
        ToolMissingError, ToolFailedError: Verilator or the C++ compiler; Yosys or nextpnr.
    """
    if netlist is None:
        design = _plain(mod, _CLOCK_MHZ if clock_mhz is None else clock_mhz)
    else:
        design = _netlist(mod, netlist, clock_mhz, timeout)
    program = _program(design, timeout)
    device, terminal = os.openpty()
    tty.setraw(terminal)
    port = SimulatedPort(os.ttyname(terminal))
    divider = str(round(design.clock_mhz * 1e6 / BAUD))
    port._files = [device, terminal]
    port._process = subprocess.Popen(
        [str(program), str(device), divider],
        pass_fds=[device],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield port
    finally:
        port.pull()


def _plain(mod: RTLModule, clock_mhz: float) -> _Design:
    """The Verilog of a design in its shell."""
    board = Board(
        name="simulated", title="a simulated board", family="generic", part="", resources={},
        oscillator_mhz=clock_mhz, pins=_PINS,
    )  # fmt: skip
    shell = shell_of(mod, board, clock_mhz, BAUD)
    return _Design(shell.verilog + _CLOCK, shell.top, clock_mhz, _defines(board, shell))


def _netlist(mod: RTLModule, stage: str, clock_mhz: float | None, timeout: float) -> _Design:
    """What the tools make of a design for its board, with models of the cells."""
    if stage not in STAGES:
        raise BoardError(
            f"There is no netlist {shown(stage)}.",
            help=f"{did_you_mean(str(stage), STAGES)}it is {' or '.join(map(repr, STAGES))}.",
        )
    if mod.options.board is None:
        raise BoardError(
            f"{mod.top_func_name} was built for no board, so it has no netlist.",
            help='name one: s.build(target="verilog", board="icebreaker").',
        )
    board = board_of(mod.options.board)
    if board.family not in families():
        raise BoardError(
            f"There are no models of the cells of {family(board.family).title}.",
            help=f"netlists of {', '.join(families())} are simulated.",
        )
    made = netlist_of(mod, board, clock_mhz=clock_mhz, routed=stage == ROUTED, timeout=timeout)
    text = verilog_of(made.modules, made.shell.top, board.family)
    return _Design(text, made.shell.top, made.clock_mhz, _defines(board, made.shell))


def _defines(board: Board, shell: Shell) -> tuple[str, ...]:
    """Which level of the button is at rest, and which one of the LED says that the core runs."""
    ports = {name for name, *_ in shell.ports}
    off = int(board.pins["reset"].low) if "reset" in ports else 0
    led = board.pins.get("led", board.pins.get("led[0]"))
    running = (
        ("!top->led" if led is not None and led.low else "top->led") if "led" in ports else "1"
    )
    reset = "top->reset" if "reset" in ports else "unused"
    return (f"RESET_OFF {off}", f"RUNNING ({running})", f"RESET {reset}")


def _program(design: _Design, timeout: float) -> Path:
    """The simulator of a board's Verilog, from the cache or made now."""
    runtime = Runtime(find_verilator(), find_compiler(), "", timeout)
    harness = "".join(f"#define {text}\n" for text in design.defines) + _HARNESS.read_text()

    def make(build: Path) -> None:
        (build / "board.sv").write_text(design.verilog)
        root = {"VERILATOR_ROOT": str(runtime.verilator.root)}
        verilate = [
            str(runtime.verilator.program), "--cc", "-O3", "-fno-dfg", "--x-assign", "fast",
            "--no-timing", "--output-split", "0", "-Wno-lint", "-Wno-style", "-Wno-fatal",
            "-Wno-TIMESCALEMOD", *inlining_flags(runtime.verilator), "--x-initial", "fast",
            "--prefix", "Vboard", "--top-module", design.top, "--Mdir", "out", "board.sv",
        ]  # fmt: skip
        with ThreadPoolExecutor(1) as aside, Programs(run, timeout=timeout) as programs:
            verilated = programs.start(verilate, cwd=build, env=root)
            libraries = aside.submit(runtime.link_flags, programs)
            verilated.result()
            out = build / "out"
            unit = out / "unit.cpp"
            sources = "".join(f'#include "{s}"\n' for s in sorted(out.glob("*.cpp")))
            unit.write_text(f'{sources}#include "Vboard.h"\n#define MODEL Vboard\n{harness}')
            made = unit.with_suffix(".o")
            programs.start(runtime.unit_command(unit, made, f"-I{out}")).result()
            link = [str(runtime.compiler), str(made), *libraries.result(), "-pthread"]
            run([*link, "-o", str(build / "board")], timeout)

    key = content_key(design.verilog, harness, runtime.key(), "2")
    return cached(("boards",), f"board-{key}", ["board"], make) / "board"
