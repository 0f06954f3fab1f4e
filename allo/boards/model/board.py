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
from allo.dialects.diagnostics import BoardError, PortError, SimulationError
from allo.dialects.processes.tools import Programs
from allo.dialects.text.near import did_you_mean
from allo.dialects.text.shown import shown
from allo.dialects.text.verilog import without_comments

from ..flow import netlist as netlist_of
from ..record import Board, BoardMemory, Pin, Sdram
from ..registry import board as board_of
from ..shell import Shell, shell_of
from ..shell.protocol import BAUD
from . import fifo
from . import sdram as memory
from .netlist import families, verilog_of

SYNTHESISED, ROUTED = "synthesised", "routed"
STAGES = (SYNTHESISED, ROUTED)

_HARNESS = Path(__file__).with_name("harness.cpp")
_FIFO = Path(__file__).with_name("ft232h.h")
_PINS = {role: Pin(role) for role in ("clock", "serial_rx", "serial_tx", "reset", "led[0]")}
_MHZ, _SDRAM_MHZ = 4.0, 50.0
_BIT_CLOCKS = 4
_BROKEN = 3
"""What the harness ends with when a rule of the memory or of the FIFO is broken."""
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
    broken_rule = 0

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
        if self._process.returncode == _BROKEN and self._process.stderr and not self.broken_rule:
            self.broken_rule = int(self._process.stderr.read())
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
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
        defines: macros of the harness.
        arguments: of the harness: clocks of a bit, and the times of a memory.
    """

    verilog: str
    top: str
    defines: tuple[str, ...]
    arguments: tuple[str, ...]


@contextlib.contextmanager
def simulate(
    mod: RTLModule,
    *,
    netlist: str | None = None,
    clock_mhz: float | None = None,
    sdram: Sdram | None = None,
    timeout: float = 600.0,
) -> Iterator[SimulatedPort]:
    """The name of a pseudo-terminal behind which the design runs on a board.

    A design with arrays of ``m_axi`` has the memory of the board it is built for, or that of an ULX3S.

    Args:
        netlist: what runs there: None for the Verilog of the design in its shell; ``"synthesised"`` for what
            Yosys makes of it for the board of the build, ``"routed"`` for what nextpnr has placed and routed.
        clock_mhz: of the design. None is 4 MHz, 50 with a memory or a FIFO, and for netlists the clock of
            ``mod.bitstream``.
        sdram: the memory that the board has, where it is not the one that the shell is made for.
        timeout: seconds that making the model may take, and each run of Yosys and nextpnr.

    Raises:
        BoardError: the build names no board, or there are no models of its cells.
        ToolMissingError, ToolFailedError: Verilator or the C++ compiler; Yosys or nextpnr.
        SimulationError: the design broke a rule of the memory or of the FIFO.
    """
    if netlist is None:
        design = _plain(mod, clock_mhz, sdram)
    else:
        design = _netlist(mod, netlist, clock_mhz, timeout)
    port = _started(_program(design, timeout), design.arguments)
    try:
        yield port
    except PortError as error:
        port.pull()
        if port.broken_rule:
            raise _broken(mod, port) from error
        raise
    finally:
        port.pull()
    if port.broken_rule:
        raise _broken(mod, port)


def _broken(mod: RTLModule, port: SimulatedPort) -> SimulationError:
    if port.broken_rule in fifo.RULES:
        return SimulationError(
            f"{mod.top_func_name} broke a rule of the FT232H: {fifo.RULES[port.broken_rule]}.",
            help="this is a fault of the shell.",
        )
    rule = memory.RULES[port.broken_rule]
    return SimulationError(
        f"{mod.top_func_name} broke a rule of the board's memory: {rule}.",
        help="this is a fault of the shell, unless sdram= of simulate is another part.",
    )


def _memory(mod: RTLModule) -> BoardMemory | None:
    """The memory that a design needs."""
    if mod.design.board is None:
        return None
    boards = (board_of(mod.options.board or "ulx3s-85f"), board_of("ulx3s-85f"))
    return next(m for board in boards for m in board.memories if m.sdram is not None)


def _started(program: Path, arguments: tuple[str, ...]) -> SimulatedPort:
    device, terminal = os.openpty()
    tty.setraw(terminal)
    port = SimulatedPort(os.ttyname(terminal))
    port._files = [terminal]
    port._process = subprocess.Popen(
        [str(program), str(device), *arguments],
        pass_fds=[device],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(device)  # the port is gone when the program is
    return port


def _plain(mod: RTLModule, clock_mhz: float | None, other: Sdram | None) -> _Design:
    """The Verilog of a design in its shell, with its memory."""
    found = _memory(mod)
    quick = found is not None or mod.options.link != "uart"
    mhz = clock_mhz or (_SDRAM_MHZ if quick else _MHZ)
    pins = _PINS | ({"sdram_clk": Pin("sdram_clk")} if found is not None else {})
    board = Board(
        name="simulated", title="a simulated board", family="generic", part="", resources={},
        oscillator_mhz=mhz, pins=pins, memories=(found,) if found is not None else (),
    )  # fmt: skip
    shell = shell_of(mod, board, mhz, round(mhz * 1e6 / _BIT_CLOCKS))
    text, defines = shell.verilog + _CLOCK, _defines(board, shell)
    line: tuple[str, ...] = (str(_BIT_CLOCKS),)
    if mod.options.link == "fifo245":
        defines, line = (*defines, "FIFO245"), fifo.arguments(mhz)
    if found is None or found.sdram is None:
        return _Design(text, shell.top, defines, line)
    return _Design(
        text + memory.bench(shell, found.sdram), memory.BENCH, (*defines, "SDRAM"),
        (*line, *memory.times(other or found.sdram, mhz)),
    )  # fmt: skip


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
    if mod.design.board is not None:
        raise BoardError(
            f"The netlist of {mod.top_func_name} has a memory beside it, with which none is simulated.",
            help="leave netlist= out: the Verilog of the design runs with a model of the memory.",
        )
    if board.family not in families():
        raise BoardError(
            f"There are no models of the cells of {family(board.family).title}.",
            help=f"netlists of {', '.join(families())} are simulated.",
        )
    way = family(board.family).bitstream
    if stage == ROUTED and way is not None and not way.routed_models:
        raise BoardError(
            f"There are no models of the cells that nextpnr makes for {family(board.family).title}.",
            help='netlist="synthesised" runs what Yosys makes of the design.',
        )
    made = netlist_of(mod, board, clock_mhz=clock_mhz, routed=stage == ROUTED, timeout=timeout)
    text = verilog_of(made.modules, made.shell.top, board.family)
    defines = _defines(board, made.shell)
    if mod.options.link == "fifo245":
        line = fifo.arguments(made.clock_mhz)
        return _Design(text, made.shell.top, (*defines, "FIFO245"), line)
    bit = str(round(made.clock_mhz * 1e6 / BAUD))
    return _Design(text, made.shell.top, defines, (bit,))


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
    harness = "".join(f"#define {text}\n" for text in design.defines)
    harness += "".join(path.read_text() for path in (_FIFO, _HARNESS))

    def make(build: Path) -> None:
        (build / "board.sv").write_text(design.verilog)
        root = {"VERILATOR_ROOT": str(runtime.verilator.root)}
        verilate = [
            str(runtime.verilator.program), "--cc", "-O3", "-fno-dfg", "--x-assign", "fast",
            "--no-timing", "--output-split", "0", "-Wno-lint", "-Wno-style", "-Wno-fatal",
            "-Wno-TIMESCALEMOD", "--pins-inout-enables", *inlining_flags(runtime.verilator),
            "--x-initial", "fast",
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

    key = content_key(without_comments(design.verilog), harness, runtime.key(), "3")
    return cached(("boards",), f"board-{key}", ["board"], make) / "board"
