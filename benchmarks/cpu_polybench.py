"""PolyBench on the CPU build against the same loops in plain C, compiled by gcc -O3.

scripts/python benchmarks/cpu_polybench.py
scripts/python benchmarks/cpu_polybench.py --only gemm lu --size small --runs 5

Each kernel is plain source, without a schedule; its elements are float32 (int32 for floyd_warshall
and nussinov). The C functions in ``benchmarks/polybench_c`` have the same loops in the same order,
arguments declared ``restrict`` and extents known when compiling. gcc may use this machine's
instructions but, as the CPU build, not join a multiplication and an addition to one rounding.
Both sides get the same arrays before every run; all elements are compared before any is timed.
Time is CPU time of the thread, of calls from Python, ours and C's in turns; the median counts.
"""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import cast

import numpy as np

from allo.designs.polybench.kernels import NAMES, load, plain, size_names
from benchmarks.harness import Row, command_line, finish

SOURCES = Path(__file__).resolve().parent / "polybench_c"
FLAGS = ("-std=c99", "-O3", "-ffp-contract=off", "-shared", "-fPIC")
NATIVE, PORTABLE = "gcc -O3 -march=native", "gcc -O3"
COMPILE_LIMIT_S = 120
MEAN_LIMIT, WORST_LIMIT = 1.1, 1.5
SEED = 5
LEAST_MS = 2.0
"""A time is of as many calls as take this long together: the clock and its cost then do not show."""

Arrays = tuple[np.ndarray, ...]
Call = Callable[[], object]
CFunction = Callable[..., None]


class DifferenceError(RuntimeError):
    """The CPU build and the C function gave different results."""


@dataclass(frozen=True, slots=True)
class Times:
    """Median milliseconds of one call of one kernel."""

    kernel: str
    ours: float
    native: float
    portable: float


def compiled(name: str, size: tuple[int, ...], folder: Path, *flags: str) -> CFunction:
    """The C function of a kernel, of one size."""
    source = next(SOURCES.glob(f"*/{name}.c"))
    library = folder / f"{name}{len(flags)}.so"
    extents = [f"-D{key}={n}" for key, n in zip(size_names(name, size), size, strict=True)]
    command = ["gcc", *FLAGS, *flags, *extents, str(source), "-o", str(library), "-lm"]
    subprocess.run(command, check=True, timeout=COMPILE_LIMIT_S)
    function = ctypes.CDLL(str(library))[name]
    function.restype = None
    return cast(CFunction, function)


def bound(function: CFunction, arrays: Arrays) -> Call:
    """A call of a C function on arrays, which must stay alive."""
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    return lambda: function(*pointers)


def reset(arrays: Arrays, fresh: Arrays) -> None:
    """Give the arrays their first contents again."""
    for array, first in zip(arrays, fresh, strict=True):
        array[:] = first


def measured(call: Call, arrays: Arrays, fresh: Arrays, calls: int) -> float:
    """CPU milliseconds of a call, the mean of ``calls``, each on the first contents."""
    total = 0
    for _ in range(calls):
        reset(arrays, fresh)
        began = time.thread_time_ns()
        call()
        total += time.thread_time_ns() - began
    return total / calls / 1e6


def compare(name: str, found: Arrays, expected: Arrays) -> None:
    """Refuse arrays that differ in any bit.

    Raises:
        DifferenceError: they do.
    """
    for position, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if ours.tobytes() != theirs.tobytes():
            count = int(np.count_nonzero(ours != theirs))
            raise DifferenceError(
                f"{name}: argument {position} differs from C in {count} of {ours.size} elements."
            )


def run(name: str, size: str, runs: int) -> Times:
    """Compile, compare and time one kernel.

    Raises:
        DifferenceError: the results differ.
    """
    shape = load(name).SIZES[size]
    module = plain(name, shape).build()
    fresh = load(name).inputs(np.random.default_rng(SEED), shape)
    arrays = tuple(array.copy() for array in fresh)
    with tempfile.TemporaryDirectory() as folder:
        native = bound(compiled(name, shape, Path(folder), "-march=native"), arrays)
        portable = bound(compiled(name, shape, Path(folder)), arrays)
        calls: list[Call] = [lambda: module(*arrays), native, portable]
        results = []
        for call in calls:
            reset(arrays, fresh)
            call()
            results.append(tuple(array.copy() for array in arrays))
        for expected in results[1:]:
            compare(name, results[0], expected)
        once = measured(calls[0], arrays, fresh, 1)
        repeats = math.ceil(LEAST_MS / max(once, LEAST_MS / 100))
        times: list[list[float]] = [[], [], []]
        for _ in range(runs):
            for call, kept in zip(calls, times, strict=True):
                kept.append(measured(call, arrays, fresh, repeats))
    ours, theirs, plainly = (median(kept) for kept in times)
    return Times(name, ours, theirs, plainly)


def machine() -> str:
    """The compiler and the processor of the figures."""
    said = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")
    return f"{said.splitlines()[0]}; {model}"


def rows_of(times: Sequence[Times]) -> list[Row]:
    """A row for each kernel and peer, then the geometric means and the worst."""
    rows = [Row(t.kernel, t.ours, "ms", NATIVE, t.native) for t in times]
    rows += [Row(t.kernel, t.ours, "ms", PORTABLE, t.portable) for t in times]
    for peer, limit in ((NATIVE, True), (PORTABLE, None)):
        ratios = {t.kernel: t.ours / (t.native if limit else t.portable) for t in times}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        worst = max(ratios, key=lambda kernel: ratios[kernel])
        unit = f"× {peer}"
        note = machine() if limit else ""
        rows.append(
            Row(f"geometric mean of {len(times)}", mean, unit, "limit", MEAN_LIMIT, limit, note)
        )
        rows.append(Row(f"worst: {worst}", ratios[worst], unit, "limit", WORST_LIMIT, limit))
    return rows


def main(options: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    parser = command_line(__doc__)
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES, metavar="KERNEL")
    parser.add_argument("--size", default="medium", help="mini, small or medium")
    parser.add_argument("--runs", type=int, default=9, help="of which the median counts")
    given = parser.parse_args(options)
    times = [run(name, given.size, given.runs) for name in given.only]
    title = f"CPU: PolyBench 4.2.1, {given.size}"
    return finish("cpu_polybench", title, rows_of(times), given.json)


if __name__ == "__main__":
    sys.exit(main())
