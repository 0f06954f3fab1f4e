"""``allo.sweep`` on Dask: a local cluster of two workers, one of which ends in the middle of a point.

scripts/python benchmarks/sweep_dask.py [--points N]

It needs ``dask.distributed`` (``pip install 'allo[cluster]'``). The points are searches for a schedule of a
small kernel at different budgets. The worker that gets one of them ends at once; its point, and all others,
must come back with the scripts of a sweep in this process.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import allo
from allo.explore.sweep import Found, Point
from benchmarks.harness import Row, command_line, finish
from benchmarks.kernels import wide

WORKERS = 2
SECONDS = 10.0


def search(folder: str, fatal: int, max_dsp: int) -> Found:
    """A schedule on a budget; the first worker that is given the budget ``fatal`` ends."""
    mark = Path(folder) / "ended"
    if max_dsp == fatal and not mark.exists():
        mark.write_text(str(os.getpid()))
        os._exit(1)
    found = allo.autoschedule(wide, max_dsp=max_dsp, seconds=SECONDS, cache=False)
    return Found(found.script(), found.trace)


def on_dask(function: Any, points: list[int]) -> list[Point]:
    """A sweep through the executor of a cluster of two processes of this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
        client.get_executor() as executor,
    ):
        return allo.sweep(function, points, executor=executor)


def main() -> int:
    """Sweep, end a worker, compare, print, write; 1 when a point is lost."""
    parser = command_line(__doc__)
    parser.add_argument("--points", type=int, default=6)
    given = parser.parse_args()
    points = [4 * (n + 1) for n in range(given.points)]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        found = on_dask(partial(search, folder, points[len(points) // 2]), points)
        took = time.monotonic() - began
        ended = (Path(folder) / "ended").exists()
        wanted = [search(folder, 0, point) for point in points]
    same = sum(
        at.error is None and at.result.script == want.script
        for at, want in zip(found, wanted, strict=True)
    )
    note = f"{took:.1f} s; errors: {[at.error for at in found if at.error is not None]}"
    rows = [
        Row("points that came back the same", same, "", "points", len(points), False, note=note),
        Row("workers ended on the way", int(ended), "", "asked", 1, False),
    ]
    return finish("sweep_dask", f"A sweep on {WORKERS} workers of Dask", rows, given.json)


if __name__ == "__main__":
    sys.exit(main())
