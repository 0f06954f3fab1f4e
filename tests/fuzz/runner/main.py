"""The command ``scripts/fuzz``."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.live import Live

from ..generator import make_program
from .campaign import Settings, Tally, run_campaign, save_failures
from .tables import progress_line, summary
from .verdict import Verdict

ROOT = Path(__file__).resolve().parents[3]
OUT = ROOT / "out" / "fuzz"
KEPT_EVERY = 50
"""The figures of a campaign are written behind so many programs."""


def main() -> int:
    """Run what the command line asks for; 1 where something failed."""
    options = _parser().parse_args()
    console = Console()
    if options.planted:
        from ..planted.run import run_planted

        return run_planted(options, console)
    if options.report:
        from .report import write_report

        write_report(console)
        return 0
    if options.replay:
        from .replay import replay

        return replay(options.replay, options, console)
    if options.shrink:
        from .replay import shrink_file

        return shrink_file(options.shrink, options, console)
    return _campaign(options, console)


def _campaign(options: argparse.Namespace, console: Console) -> int:
    settings = settings_of(options)
    console.print(f"seed {settings.seed}, {settings.workers} workers", style="dim")
    file = Path(options.json) if options.json else OUT / f"campaign-{settings.seed}.json"
    about = {"commit": commit(), "settings": _described(settings)}
    with Live(console=console, refresh_per_second=2, transient=True) as live:

        def progress(tally: Tally, verdict: Verdict) -> None:
            if verdict.failed and tally.classes[verdict.signature] == 1:
                first = verdict.detail.splitlines()[0] if verdict.detail else ""
                live.console.print(
                    f"{verdict.seed}: {verdict.signature}", style="red", markup=False
                )
                live.console.print(f"    {first[:200]}", style="dim", markup=False)
            live.update(progress_line(tally))
            if tally.programs % KEPT_EVERY == 0:
                write_figures(file, about, tally)

        tally = run_campaign(settings, progress)
    summary(tally, console)
    write_figures(file, about, tally)
    console.print(f"figures: {file}", style="dim", markup=False)
    made = save_failures(tally, OUT / "failures", settings)
    if made:
        console.print(f"failures: {made[0].parent} ({len(made)} programs)", markup=False)
    return 1 if tally.failures else 0


def write_figures(file: Path, about: dict[str, object], tally: Tally) -> None:
    """What a campaign has found so far, all or nothing; one that is ended early leaves its last figures."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps({**about, **tally.as_dict()}, indent=1) + "\n")
    new.replace(file)


def commit() -> str:
    """The commit that is tested, in short; empty outside a repository."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    return said.stdout.strip()


def settings_of(options: argparse.Namespace) -> Settings:
    """A campaign's settings from the command line."""
    targets, shares = [], {"jit": 0.0, "icarus": 0.0, "csim": 0.0, "verilator": 0.0}
    for text in options.targets.split(","):
        name, _, share = text.partition(":")
        if name in shares:
            shares[name] = float(share or 1.0)
        if name in ("cpu", "jit", "icarus"):
            targets.append(name)
        elif name not in (*shares, "oracle"):
            raise SystemExit(
                f"There is no target {name!r}; targets: oracle, cpu, jit, icarus, csim, verilator."
            )
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 40)
    programs = options.programs
    if programs is None and options.minutes is None:
        programs = 1000
    return Settings(
        seed=seed,
        programs=programs,
        minutes=options.minutes,
        targets=tuple(targets),
        jit=shares["jit"],
        icarus=shares["icarus"],
        csim=shares["csim"],
        verilator=shares["verilator"],
        only=options.only,
        skip=tuple(options.skip.split(",")) if options.skip else (),
        workers=options.workers,
    )


def _described(settings: Settings) -> dict[str, object]:
    names = (
        "seed",
        "programs",
        "minutes",
        "targets",
        "jit",
        "icarus",
        "csim",
        "verilator",
        "only",
        "skip",
        "workers",
    )
    return {name: getattr(settings, name) for name in names}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "scripts/fuzz", description="Random programs, compared on every target."
    )
    add = parser.add_argument
    add("--minutes", type=float, help="end after so many minutes")
    add("--programs", type=int, help="end after so many programs (default 1000)")
    add("--seed", type=int, help="seed of the first program (default: a fresh one)")
    add(
        "--targets",
        default="oracle,cpu,jit,csim:0.05,verilator:0.03,icarus:0.01",
        help="of oracle, cpu, jit, csim, verilator, icarus; csim:0.1 is one program in ten",
    )
    add("--only", help="a kind of program or a feature it must have")
    add("--skip", help="features it must not have, comma-separated")
    add("--workers", type=int, default=2, help="processes (default 2)")
    add("--json", help="file for the figures (default out/fuzz/campaign-SEED.json)")
    add("--replay", metavar="FILE|SEED", help="run one program and say what happens")
    add(
        "--shrink", metavar="FILE|SEED", help="make a failing program smaller and keep it as a test"
    )
    add("--planted", action="store_true", help="switch off rules of the compiler, one at a time")
    add(
        "--fault",
        help="with --planted: these faults alone, comma-separated; with --replay: this one",
    )
    add("--report", action="store_true", help="write the table of docs/reliability.md")
    return parser


def show_program(seed: int, settings: Settings) -> str:
    """The source of a seed's program."""
    return make_program(seed, settings.only, settings.skip).source


if __name__ == "__main__":
    sys.exit(main())
