"""``simulate(mod)``: shell and core in Verilator, in a process of its own, behind a pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tty
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from allo.backend.sim import RTLModule
from allo.backend.sim.engines.verilator.compile import inlining_flags
from allo.backend.sim.engines.verilator.runtime import Runtime
from allo.backend.sim.engines.verilator.tools import find_compiler, find_verilator, run
from allo.dialects.caches.files import cached, content_key
from allo.dialects.processes.tools import Programs

from ..record import Board, Pin
from ..shell import shell_of
from ..shell.protocol import BAUD

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


@contextlib.contextmanager
def simulate(
    mod: RTLModule, *, clock_mhz: float = 4.0, timeout: float = 600.0
) -> Iterator[SimulatedPort]:
    """The name of a pseudo-terminal behind which the design runs on a board.

    Args:
        clock_mhz: of the design; at 1,000,000 baud this is also the clocks of a bit.
        timeout: seconds that making the model may take.

    Raises:
        ToolMissingError, ToolFailedError: Verilator or the C++ compiler.
    """
    board = Board(
        name="simulated", title="a simulated board", family="generic", part="", resources={},
        oscillator_mhz=clock_mhz, pins=_PINS,
    )  # fmt: skip
    shell = shell_of(mod, board, clock_mhz, BAUD)
    program = _program(shell.verilog + _CLOCK, shell.top, timeout)
    device, terminal = os.openpty()
    tty.setraw(terminal)
    port = SimulatedPort(os.ttyname(terminal))
    divider = str(round(clock_mhz * 1e6 / BAUD))
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


def _program(verilog: str, top: str, timeout: float) -> Path:
    """The simulator of a board's Verilog, from the cache or made now."""
    runtime = Runtime(find_verilator(), find_compiler(), "", timeout)
    harness = _HARNESS.read_text()

    def make(build: Path) -> None:
        (build / "board.sv").write_text(verilog)
        root = {"VERILATOR_ROOT": str(runtime.verilator.root)}
        verilate = [
            str(runtime.verilator.program), "--cc", "-O3", "-fno-dfg", "--x-assign", "fast",
            "--no-timing", "--output-split", "0", "-Wno-lint", "-Wno-style", "-Wno-fatal",
            *inlining_flags(runtime.verilator), "--x-initial", "fast", "--prefix", "Vboard",
            "--top-module", top, "--Mdir", "out", "board.sv",
        ]  # fmt: skip
        with ThreadPoolExecutor(1) as aside, Programs(run, timeout=timeout) as programs:
            verilated = programs.start(verilate, cwd=build, env=root)
            libraries = aside.submit(runtime.link_flags, programs)
            verilated.result()
            out = build / "out"
            unit = out / "unit.cpp"
            sources = "".join(f'#include "{s}"\n' for s in sorted(out.glob("*.cpp")))
            defines = "#define MODEL Vboard\n#define RESET_OFF 0\n"
            unit.write_text(f'{sources}#include "Vboard.h"\n{defines}{harness}')
            made = unit.with_suffix(".o")
            programs.start(runtime.unit_command(unit, made, f"-I{out}")).result()
            link = [str(runtime.compiler), str(made), *libraries.result(), "-pthread"]
            run([*link, "-o", str(build / "board")], timeout)

    key = content_key(verilog, harness, runtime.key(), "1")
    return cached(("boards",), f"board-{key}", ["board"], make) / "board"
