"""How long wide hardware keeps one waiting: from Python to Verilog, and to a simulation model.

scripts/python benchmarks/rtl_width.py [--quick | --only gemm:1760 …] [--limit SECONDS] [--engine NAME]

Times are seconds of the CPU, of all processes, from an empty cache; notes have those by the clock,
from Python to a model. An entry that takes longer than the limit (of wall time) is given up, and has no row.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import allo
from allo import Partition
from allo.customize import Schedule
from allo.errors import DTypeWarning
from allo.ir.types import UInt, float32, int8, int32
from benchmarks.harness import Row, command_line, finish

ROWS, COLUMNS, DEPTH = 200, 220, 240
PAIRS = {44: (1, 44), 440: (2, 220), 1760: (8, 220)}
"""Rows and columns of C that are computed at once, by the multiplier-adder pairs they take."""
LANES = (64, 128, 256, 512, 1024, 2048, 4096)
ENTRIES = [f"gemm:{pairs}" for pairs in PAIRS] + [f"int8:{lanes}" for lanes in LANES]
QUICK = ["gemm:44", "int8:64", "int8:128"]
LIMITS = {"gemm": (1760, 8.0, 10.0), "int8": (1024, 5.0, 10.0)}
"""The width at which the limits hold: CPU seconds to Verilog, megabytes of it."""
MODEL_SECONDS = {"jit": 30.0, "verilator": 60.0}
"""CPU seconds to a model: 30 seconds on two cores, of which Verilator's compilation takes both."""


def gemm[M, N, K, T](A: float32[M, K], B: float32[K, N], Cin: float32[M, N]) -> float32[M, N]:
    """``1.5 * A @ B + 1.25 * Cin``, T rows at a time."""
    C: float32[M, N]
    out: float32[M, N]
    for t0 in range(M // T):
        for i0 in range(T):
            for j0 in range(N):
                C[t0 * T + i0, j0] = Cin[t0 * T + i0, j0] * 1.25
    for k in range(K):
        for t in range(M // T):
            for i in range(T):
                a: float32 = A[t * T + i, k] * 1.5
                for j in range(N):
                    C[t * T + i, j] += a * B[k, j]
    for t1 in range(M // T):
        for i1 in range(T):
            for j1 in range(N):
                out[t1 * T + i1, j1] = C[t1 * T + i1, j1]
    return out


def linear[P, K, T](x: int8[K], w: UInt(8 * P)[T * K], o: UInt(32 * P)[T]):
    """The linear engine of the transformer: P rows of weights at once, from one wide word."""
    acc: int32[P] = 0
    for t in range(T):
        for mac in range(K):
            word: UInt(8 * P) = w[t * K + mac]
            xv: int8 = x[mac]
            out: UInt(32 * P) = 0
            for p in range(P):
                weight: int8 = word[8 * p : 8 * p + 8]
                before: int32 = 0 if mac == 0 else acc[p]
                after: int32 = before + xv * weight
                acc[p] = after
                out[32 * p : 32 * p + 32] = after
            if mac == K - 1:
                o[t] = out


def schedule(kernel: str, width: int) -> Schedule:
    """``"gemm"`` of so many pairs, or ``"int8"`` of so many lanes."""
    if kernel == "int8":
        s = allo.customize(linear, instantiate=[width, 64, 8])
        s.partition(s.acc)
        s.unroll("p")
        s.pipeline("mac")
        return s
    rows, columns = PAIRS[width]
    s = allo.customize(gemm, instantiate=[ROWS, columns, DEPTH, rows])
    for loop in ("t", "t0", "t1"):
        s.pipeline(loop)
    s.partition(s.A, dim=1, partition_type=Partition.Cyclic, factor=rows)
    s.partition(s.B, dim=2)
    for array in (s.C, s.Cin, s.out):
        s.partition(array, dim=1, partition_type=Partition.Cyclic, factor=rows)
        s.partition(array, dim=2)
    return s


def cpu_seconds() -> tuple[float, float]:
    """Of this process, and of its children: those that have ended, and those at work."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    children = ended.ru_utime + ended.ru_stime
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[1]) == os.getpid():
            children += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return time.process_time(), children


def measure(kernel: str, width: int, engine: str) -> dict[str, float]:
    """The figures of an entry: to Verilog, or with an engine to its model."""
    warnings.simplefilter("ignore", DTypeWarning)
    clock, began = time.perf_counter(), cpu_seconds()
    mod = schedule(kernel, width).build(target="verilog", simulator=engine or "jit")
    text = str(mod)
    built = cpu_seconds()
    if not engine:
        return {
            "python": built[0] - began[0],
            "circt": built[1] - began[1],
            "megabytes": len(text) / 1e6,
            "cycles": mod.report.cycles,
        }
    mod.build_model()
    ready = cpu_seconds()
    wall = time.perf_counter() - clock
    return {"model": sum(ready) - sum(built), "wall": wall}


def in_process(kernel: str, width: int, engine: str, limit: float) -> dict[str, float] | None:
    """:func:`measure` in a process of its own with an empty cache; None beyond the limit."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--entry", f"{kernel}:{width}:{engine}"]
        started = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "ALLO_CACHE_DIR": cache},
        )
        try:
            said, _ = started.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
            return None
    if started.returncode:
        raise RuntimeError(f"{kernel} {width} {engine} failed")
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found


