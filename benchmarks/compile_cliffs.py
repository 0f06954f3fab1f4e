"""Where compile time once grew faster than programs: gathers, triangular nests, long straight lines.

scripts/python benchmarks/compile_cliffs.py [--json FILE]

Processor seconds from Python to Verilog, of this process and of those that it waits for, each the best of two
builds. The growth of a row is the exponent between its last two sizes: 1 where twice the program takes twice
as long.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import allo
from allo import Partition
from allo.ir.types import int32
from benchmarks.harness import Row, command_line, finish

SCALARS = 37
"""Variables of the straight line."""
BUILDS = 2


def gather[L](A: int32[16 * L], P: int32[16 * L], B: int32[16 * L]):
    """``A[P]``, L elements at once."""
    for i in range(16):
        for j in range(L):
            B[i * L + j] = A[P[i * L + j]]


def triangle[N](A: int32[N, N], B: int32[N]):
    """Sums of the rows left of the diagonal."""
    for i in range(N):
        for j in range(i):
            B[i] += A[i, j]


def elimination[N](A: int32[N, N]):
    """The loops of an LU decomposition."""
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] += A[j, j]
        for j in range(i, N):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def gather_of(lanes: int) -> allo.Schedule:
    """As many banks as lanes."""
    schedule = allo.customize(gather, instantiate=[lanes])
    schedule.unroll("j")
    schedule.pipeline("i")
    for array in (schedule.A, schedule.P, schedule.B):
        schedule.partition(array, partition_type=Partition.Cyclic, dim=1, factor=lanes)
    return schedule


def pipelined(kernel: Callable[..., object]) -> Callable[[int], allo.Schedule]:
    """A kernel of one size, pipelined around all its inner loops."""

    def made(size: int) -> allo.Schedule:
        schedule = allo.customize(kernel, instantiate=[size])
        schedule.pipeline("i")
        return schedule

    return made


def straight_line(statements: int) -> allo.Schedule:
    """Statements one after another on a few variables."""
    lines = ["from allo.ir.types import int32", "def straight(A: int32[64], B: int32[64]):"]
    lines += [f"    x{k}: int32 = A[{k}]" for k in range(SCALARS)]
    for k in range(SCALARS, statements):
        lines.append(f"    x{k % SCALARS} = A[{k % 64}] * x{(k + 5) % SCALARS} + {k}")
    lines += [f"    B[{k}] = x{k}" for k in range(SCALARS)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"straight_{statements}.py"
        file.write_text("\n".join(lines) + "\n")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} is no module")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return allo.customize(module.straight)


@dataclass(frozen=True, slots=True)
class Cliff:
    """Programs of one kind.

    Attributes:
        limit: CPU seconds that the largest may take; ``growth`` the exponent, None without a limit.
    """

    what: str
    make: Callable[[int], allo.Schedule]
    sizes: Sequence[int]
    limit: float
    growth: float | None = None


CLIFFS = (
    Cliff("gather of {} lanes", gather_of, (32, 64, 128), 3, 1.3),
    Cliff("LU of {0}×{0}, pipelined outside", pipelined(elimination), (4, 8, 16), 10),
    Cliff("{} statements", straight_line, (1000, 2000, 4000), 15, 1.3),
    Cliff("triangle of {0}×{0}, pipelined outside", pipelined(triangle), (16, 32, 48), 2),
)


def cpu_seconds(make: Callable[[int], allo.Schedule], size: int) -> float:
    """From the kernel to its Verilog, schedule included."""
    taken = []
    for _ in range(BUILDS):
        began = os.times()
        text = str(make(size).build(target="systemverilog"))
        ended = os.times()
        if "endmodule" not in text:
            raise RuntimeError("there is no module in the Verilog")
        taken.append(sum(ended[:4]) - sum(began[:4]))
    return min(taken)


def rows_of(cliff: Cliff) -> list[Row]:
    """A row for the largest program, and one for the growth."""
    times = [cpu_seconds(cliff.make, size) for size in cliff.sizes]
    name = cliff.what.format(cliff.sizes[-1])
    note = ", ".join(f"{n}: {t:.2f} s" for n, t in zip(cliff.sizes, times, strict=True))
    exponent = log(times[-1] / times[-2]) / log(cliff.sizes[-1] / cliff.sizes[-2])
    growth = f"growth, {cliff.what.format(cliff.sizes[-2])} to {cliff.sizes[-1]}"
    limited = None if cliff.growth is None else True
    against = "as the program" if cliff.growth is None else "limit"
    return [
        Row(name, times[-1], "CPU s", "limit", cliff.limit, True, note),
        Row(growth, exponent, "", against, cliff.growth or 1, limited),
    ]


def main() -> int:
    """Measure, print, write; 1 when a limit fails."""
    target = command_line(__doc__).parse_args().json
    return finish(
        "compile_cliffs",
        "Compile time, where it grew",
        [r for c in CLIFFS for r in rows_of(c)],
        target,
    )


if __name__ == "__main__":
    sys.exit(main())
