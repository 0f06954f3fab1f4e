"""Thirty designs for boards of three families: a bitstream of each, or the reason why there is none.

    scripts/board-gallery [--boards NAME …] [--only NAME …] [--minutes N] [--json FILE]

The designs are those of the gallery, and those of MachSuite without floats at their small size. Each is
routed once, at the
clock of the board's oscillator. What the file of figures holds already is not made again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from allo.boards import board as board_of
from allo.designs.gallery.catalogue import ENTRIES
from allo.designs.machsuite import kernels
from allo.errors import AlloError, AlloWarning, ToolFailedError

BOARDS = ("icebreaker", "tang-nano-20k", "ulx3s-85f")
INTEGER = ("aes", "bfs_queue", "kmp", "merge_sort", "nw", "radix_sort", "stencil2d", "stencil3d")
FIGURES = Path(__file__).with_suffix(".json")
LIMIT_S = 600.0


def designs() -> dict[str, Callable[[], Any]]:
    """Makers of schedules, by name."""
    found: dict[str, Callable[[], Any]] = {e.name: e.load().schedule for e in ENTRIES}
    for name in INTEGER:
        kernel = kernels.load(name)
        found[name] = lambda kernel=kernel: kernel.schedule(kernel.SIZES["tiny"])
    return found


def tried(make: Callable[[], Any], board: str, folder: str) -> dict[str, Any] | None:
    """What came of one design on one board; None where a tool had no time to end, which is no reason."""
    start = time.perf_counter()
    try:
        mod = make().build(target="verilog", board=board)
        made = mod.bitstream(
            f"{folder}/x.bit", clock_mhz=board_of(board).oscillator_mhz, timeout=LIMIT_S
        )
    except AlloError as error:
        if "time limit" in error.message:
            return None
        reason = (
            str(error.notes[0])
            if isinstance(error, ToolFailedError) and error.notes
            else error.message
        )
        found: dict[str, Any] = {"error": type(error).__name__, "reason": reason}
    else:
        used = {kind: count for kind, (count, _) in made.cells.items()}
        found = {"clock_mhz": made.clock_mhz, "fmax_mhz": round(made.fmax_mhz, 1), **used}
        found["untimed"] = list(made.untimed)
    return {**found, "seconds": round(time.perf_counter() - start, 1)}


def main() -> int:
    """Build, print a line for each, and keep the figures after each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--boards", nargs="+", default=BOARDS)
    parser.add_argument("--only", nargs="+", default=[], help="names of designs")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after so long")
    parser.add_argument("--json", type=Path, default=FIGURES, help="file of figures")
    options = parser.parse_args()
    warnings.simplefilter("ignore", AlloWarning)
    until = time.monotonic() + 60 * options.minutes
    kept = json.loads(options.json.read_text()) if options.json.exists() else {}
    known = designs()
    for name in options.only or known:
        for board in options.boards:
            if f"{name} {board}" in kept or time.monotonic() > until:
                continue
            with tempfile.TemporaryDirectory() as folder:
                found = tried(known[name], board, folder)
            if found is None:
                print(f"{name:16}{board:15}not ended in {LIMIT_S:g} s", flush=True)
                continue
            kept[f"{name} {board}"] = found
            options.json.write_text(json.dumps(kept, indent=1) + "\n")
            print(f"{name:16}{board:15}{found.get('reason') or found['fmax_mhz']}", flush=True)
    count = Counter("a reason" if "error" in found else "a bitstream" for found in kept.values())
    print(f"{dict(count)} of {len(known) * len(options.boards)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
