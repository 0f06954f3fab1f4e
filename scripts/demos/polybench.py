"""Three designs on every target, compared: one table, and a folder with all that was built.

    scripts/demo [--out FOLDER] [--inputs N]

CPU against NumPy, HLS C++ (compiled by g++) against CPU, Verilog (in Verilator) against CPU bit for
bit, predicted against measured cycles. The status is 1 when anything differs.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table

from allo.designs.polybench.suite import DESIGNS, Design
from allo.errors import AlloError

SEED = 2026
CORES = 2
WAVE_OF = "gemm_i8"


@dataclass(slots=True)
class Outcome:
    """What is known of one design so far.

    Attributes:
        equal: comparison (``"cpu"``, ``"csim"``, ``"rtl"``) to whether all inputs agreed.
        seconds: step to its time.
        errors: step to what went wrong.
        tell: hears of every step that ends.
    """

    design: Design
    equal: dict[str, bool] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    step: str = "waiting"
    tell: Callable[[str], None] = lambda _: None
    predicted: int | None = None
    measured: list[int] = field(default_factory=list)
    utilisation: float | None = None

    @property
    def cycles_agree(self) -> bool:
        """Whether every run took the predicted cycles."""
        return bool(self.measured) and set(self.measured) == {self.predicted}

    @property
    def passed(self) -> bool:
        """Whether every comparison was made and held."""
        compared = set(self.equal) == {"cpu", "csim", "rtl"} and all(self.equal.values())
        return compared and self.cycles_agree and not self.errors

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Time a step; an error of Allo is kept and ends the step."""
        self.step = step
        began = time.perf_counter()
        try:
            yield
        except AlloError as error:
            self.errors[step] = f"{type(error).__name__}: {error}"
        finally:
            self.seconds[step] = time.perf_counter() - began
            self.tell(f"{self.design.name}: {step} {self.seconds[step]:.2f} s")


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two arrays agree in type, shape and every bit."""
    return (
        left.dtype == right.dtype
        and left.shape == right.shape
        and left.tobytes() == right.tobytes()
    )


class Run:
    """One design on every target; the steps of several designs share a pool of threads.

    The heavy steps (g++, Verilator) are processes of their own, so two threads keep two cores busy.
    """

    def __init__(self, design: Design, folder: Path, inputs: int, pool: ThreadPoolExecutor) -> None:
        rng = np.random.default_rng(SEED)
        self.outcome = Outcome(design)
        self.folder = folder
        self.pool = pool
        self.inputs = [design.inputs(rng) for _ in range(inputs)]
        self.expected: list[np.ndarray] = []

    def start(self) -> list[Future[None]]:
        """Schedule the design, run it on the CPU, and queue the other targets."""
        outcome, design = self.outcome, self.outcome.design
        with outcome.timed("schedule"):
            schedule = design.schedule()
        if outcome.errors:
            return []
        with outcome.timed("cpu"):
            kernel = schedule.build()
            self.expected = [kernel(*arrays) for arrays in self.inputs]
            references = [design.reference(*arrays) for arrays in self.inputs]
            outcome.equal["cpu"] = all(map(same_bits, self.expected, references))
        if outcome.errors:
            return []
        with outcome.timed("verilog"):
            hardware = schedule.build(target="verilog")
        work = [self.pool.submit(self._csim, schedule)]
        if "verilog" not in outcome.errors:
            work.append(self.pool.submit(self._rtl, hardware))
        return work

    def _csim(self, schedule: Any) -> None:
        outcome, folder = self.outcome, self.folder / "hls"
        with outcome.timed("csim"):
            kernel = schedule.build(target="vitis_hls", mode="csim", project=str(folder))
            results = []
            for arrays, expected in zip(self.inputs, self.expected, strict=True):
                result = np.zeros_like(expected)
                kernel(*arrays, result)
                results.append(result)
            outcome.equal["csim"] = all(map(same_bits, results, self.expected))

    def _rtl(self, hardware: Any) -> None:
        outcome = self.outcome
        with outcome.timed("verilator"):
            hardware.build_model()
        if "verilator" in outcome.errors:
            return
        with outcome.timed("simulate"):
            results = []
            for arrays in self.inputs:
                results.append(hardware(*arrays))
                outcome.measured.append(hardware.cycles)
            outcome.equal["rtl"] = all(map(same_bits, results, self.expected))
            outcome.predicted = hardware.report.cycles
            outcome.utilisation = hardware.report.utilisation
            self._keep(hardware)
        if outcome.design.name == WAVE_OF and "simulate" not in outcome.errors:
            with outcome.timed("wave"):
                hardware(*self.inputs[0], wave=self.folder / f"{outcome.design.name}.vcd")
        outcome.step = "done"

    def _keep(self, hardware: Any) -> None:
        """Leave Verilog, and the report as JSON and HTML."""
        hardware.write_project(self.folder / "rtl")
        report = hardware.report
        (self.folder / "report.json").write_text(json.dumps(report.to_json(), indent=1) + "\n")
        (self.folder / "report.html").write_text(report.html())


STEPS = ("schedule", "cpu", "csim", "verilog", "verilator", "simulate")


def table_of(outcomes: list[Outcome]) -> Table:
    """The table: one column a design, as three of them fit any terminal."""
    table = Table(title="Allo: one kernel, every target", title_justify="left")
    table.add_column("")
    for outcome in outcomes:
        table.add_column(outcome.design.title, justify="right")
    for name, title in (("cpu", "CPU = NumPy"), ("csim", "HLS csim = CPU"), ("rtl", "RTL = CPU")):
        table.add_row(title, *(_verdict(o, name) for o in outcomes))
    table.add_section()
    table.add_row("predicted cycles", *(_number(o.predicted) for o in outcomes))
    table.add_row("measured cycles", *(_measured(o) for o in outcomes))
    table.add_row("float-unit utilisation", *(_share(o.utilisation) for o in outcomes))
    table.add_section()
    for step in STEPS:
        table.add_row(f"{step}, s", *(_seconds(o, step) for o in outcomes))
    return table


def _verdict(outcome: Outcome, name: str) -> str:
    if name not in outcome.equal:
        return f"[dim]{outcome.step} …[/]" if not outcome.errors else "[red]not reached[/]"
    return "[green]every bit[/]" if outcome.equal[name] else "[red]DIFFERS[/]"


def _measured(outcome: Outcome) -> str:
    if not outcome.measured:
        return ""
    text = " … ".join(f"{n:,}" for n in sorted({min(outcome.measured), max(outcome.measured)}))
    return f"[green]{text}[/]" if outcome.cycles_agree else f"[red]{text}[/]"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _seconds(outcome: Outcome, step: str) -> str:
    return f"{outcome.seconds[step]:.2f}" if step in outcome.seconds else ""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--out", type=Path, default=root / "out" / "demo", help="folder to fill")
    parser.add_argument("--inputs", type=int, default=20, help="random inputs per design")
    return parser.parse_args()


def show(runs: list[Run], console: Console) -> None:
    """Run everything under a table that fills as results come; line by line where none can be drawn."""
    outcomes = [run.outcome for run in runs]
    if not console.is_terminal:
        for outcome in outcomes:
            outcome.tell = functools.partial(console.print, style="dim", highlight=False)
        work(runs)
        console.print(table_of(outcomes))
        return
    with Live(console=console, refresh_per_second=4, get_renderable=lambda: table_of(outcomes)):
        work(runs)


def work(runs: list[Run]) -> None:
    """Start every design, and wait for all that was queued."""
    waiting: list[Future[None]] = []
    for run in runs:
        waiting += run.start()
    for future in waiting:
        future.result()


def tell(outcomes: list[Outcome], folder: Path, seconds: float, console: Console) -> None:
    """Errors, where the files are, and the verdict."""
    for outcome in outcomes:
        for step, error in outcome.errors.items():
            console.print(f"[red]{outcome.design.name}, {step}:[/]")
            console.print(error, markup=False)
    console.print(f"HLS projects, Verilog, reports (JSON, HTML) and a waveform: {folder}")
    for path in sorted(folder.glob("*/*")):
        console.print(f"  {path.relative_to(folder)}{'/' if path.is_dir() else ''}", style="dim")
    good = all(outcome.passed for outcome in outcomes)
    verdict = "[green]all equal[/]" if good else "[red]something differs[/]"
    console.print(f"{verdict}, {len(outcomes)} designs, {seconds:.1f} s")


def main() -> int:
    """Run the demonstration; 1 when anything differs."""
    options = _arguments()
    console = Console()
    began = time.perf_counter()
    with ThreadPoolExecutor(CORES) as pool:
        runs = []
        for design in DESIGNS:
            folder = options.out / design.name
            folder.mkdir(parents=True, exist_ok=True)
            runs.append(Run(design, folder, options.inputs, pool))
        show(runs, console)
    outcomes = [run.outcome for run in runs]
    tell(outcomes, options.out, time.perf_counter() - began, console)
    return 0 if all(outcome.passed for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