def rows_of(kernel: str, width: int, engines: Sequence[str], limit: float) -> list[Row]:
    """The rows of one width of a kernel, with the models of some engines."""
    what = f"{kernel} {width:,} {'pairs' if kernel == 'gemm' else 'lanes'}"
    strict, seconds, megabytes = LIMITS[kernel]
    at_most = True if width == strict else None
    against = "limit" if width == strict else f"limit at {strict:,}"
    rows = []
    text = in_process(kernel, width, "", limit)
    if text is not None:
        total = text["python"] + text["circt"]
        note = f"Python {text['python']:.1f}, CIRCT {text['circt']:.1f}, {text['cycles']:,} cycles"
        rows += [
            Row(f"{what}: to Verilog", total, "s", against, seconds, at_most, note),
            Row(f"{what}: text", text["megabytes"], "MB", against, megabytes, at_most),
        ]
    for engine in engines:
        most = MODEL_SECONDS[engine]
        model = in_process(kernel, width, engine, limit)
        if model is not None:
            note = f"{model['wall']:.1f} s by the clock from Python"
            note += ", with the run-time library, once a machine" * (engine == "verilator")
            row = Row(f"{what}: {engine} model", model["model"], "s", against, most, at_most, note)
            rows.append(row)
        else:
            print(f"{what}: {engine} model given up after {limit:.0f} s", file=sys.stderr)
    return rows


def growth(rows: list[Row]) -> list[Row]:
    """How the time to Verilog grows with the lanes, against in proportion to them."""
    times = {
        lanes: row.value
        for lanes in LANES
        for row in rows
        if row.what == f"int8 {lanes:,} lanes: to Verilog"
    }
    if len(times) < 2:
        return []
    first, last = min(times), max(times)
    return [
        Row(
            f"int8: {last:,} lanes to Verilog",
            times[last],
            "s",
            f"{last // first} times that of {first}",
            times[first] * last / first,
            True,
        )
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    parser = command_line(__doc__)
    parser.add_argument("--quick", action="store_true", help="only the smallest widths")
    parser.add_argument(
        "--only", nargs="+", choices=ENTRIES, metavar="ENTRY", help=f"of {', '.join(ENTRIES)}"
    )
    parser.add_argument("--limit", type=float, default=600.0, help="seconds an entry may take")
    parser.add_argument("--engine", choices=MODEL_SECONDS, help="only its models")
    parser.add_argument("--entry", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.entry:
        kernel, width, engine = given.entry.split(":")
        print(json.dumps(measure(kernel, int(width), engine)))
        return 0
    engines = [given.engine] if given.engine else [*MODEL_SECONDS]
    rows = []
    for entry in given.only or (QUICK if given.quick else ENTRIES):
        kernel, width = entry.split(":")
        rows += rows_of(kernel, int(width), engines, given.limit)
    title = "Width: CPU seconds from Python to Verilog and to simulation models"
    return finish("rtl_width", title, [*rows, *growth(rows)], given.json)


if __name__ == "__main__":
    sys.exit(main())
