"""A campaign: programs of many seeds, what became of them, and what failed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..generator import make_program
from .clock import now
from .pool import Job, Pool
from .verdict import OK, REJECT, TIMEOUT, Verdict

KEPT_PER_CLASS = 5


@dataclass(slots=True)
class Settings:
    """What a campaign runs.

    Attributes:
        seed: the first program's; programs take consecutive ones.
        programs, minutes: it ends after the first of these that is set and reached.
        targets: what each program runs on beside the reference.
        jit, icarus: shares of the programs that run on the in-process engine, and in Icarus, where these are
            among the targets.
        csim, verilator: share of the programs that also run on these, in batches.
    """

    seed: int = 1
    programs: int | None = None
    minutes: float | None = None
    targets: tuple[str, ...] = ("cpu", "jit")
    jit: float = 1.0
    icarus: float = 1.0
    csim: float = 0.0
    verilator: float = 0.0
    only: str | None = None
    skip: tuple[str, ...] = ()
    workers: int = 2
    oracle: bool = True


@dataclass(slots=True)
class Tally:
    """Counts of a campaign; ``failures`` keeps the first few of each class."""

    programs: int = 0
    status: Counter[str] = field(default_factory=Counter)
    agreed: Counter[str] = field(default_factory=Counter)
    oracle: int = 0
    rejects: Counter[str] = field(default_factory=Counter)
    examples: dict[str, int] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    options: Counter[str] = field(default_factory=Counter)
    declined: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    primitives: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    phases: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict, *, batch: bool = False) -> None:
        self.agreed.update(verdict.agreed)
        self.declined.update(verdict.declined)
        if not batch:
            self.programs += 1
            self.oracle += verdict.oracle
            self.features.update(verdict.features)
            self.options.update(verdict.options)
            self.refused.update(verdict.refused)
            self.primitives.update({step[0] for step in verdict.steps})
        if not batch or verdict.failed:
            self.status[verdict.status] += 1
        if verdict.status == REJECT and not batch:
            reason = f"{verdict.target}: {verdict.reason}"
            self.rejects[reason] += 1
            self.examples.setdefault(reason, verdict.seed)
        if verdict.failed:
            self.classes[verdict.signature] += 1
            if self.classes[verdict.signature] <= KEPT_PER_CLASS:
                self.failures.append(verdict.as_dict())

    def as_dict(self) -> dict[str, Any]:
        counters = ("status", "agreed", "rejects", "refused", "options", "declined")
        counters += ("features", "primitives", "classes")
        made: dict[str, Any] = {name: dict(getattr(self, name).most_common()) for name in counters}
        made |= {
            "programs": self.programs,
            "oracle": self.oracle,
            "seconds": round(self.seconds, 1),
            "phases": {name: round(spent, 1) for name, spent in self.phases.most_common()},
            "examples": self.examples,
            "failures": self.failures,
        }
        return made


def run_campaign(
    settings: Settings, progress: Callable[[Tally, Verdict], None] = lambda *_: None
) -> Tally:
    """Run programs until the campaign's end; returns the counts."""
    tally = Tally()
    start = now()

    def over() -> bool:
        return settings.minutes is not None and now() - start > 60 * settings.minutes

    with Pool(settings.workers) as pool:
        for job, verdict in pool.run(_jobs(settings), over):
            tally.add(verdict, batch="batch" in job and bool(settings.targets))
            tally.seconds, tally.phases = now() - start, pool.spent
            progress(tally, verdict)
    return tally


def _jobs(settings: Settings) -> Iterator[Job]:
    """Jobs of consecutive seeds, and batches of some of them for csim and Verilator."""
    waiting: dict[str, list[int]] = {"csim": [], "verilator": []}
    alone = {"jit": settings.jit, "icarus": settings.icarus}
    due = dict.fromkeys((*alone, *waiting), 0.0)
    seed = settings.seed
    common = {"only": settings.only, "skip": settings.skip, "oracle": settings.oracle}
    while settings.programs is None or seed < settings.seed + settings.programs:
        targets = [
            target
            for target in settings.targets
            if target not in alone or _is_due(due, target, alone[target])
        ]
        if targets:
            yield {"seed": seed, "targets": targets, **common}
        for target, share in (("csim", settings.csim), ("verilator", settings.verilator)):
            if _is_due(due, target, share):
                waiting[target].append(seed)
            if len(waiting[target]) >= BATCH[target]:
                yield {"batch": target, "seeds": waiting[target], **common}
                waiting[target] = []
        seed += 1
    for target, seeds in waiting.items():
        if seeds:
            yield {"batch": target, "seeds": seeds, **common}


def _is_due(due: dict[str, float], target: str, share: float) -> bool:
    """Whether the next program runs on a target that a share of them runs on."""
    due[target] += share
    if due[target] < 1.0:
        return False
    due[target] -= 1.0
    return True


BATCH = {"csim": 40, "verilator": 24}


def save_failures(tally: Tally, folder: Path, settings: Settings) -> list[Path]:
    """Each kept failure's program and verdict as a JSON file."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for verdict in tally.failures:
        if verdict["seed"] < 0:
            continue
        program = make_program(verdict["seed"], settings.only, settings.skip)
        about = {
            "verdict": verdict,
            "program": json.loads(program.to_json()),
            "source": program.source.splitlines(),
        }
        file = folder / f"{verdict['seed']}.json"
        file.write_text(json.dumps(about, indent=1))
        made.append(file)
    return made


__all__ = ["OK", "REJECT", "TIMEOUT", "Settings", "Tally", "run_campaign", "save_failures"]
