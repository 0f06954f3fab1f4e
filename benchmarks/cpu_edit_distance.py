"""The CPU build against gcc -O3 on edit distances: loops whose iterations wait for each other.

scripts/bench cpu_edit_distance

Levenshtein's distance of two random words over four letters: as a table, with one row kept, and as a table
whose minima are written as conditions. The C functions have the same loops, ``restrict`` arguments and
constant extents; gcc may use all of this machine's instructions. Results are compared before any is timed.
Time is CPU time of the thread, of calls from Python, in turns; the median counts.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

import allo
from allo.ir.types import int32, uint8
from benchmarks.cpu_polybench import FLAGS, bound, machine, measured
from benchmarks.harness import Row, command_line, finish

LENGTH, RUNS, LIMIT = 1024, 15, 1.2
PEER = "gcc -O3 -march=native"

SOURCE = """
#include <stdint.h>
static inline int least(int a, int b) { return a < b ? a : b; }
static void ends(int32_t d[restrict N + 1][N + 1]) {
    for (int i = 0; i < N + 1; i++) d[i][0] = i;
    for (int j = 0; j < N + 1; j++) d[0][j] = j;
}
void table(const uint8_t *restrict a, const uint8_t *restrict b, int32_t d[restrict N + 1][N + 1]) {
    ends(d);
    for (int i = 1; i < N + 1; i++)
        for (int j = 1; j < N + 1; j++) {
            int cost = a[i - 1] == b[j - 1] ? 0 : 1;
            d[i][j] = least(least(d[i - 1][j] + 1, d[i][j - 1] + 1), d[i - 1][j - 1] + cost);
        }
}
void conditions(const uint8_t *restrict a, const uint8_t *restrict b, int32_t d[restrict N + 1][N + 1]) {
    ends(d);
    for (int i = 1; i < N + 1; i++)
        for (int j = 1; j < N + 1; j++) {
            int best = d[i - 1][j] + 1, other = d[i - 1][j - 1];
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (a[i - 1] != b[j - 1]) other += 1;
            if (other < best) best = other;
            d[i][j] = best;
        }
}
void one_row(const uint8_t *restrict a, const uint8_t *restrict b, int32_t row[restrict N + 1]) {
    for (int p = 0; p < N + 1; p++) row[p] = p;
    for (int i = 0; i < N; i++) {
        int diagonal = i, left = i + 1;
        row[0] = left;
        for (int j = 0; j < N; j++) {
            int above = row[j + 1], cost = a[i] == b[j] ? 0 : 1;
            int best = least(least(diagonal + cost, above + 1), left + 1);
            diagonal = above, left = best, row[j + 1] = best;
        }
    }
}
"""


def table[N](a: uint8[N], b: uint8[N], d: int32[N + 1, N + 1]):
    """All distances of beginnings of the words, as one writes it down."""
    for i in range(N + 1):
        d[i, 0] = i
    for j in range(N + 1):
        d[0, j] = j
    for i in range(1, N + 1):
        for j in range(1, N + 1):
            cost: int32 = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(min(d[i - 1, j] + 1, d[i, j - 1] + 1), d[i - 1, j - 1] + cost)


def conditions[N](a: uint8[N], b: uint8[N], d: int32[N + 1, N + 1]):
    """The same, each minimum a condition."""
    for i in range(N + 1):
        d[i, 0] = i
    for j in range(N + 1):
        d[0, j] = j
    for i in range(1, N + 1):
        for j in range(1, N + 1):
            best: int32 = d[i - 1, j] + 1
            other: int32 = d[i - 1, j - 1]
            if d[i, j - 1] + 1 < best:
                best = d[i, j - 1] + 1
            if a[i - 1] != b[j - 1]:
                other += 1
            if other < best:
                best = other
            d[i, j] = best


def one_row[N](a: uint8[N], b: uint8[N], row: int32[N + 1]):
    """One row of the table kept."""
    for p in range(N + 1):
        row[p] = p
    for i in range(N):
        diagonal: int32 = i
        left: int32 = i + 1
        row[0] = left
        for j in range(N):
            above: int32 = row[j + 1]
            cost: int32 = 0 if a[i] == b[j] else 1
            best: int32 = min(min(diagonal + cost, above + 1), left + 1)
            diagonal = above
            left = best
            row[j + 1] = best


KERNELS: dict[str, Callable[..., None]] = {
    "table": table,
    "one_row": one_row,
    "conditions": conditions,
}
HELD = ("table", "one_row")


def run(name: str, length: int, folder: Path) -> Row:
    """Compile, compare and time one kernel.

    Raises:
        RuntimeError: the two sides differ.
    """
    source, library = folder / "words.c", folder / f"{name}.so"
    source.write_text(SOURCE)
    command = ["gcc", *FLAGS, "-march=native", f"-DN={length}", str(source), "-o", str(library)]
    subprocess.run(command, check=True, timeout=120)
    function = ctypes.CDLL(str(library))[name]
    function.restype = None
    module = allo.customize(KERNELS[name], instantiate=[length]).build()
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 4, length).astype(np.uint8) for _ in range(2))
    shape = (length + 1,) if name == "one_row" else (length + 1, length + 1)
    arrays = (a, b, np.zeros(shape, np.int32))
    fresh = tuple(array.copy() for array in arrays)
    module(*arrays)
    ours = arrays[2].copy()
    native = bound(function, arrays)
    native()
    if not np.array_equal(ours, arrays[2]):
        raise RuntimeError(f"{name}: the CPU build and C differ")
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(RUNS):
        for call, kept in zip((lambda: module(*arrays), native), times, strict=True):
            kept.append(measured(call, arrays, fresh, 1))
    mine, theirs = (median(kept) for kept in times)
    what = f"edit distance, {name.replace('_', ' ')}"
    if name in HELD:
        return Row(what, mine, "ms", f"{LIMIT} × {PEER}", LIMIT * theirs, True, machine())
    return Row(what, mine, "ms", PEER, theirs)


def main(options: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    parser = command_line(__doc__)
    parser.add_argument("--length", type=int, default=LENGTH, help="letters of both words")
    given = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as folder:
        rows = [run(name, given.length, Path(folder)) for name in KERNELS]
    return finish(
        "cpu_edit_distance", f"CPU: edit_distance of {given.length} letters", rows, given.json
    )


if __name__ == "__main__":
    sys.exit(main())
