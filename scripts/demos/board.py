# ruff: noqa: B007, F821  (loops have names for the schedule; streams are names of the region)
"""Three designs for two boards: bitstreams, and their calls through the serial port of simulated boards.

    scripts/demo board [--calls N] [--boards NAME …] [--out FOLDER]

An int8 gemm, a FIR filter and three processes that are joined by FIFOs are routed for ULX3S and
iCEBreaker, each at the fastest clock of the board's generator that it reaches. The same design then runs
in its shell in Verilator, and the host's own code calls it through a pseudo-terminal; every result is
compared with the CPU build. The status is 1 when one differs, or a clock is not reached.
What the tools answered is in the cache the next time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import allo
import allo.dataflow as df
from allo.boards import connect, simulate
from allo.customize import Partition, Schedule
from allo.designs.gallery.signal import fir
from allo.errors import AlloError
from allo.ir.types import Stream, int8, int16, int32

SEED, CORES, BOARDS = 2026, 2, ("icebreaker", "ulx3s-85f")
M, N = 16, 256


def gemm(A: int8[M, M], B: int8[M, M]) -> int32[M, M]:
    C: int32[M, M] = 0
    for i, j, k in allo.grid(M, M, M):
        C[i, j] += A[i, k] * B[k, j]
    return C


@df.region()
def smooth(X: int16[N], Y: int16[N]):
    """Each sample with its neighbours before it, weighted 1, 2 and 1."""
    samples: Stream[int16, 4]
    means: Stream[int16, 4]

    @df.kernel(mapping=[1], args=[X])
    def read(x: int16[N]):
        for i in range(N):
            samples.put(x[i])

    @df.kernel(mapping=[1])
    def mean():
        before: int16 = 0
        last: int16 = 0
        for n in range(N):
            coming: int16 = samples.get()
            total: int32 = before + 2 * last + coming
            means.put(total >> 2)
            before = last
            last = coming

    @df.kernel(mapping=[1], args=[Y])
    def write(y: int16[N]):
        for i in range(N):
            y[i] = means.get()


def gemm_schedule() -> Schedule:
    """Four products a cycle."""
    s = allo.customize(gemm)
    s.split("k", 4)
    s.pipeline("k.outer")
    s.unroll("k.inner")
    s.partition("gemm:A", Partition.Cyclic, dim=2, factor=4)
    s.partition("gemm:B", Partition.Cyclic, dim=1, factor=4)
    return s


def smooth_schedule() -> Schedule:
    """A sample a cycle."""
    s = df.customize(smooth)
    for loop in ("read_0:i", "mean_0:n", "write_0:i"):
        s.pipeline(loop)
    return s


def gemm_inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Two random matrices."""
    return tuple(rng.integers(-128, 128, (M, M), np.int8) for _ in range(2))


def smooth_inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random samples, and the array for what comes out."""
    return rng.integers(-(2**15), 2**15, N, np.int16), np.zeros(N, np.int16)


DESIGNS = {
    "gemm": (gemm_schedule, gemm_inputs),
    "fir": (fir.schedule, fir.inputs),
    "smooth": (smooth_schedule, smooth_inputs),
}


@dataclass(slots=True)
class Outcome:
    """What is known of one design on one board."""

    design: str
    board: str
    made: Any = None
    sha256: str = ""
    equal: int = 0
    cycles: int | None = None
    resent: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    error: str = ""

    def passed(self, calls: int) -> bool:
        """Whether timing is met and every call gave the CPU's bits."""
        return not self.error and self.made.fmax_mhz >= self.made.clock_mhz and self.equal == calls


