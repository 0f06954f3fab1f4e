"""Compile times and simulation speed of this tree beside those of another commit, in turns in one run.

scripts/python benchmarks/compile_against.py [--commit 1bf4d97] [--runs 9]

The other commit's files are put into a temporary folder. Each figure is the best of several fresh processes,
by the clock; `benchmarks/against/steps.py` is what each of them times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from benchmarks.harness import ROOT, Row, command_line, finish

RUNS = 9
MEASURED_AS_BEFORE = "1bf4d97"
STEPS = ROOT / "benchmarks" / "against" / "steps.py"
SLOWER = 1.05
"""How many times the other commit's time a step may take."""


def measured(tree: Path) -> dict[str, float]:
    """Milliseconds of each step, in a fresh process that imports from a tree and has an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, str(STEPS)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "PYTHONPATH": str(tree), "ALLO_CACHE_DIR": cache},
        )
    if done.returncode:
        raise RuntimeError(f"the steps failed with {tree}: {done.stderr[-2000:]}")
    imported, figures = done.stdout.splitlines()[-2:]
    if not Path(imported).is_relative_to(tree):
        raise RuntimeError(f"allo was imported from {imported}, not from {tree}")
    found: dict[str, float] = json.loads(figures)
    return found


def put_tree(commit: str, folder: Path) -> None:
    """Write the files of a commit to a folder."""
    archive = folder.with_suffix(".tar")
    command = ["git", "-C", str(ROOT), "archive", "-o", str(archive), commit]
    subprocess.run(command, check=True, timeout=120)
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="tar")


def main() -> int:
    """Measure, print, write."""
    parser = command_line(__doc__)
    parser.add_argument("--commit", default=MEASURED_AS_BEFORE, help="the other commit")
    parser.add_argument("--runs", type=int, default=RUNS, help="processes of each tree")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        other = Path(temporary, "tree")
        put_tree(given.commit, other)
        runs = [(measured(ROOT), measured(other)) for _ in range(given.runs)]
    rows = [
        Row(
            step,
            min(ours[step] for ours, _ in runs),
            "ms",
            f"{SLOWER} × {given.commit}",
            SLOWER * min(theirs[step] for _, theirs in runs),
            True,
        )
        for step in runs[0][0]
    ]
    return finish("compile_against", f"This tree against {given.commit}", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
