"""Kernels without a schedule, autoscheduled: PolyBench, MachSuite and the gallery, beside plain pipelines.

scripts/python benchmarks/autoschedule_suite.py [--suite NAME ...] [--kernel NAME ...] [--size SIZE]
    [--budget DSPS] [--seconds S] [--reassociate] [--shared]

Every kernel is given as its source says. What is found is run in the in-process simulator on the kernel's
own random inputs, and compared with the CPU build of the kernel: bit for bit, or, with ``--reassociate``, bit
for bit with the CPU build of the schedule that was found, and within a tolerance with that of the kernel.
Beside it stands the same kernel with its innermost loops pipelined, simulated on the same inputs.
"""

from __future__ import annotations

import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import allo
import allo.dataflow as df
from allo.backend.devices import DEFAULT_DEVICE
from allo.designs.gallery.catalogue import ENTRIES
from allo.designs.machsuite import kernels as machsuite
from allo.designs.polybench import kernels as polybench
from allo.errors import AlloError
from allo.explore import FoundSchedule
from allo.explore.apply import StepFailed, apply, plain_steps
from allo.explore.model.read import read_kernel
from allo.schedule import Schedule
from benchmarks.harness import Row, command_line, finish

SUITES = ("polybench", "machsuite", "gallery")
CLOCK = 200.0
TOLERANCE = 1e-3
"""Of the largest element of an array of floats whose sums are added in another order."""
type Inputs = Callable[[np.random.Generator], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel without a schedule.

    Attributes:
        inputs: its arguments, made from a generator.
    """

    suite: str
    name: str
    plain: Callable[[], Schedule]
    inputs: Inputs


@dataclass(frozen=True, slots=True)
class Asked:
    """What every search is asked for."""

    budget: int
    seconds: float
    reassociate: bool
    timer: Callable[[], float] = time.monotonic


class Wrong(Exception):
    """Results differ, or cycles are not those of the report."""


def subjects(suites: Sequence[str], size: str) -> Iterator[Subject]:
    """The kernels of some suites; ``size`` is that of PolyBench, the others have their smallest."""
    if "polybench" in suites:
        for name in polybench.NAMES:
            yield _of_polybench(name, size)
    if "machsuite" in suites:
        for name in machsuite.NAMES:
            yield _of_machsuite(name)
    if "gallery" in suites:
        for entry in ENTRIES:
            module = entry.load()
            made: Schedule = module.schedule()
            yield Subject("gallery", entry.name, lambda s=made: _unscheduled(s), module.inputs)


def _of_polybench(name: str, size: str) -> Subject:
    kernel = polybench.load(name)
    extents = kernel.SIZES[size]
    return Subject(
        "polybench",
        name,
        lambda: polybench.plain(name, extents),
        lambda rng: kernel.inputs(rng, extents),
    )


def _of_machsuite(name: str) -> Subject:
    kernel = machsuite.load(name)
    extents = kernel.SIZES["tiny"]
    return Subject(
        "machsuite",
        name,
        lambda: _unscheduled(kernel.schedule(extents)),
        lambda rng: kernel.inputs(rng, extents),
    )


def _unscheduled(schedule: Schedule) -> Schedule:
    """The kernel of a schedule, without any primitive."""
    kernel: Any = schedule.kernel
    make = df.customize if hasattr(kernel.source, "__allo_region__") else allo.customize
    return make(kernel.source, instantiate=list(schedule.inst_list) or None)


def pipelined(plain: Schedule) -> Schedule:
    """The kernel with each innermost loop pipelined, where that is not refused."""
    for step in plain_steps(read_kernel(plain)):
        try:
            apply(plain, [step])
        except StepFailed:
            continue
    return plain


def simulated(schedule: Schedule, inputs: Inputs) -> tuple[list[np.ndarray], int]:
    """All arrays after a run of the hardware, and its cycles.

    Raises:
        Wrong: the cycles are not those of the report.
    """
    hardware = schedule.build(
        target="verilog", simulator="jit", clock_mhz=CLOCK, device=DEFAULT_DEVICE, warnings=False
    )
    found = called(hardware, inputs)
    if hardware.report.cycles not in (None, hardware.cycles):
        raise Wrong(f"{hardware.cycles:,} cycles, and {hardware.report.cycles:,} in the report")
    return found, int(hardware.cycles)


def called(function: Any, inputs: Inputs) -> list[np.ndarray]:
    """All arrays after a call, and its results."""
    arrays = [np.copy(a) if isinstance(a, np.ndarray) else a for a in inputs(_rng())]
    result = function(*arrays)
    results = [] if result is None else list(result) if isinstance(result, tuple) else [result]
    return [np.asarray(a) for a in (*arrays, *results)]


def _rng() -> np.random.Generator:
    return np.random.default_rng(12)


def compared(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], tolerance: float) -> None:
    """Hold arrays against others.

    Raises:
        Wrong: an element differs.
    """
    for number, (a, b) in enumerate(zip(found, wanted, strict=True)):
        if a.tobytes() == b.tobytes():
            continue
        if not tolerance or a.dtype.kind != "f":
            raise Wrong(f"array {number} differs")
        far = np.abs(a.astype(np.float64) - b.astype(np.float64)).max()
        if not far <= tolerance * np.abs(b).max(initial=0):
            raise Wrong(f"array {number} differs by {far:g}")


def row_of(subject: Subject, asked: Asked) -> Row:
    """One kernel; a figure of infinity where something fails, with the reason in the note."""
    began = asked.timer()
    try:
        found, cycles, plain = _searched(subject, asked)
    except (AlloError, Wrong) as error:
        said = error.message if isinstance(error, AlloError) else str(error)
        return _failed(subject, f"{type(error).__name__}: {said}")
    except Exception:
        return _failed(subject, traceback.format_exc().strip().replace("\n", " | "))
    trace = found.trace
    key = f"autoschedule.{subject.suite}.{subject.name}"
    note = (
        f"{asked.timer() - began:.0f} s, {trace.seconds:.1f} of search, {len(trace.tried)} reports "
        f"({trace.ended}); "
        f"{plain / cycles:.2f} times as fast; limited by {trace.limited}"
    )
    if trace.unexplored:
        note += f"; not explored: {'; '.join(trace.unexplored)}"
    return Row(
        f"{subject.suite} {subject.name}", cycles, "cycles", "pipelines", plain, True, note=note,
        figures={f"{key}.cycles": cycles, f"{key}.plain_cycles": plain},
    )  # fmt: skip


def _searched(subject: Subject, asked: Asked) -> tuple[FoundSchedule, int, int]:
    found = allo.autoschedule(
        subject.plain(),
        device="u280",
        max_dsp=asked.budget,
        clock_mhz=CLOCK,
        seconds=asked.seconds,
        reassociate=asked.reassociate,
        inputs=subject.inputs,
        cache=False,
        timer=asked.timer,
    )
    wanted = called(subject.plain().build(), subject.inputs)
    got, cycles = simulated(found, subject.inputs)
    if asked.reassociate:
        compared(got, called(found.build(), subject.inputs), 0)
    compared(got, wanted, TOLERANCE if asked.reassociate else 0)
    beside, plain = simulated(pipelined(subject.plain()), subject.inputs)
    compared(beside, wanted, 0)
    return found, cycles, plain


def _failed(subject: Subject, note: str) -> Row:
    where = f"{subject.suite} {subject.name}"
    return Row(where, float("inf"), "cycles", "pipelines", 1, True, note=note)


def totals(rows: Sequence[Row]) -> Iterator[Row]:
    """The geometric mean of the gain of each suite and of all, and how many rows hold."""
    for suite in (*SUITES, ""):
        gains = [1 / r.ratio for r in rows if r.what.startswith(suite) and r.value < float("inf")]
        if gains:
            mean = prod(gains) ** (1 / len(gains))
            name = suite or "all"
            yield Row(
                f"gain of {name}, geometric mean of {len(gains)}", round(mean, 3), "times",
                "pipelines", 1, False,
            )  # fmt: skip
    held = sum(row.held is True for row in rows)
    yield Row("kernels that are right and no worse", held, "", "kernels", len(rows), False)


def main() -> int:
    """Search, simulate, compare, print, write; 1 when a kernel fails."""
    parser = command_line(__doc__)
    parser.add_argument("--suite", nargs="+", choices=SUITES, default=SUITES)
    parser.add_argument("--kernel", nargs="+")
    parser.add_argument("--size", default="mini", help="of PolyBench")
    parser.add_argument("--budget", type=int, default=220)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--reassociate", action="store_true")
    parser.add_argument("--shared", action="store_true", help="count seconds of the processor")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    timer = time.process_time if given.shared else time.monotonic
    asked = Asked(given.budget, given.seconds, given.reassociate, timer)
    rows = []
    for subject in subjects(given.suite, given.size):
        if given.kernel and subject.name not in given.kernel:
            continue
        rows.append(row_of(subject, asked))
        print(
            f"{rows[-1].what}: {rows[-1].value:,} ({rows[-1].reference:,}); {rows[-1].note}",
            flush=True,
        )
    rows += list(totals(rows))
    return finish("autoschedule_suite", "Kernels without a schedule", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
