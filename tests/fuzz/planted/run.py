"""``scripts/fuzz --planted``: after how many programs each planted fault is seen, and in how many."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..runner.clock import now
from ..runner.pool import Job, Pool
from ..runner.verdict import Verdict
from . import Fault
from .faults import FAULTS

OUT = Path(__file__).resolve().parents[3] / "out" / "fuzz"
SEED = 1_000_000
"""The first program; the same for every fault and every run."""
PROGRAMS = 300
"""A fault that none of so many programs sees counts as missed."""
CATCHES = 5
"""A fault that so many programs have seen is left for the next one."""
BATCH = 25
LIMIT_S = 20.0


@dataclass(slots=True)
class Seen:
    """What came of a fault.

    Attributes:
        first: the number of the first program that sees it, None for none.
        programs, caught: how many were run, and in how many of them it is seen.
        how: the verdict on the first of these that was told.
    """

    name: str
    area: str
    rule: str
    first: int | None
    programs: int
    caught: int
    how: str
    seconds: float


def run_planted(options: argparse.Namespace, console: Console) -> int:
    """Run all faults, or the one of ``--fault``; 1 where one is missed."""
    wanted = options.fault.split(",") if options.fault else [f.name for f in FAULTS]
    faults = [f for f in FAULTS if f.name in wanted]
    if not faults:
        console.print(f"There is no fault {options.fault!r}.", markup=False)
        return 2
    most = options.programs or PROGRAMS
    file = Path(options.json) if options.json else OUT / "planted.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    earlier = json.loads(file.read_text())["faults"] if options.fault and file.exists() else []
    seen: list[Seen] = []
    sound = Baseline(options.workers)
    for fault in faults:
        seen.append(see(fault, most, options.workers, sound))
        console.print(_line(seen[-1]), markup=False)
        found = _merged(earlier, [asdict(s) for s in seen])
        file.write_text(json.dumps({"seed": SEED, "faults": found}, indent=1) + "\n")
    _report(seen, console)
    console.print(f"figures: {file}", style="dim", markup=False)
    return 1 if any(s.first is None for s in seen) else 0


def _merged(earlier: list[dict[str, Any]], seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Earlier results, with these in place of those of the same faults."""
    found = {about["name"]: about for about in [*earlier, *seen]}
    return [found[fault.name] for fault in FAULTS if fault.name in found]


class Baseline:
    """Whether a program fails without any fault: such a program shows nothing."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._known: dict[tuple[int, str | None, tuple[str, ...]], bool] = {}

    def fails(self, seed: int, fault: Fault) -> bool:
        key = (seed, fault.only, fault.targets)
        if key not in self._known:
            with Pool(1, limit_s=LIMIT_S) as pool:
                verdicts = [v for _, v in pool.run(_jobs(fault, [seed]))]
            self._known[key] = any(v.failed for v in verdicts)
        return self._known[key]


def see(fault: Fault, most: int, workers: int, sound: Baseline) -> Seen:
    """Run programs with a fault until :data:`CATCHES` that are sound without it fail, at most ``most``."""
    start = now()
    count = 0
    catches: list[Verdict] = []
    with Pool(workers, fault=fault.name, limit_s=LIMIT_S) as pool:
        for _, verdict in pool.run(_jobs(fault, range(SEED, SEED + most))):
            count += 1
            if not verdict.failed or verdict.seed < SEED or sound.fails(verdict.seed, fault):
                continue
            catches.append(verdict)
            if len(catches) == CATCHES:
                break
    first = min((v.seed - SEED + 1 for v in catches), default=None)
    how = f"{catches[0].status} on {catches[0].target or 'a target'}" if catches else ""
    seconds = round(now() - start, 1)
    return Seen(fault.name, fault.area, fault.rule, first, count, len(catches), how, seconds)


def _jobs(fault: Fault, seeds: range | list[int]) -> Iterator[Job]:
    common: dict[str, Any] = {"only": fault.only}
    if fault.targets[0] in ("csim", "verilator"):
        for at in range(0, len(seeds), BATCH):
            yield {"batch": fault.targets[0], "seeds": list(seeds[at : at + BATCH]), **common}
        return
    for seed in seeds:
        yield {"seed": seed, "targets": list(fault.targets), **common}


def _line(seen: Seen) -> str:
    found = f"program {seen.first}, {seen.how}" if seen.first else "NOT SEEN"
    return f"{seen.name}: {found}; in {_share(seen)} programs ({seen.seconds:.0f} s)"


def _share(seen: Seen) -> str:
    return f"{seen.caught} of {seen.programs}"


def _report(seen: list[Seen], console: Console) -> None:
    titles = ("fault", "part", "rule switched off", "seen by program", "seen in")
    table = Table(*titles, title="Planted faults")
    for s in seen:
        table.add_row(s.name, s.area, s.rule, str(s.first or "-"), _share(s))
    console.print(table)
    firsts = [s.first for s in seen if s.first]
    if firsts:
        console.print(
            f"{len(firsts)} of {len(seen)} seen, median {statistics.median(firsts):.0f} programs"
        )
