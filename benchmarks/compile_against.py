"""Import and customize of this tree beside those of another commit, in turns in one run.

scripts/python benchmarks/compile_against.py [--commit 50e4cac]

The other commit's files are put into a temporary folder. Each figure is the best of several fresh processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from benchmarks.harness import ROOT, Row, finish

RUNS = 9
MEASURED_AS_BEFORE = "50e4cac"
PROGRAM = """
import time
began = time.perf_counter()
import allo
imported = time.perf_counter() - began
from allo.ir.types import float32

def square_gemm(A: float32[32, 32], B: float32[32, 32]) -> float32[32, 32]:
    C: float32[32, 32] = 0
    for i, j, k in allo.grid(32, 32, 32):
        C[i, j] += A[i, k] * B[k, j]
    return C

times = []
for _ in range(9):
    began = time.perf_counter()
    allo.customize(square_gemm)
    times.append(time.perf_counter() - began)
print(allo.__file__, imported * 1e3, times[0] * 1e3, min(times[1:]) * 1e3)
"""
NAMES = ("import allo", "customize gemm 32³, first", "customize gemm 32³, warm")


def measured(tree: Path, program: Path) -> list[float]:
    """Milliseconds of each figure, in a fresh process that imports from a tree."""
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tree)},
    )
    imported, *figures = done.stdout.split()
    if not Path(imported).is_relative_to(tree):
        raise RuntimeError(f"allo was imported from {imported}, not from {tree}")
    return [float(figure) for figure in figures]


def put_tree(commit: str, folder: Path) -> None:
    """Write the files of a commit to a folder."""
    archive = folder.with_suffix(".tar")
    command = ["git", "-C", str(ROOT), "archive", "-o", str(archive), commit]
    subprocess.run(command, check=True, timeout=120)
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="tar")


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Against", add_help=False)
    parser.add_argument("--commit", default=MEASURED_AS_BEFORE, help="the other commit")
    given, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        program, other = Path(temporary, "measure.py"), Path(temporary, "tree")
        program.write_text(PROGRAM)
        put_tree(given.commit, other)
        runs = [(measured(ROOT, program), measured(other, program)) for _ in range(RUNS)]
    rows = [
        Row(name, min(ours[k] for ours, _ in runs), "ms", given.commit, min(t[k] for _, t in runs))
        for k, name in enumerate(NAMES)
    ]
    return finish("compile_against", f"This tree against {given.commit}", rows, rest)


if __name__ == "__main__":
    sys.exit(main())