def call_all(outcome: Outcome, mod: Any, cpu: Any, calls: int) -> None:
    """Random calls through a pseudo-terminal."""
    rng = np.random.default_rng(SEED)
    inputs = DESIGNS[outcome.design][1]
    with simulate(mod) as port, connect(port, mod) as device:
        for _ in range(calls):
            given = inputs(rng)
            wanted = tuple(array.copy() for array in given)
            pairs = zip((*given, device(*given)), (*wanted, cpu(*wanted)), strict=True)
            outcome.equal += all(
                a is b is None or (a.dtype == b.dtype and a.tobytes() == b.tobytes())
                for a, b in pairs
            )
        outcome.cycles, outcome.resent = device.cycles, device.repeated


def run(outcome: Outcome, mod: Any, cpu: Any, calls: int, folder: Path) -> None:
    """The bitstream of a design, then its calls."""
    path = folder / f"{outcome.design}_{outcome.board}.bit"
    began = time.perf_counter()
    try:
        outcome.made = mod.bitstream(path)
        outcome.sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        outcome.seconds["bitstream"] = round(time.perf_counter() - began, 1)
        began = time.perf_counter()
        call_all(outcome, mod, cpu, calls)
        outcome.seconds["calls"] = round(time.perf_counter() - began, 1)
    except AlloError as error:
        outcome.error = "\n".join([f"{type(error).__name__}: {error}", *error.notes])


def table_of(outcomes: list[Outcome], calls: int) -> Table:
    """A row for each design and board."""
    table = Table(
        "design", "board", "MHz (routed)", "LUT", "DSP", "BRAM", "cycles", f"equal of {calls}"
    )
    for o in outcomes:
        if o.error:
            table.add_row(o.design, o.board, f"[red]{o.error.splitlines()[0]}[/]")
            continue
        clock = f"{o.made.clock_mhz:.4g} ({o.made.fmax_mhz:.1f})"
        cells = (f"{o.made.cells[kind][0]:,}" for kind in ("lut", "dsp", "bram"))
        equal = f"[{'green' if o.equal == calls else 'red'}]{o.equal}[/]"
        table.add_row(o.design, o.board, clock, *cells, f"{o.cycles:,}", equal)
    return table


def figures_of(outcome: Outcome) -> dict[str, Any]:
    """The same as data."""
    figures: dict[str, Any] = {
        name: getattr(outcome, name)
        for name in ("design", "board", "equal", "cycles", "resent", "sha256", "seconds", "error")
    }
    if outcome.made is not None:
        figures |= {
            name: getattr(outcome.made, name) for name in ("clock_mhz", "fmax_mhz", "cells")
        }
    return figures


def main() -> int:
    """Run the demonstration; 1 when anything differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--out", type=Path, default=root / "out" / "board", help="folder to fill")
    parser.add_argument("--calls", type=int, default=100, help="random calls of each design")
    parser.add_argument("--boards", nargs="+", default=BOARDS, help="boards with open tools")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    console, began = Console(), time.perf_counter()
    outcomes, work = [], []
    with ThreadPoolExecutor(CORES) as pool:
        for name, (schedule, _) in DESIGNS.items():
            s = schedule()
            cpu = s.build()
            for board in options.boards:
                outcomes.append(Outcome(name, board))
                mod = s.build(target="verilog", board=board)
                work.append(pool.submit(run, outcomes[-1], mod, cpu, options.calls, options.out))
        for done, outcome in zip(work, outcomes, strict=True):
            done.result()
            console.print(
                f"{outcome.design} on {outcome.board}: {outcome.error or 'done'}", style="dim"
            )
    console.print(table_of(outcomes, options.calls))
    seconds = time.perf_counter() - began
    good = all(outcome.passed(options.calls) for outcome in outcomes)
    figures = {"seconds": round(seconds, 1), "runs": [figures_of(o) for o in outcomes]}
    (options.out / "board.json").write_text(json.dumps(figures, indent=1) + "\n")
    verdict = "[green]every call has the CPU's bits[/]" if good else "[red]something is wrong[/]"
    console.print(f"{verdict}, {seconds:.1f} s; bitstreams and figures are in {options.out}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
