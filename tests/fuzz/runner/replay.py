"""Runs one program again, and makes failing ones smaller."""

from __future__ import annotations

import argparse
import json
import runpy
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax

from ..generator import Program, make_program
from ..generator.program import Step
from .evaluate import scheduled
from .pool import Pool
from .verdict import Verdict

ALL = ["cpu", "jit"]
SHRINK_MINUTES = 6.0
REPLAY_LIMIT_S = 300.0


def load_program(what: str, only: str | None = None, skip: tuple[str, ...] = ()) -> Program:
    """A program from a seed, a JSON file of out/fuzz, or a file of tests/fuzz/found.

    Raises:
        FileNotFoundError: there is no such file.
    """
    if what.isdigit():
        return make_program(int(what), only, skip)
    file = Path(what)
    if file.suffix == ".py":
        return found_program(file)
    data = json.loads(file.read_text())
    program = Program.from_json(json.dumps(data["program"]))
    return scheduled(program, Verdict(**data["verdict"])) if data["verdict"]["steps"] else program


def found_program(file: Path) -> Program:
    """The program of a file of ``tests/fuzz/found``."""
    space = runpy.run_path(str(file))
    about = {**space["PROGRAM"], "source": space["SOURCE"].strip() + "\n"}
    return Program.from_json(json.dumps(about))


def run_one(program: Program, targets: list[str], *, fault: str = "") -> Verdict:
    """The verdict on one program, in a process of its own."""
    job = {"program": json.loads(program.to_json()), "targets": targets}
    with Pool(1, fault=fault, limit_s=REPLAY_LIMIT_S) as pool:
        return next(v for _, v in pool.run([job]))


def replay(what: str, options: argparse.Namespace, console: Console) -> int:
    """Show a program and what becomes of it; 1 where it fails."""
    skip = tuple(options.skip.split(",")) if options.skip else ()
    program = load_program(what, options.only, skip)
    console.print(Syntax(program.source, "python", background_color="default"))
    targets = [t.partition(":")[0] for t in options.targets.split(",")]
    targets = [t for t in targets if t != "oracle"]
    verdict = run_one(program, targets, fault=options.fault or "")
    for name, args, kwargs in verdict.steps:
        console.print(str(Step(name, tuple(args), tuple(map(tuple, kwargs)))), markup=False)
    console.print(f"{verdict.status} {verdict.target} {verdict.reason}", markup=False)
    console.print(verdict.detail, markup=False)
    console.print(f"equal on {', '.join(verdict.agreed) or 'nothing'}", style="dim")
    return 1 if verdict.failed else 0


def shrink_file(what: str, options: argparse.Namespace, console: Console) -> int:
    """Make a failing program smaller and keep it; 1 where it does not fail."""
    from ..shrink import Shrinker, keep

    skip = tuple(options.skip.split(",")) if options.skip else ()
    program = load_program(what, options.only, skip)
    targets = [t.partition(":")[0] for t in options.targets.split(",")]
    targets = [t for t in targets if t != "oracle"]
    first = run_one(program, targets)
    if not first.failed:
        console.print(f"{what} does not fail: {first.status} {first.reason}", markup=False)
        return 1
    if program.steps is None:
        program = scheduled(program, first)
    if first.target.split()[0] in targets:
        targets = [first.target.split()[0]]
    with Pool(1, per_worker=1 << 30, limit_s=10.0) as pool:
        shrinker = Shrinker(pool, first, targets, minutes=SHRINK_MINUTES)
        smaller = shrinker.run(program)
    verdict = run_one(smaller, targets)
    console.print(Syntax(smaller.source, "python", background_color="default"))
    for step in smaller.steps or []:
        console.print(str(step), markup=False)
    console.print(f"{verdict.signature}\n{verdict.detail}", markup=False)
    console.print(f"{shrinker.tried} programs tried", style="dim")
    keep(smaller, verdict, lambda text: console.print(text, markup=False))
    return 0
