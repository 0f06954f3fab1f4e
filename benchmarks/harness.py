"""What every benchmark shares: rows with a ratio against a peer or a limit, a table, JSON."""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        what: what was measured.
        value: the figure, in ``unit``.
        against: the peer or limit of the same run.
        reference: the peer's figure or the limit, in ``unit``.
        at_most: a limit from above (True), from below (False), or a peer without a verdict (None).
        note: anything a reader needs to judge the figure.
        figures: what ``scripts/figures --update`` records, by its key.
    """

    what: str
    value: float
    unit: str
    against: str
    reference: float
    at_most: bool | None = None
    note: str = ""
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """The figure over its reference."""
        return self.value / self.reference if self.reference else float("inf")

    @property
    def held(self) -> bool | None:
        """Whether the limit holds; None for a peer."""
        if self.at_most is None:
            return None
        return self.value <= self.reference if self.at_most else self.value >= self.reference


def seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Best time of one call, in seconds, after one call that is not counted."""
    function()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def networks_of_others(given: Path | None, part: str = "") -> Path:
    """The folder of networks that others trained, ``shared/networks`` beside the project.

    Args:
        given: by the user, who has them elsewhere.
        part: the folder within it.

    Raises:
        SystemExit: there is none.
    """
    folders = [root / "shared" / "networks" / part for root in ROOT.parents[:2]]
    folder = given or next((each for each in folders if each.is_dir()), folders[0])
    if not folder.is_dir():
        raise SystemExit(f"The networks are not there: {folder}. Say where they lie with --folder.")
    return folder


def command_line(about: str) -> argparse.ArgumentParser:
    """The command line of a benchmark, which adds its own options and reads it before all else.

    So ``--help``, or an option that does not exist, ends the program before anything is measured.

    Args:
        about: the docstring of the benchmark.
    """
    kept = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, formatter_class=kept, allow_abbrev=False)
    where = "where to write the figures (default: out/benchmarks/NAME.json)"
    parser.add_argument("--json", type=Path, metavar="FILE", help=where)
    return parser


def finish(name: str, title: str, rows: list[Row], target: Path | None = None) -> int:
    """Print the table, write ``target`` or ``out/benchmarks/<name>.json``, 1 when a limit fails."""
    target = target or ROOT / "out" / "benchmarks" / f"{name}.json"
    console = Console()
    console.print(_table(title, rows))
    for row in rows:
        if row.note:
            console.print(f"{row.what}: {row.note}", style="dim", markup=False, highlight=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    figures = [asdict(row) | {"ratio": row.ratio, "held": row.held} for row in rows]
    machine = {"machine": platform.machine(), "python": platform.python_version()}
    target.write_text(json.dumps({"benchmark": name, **machine, "rows": figures}, indent=1) + "\n")
    console.print(f"wrote {target}", style="dim", highlight=False)
    return 1 if any(row.held is False for row in rows) else 0


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("what", "figure", "against", "reference", "ratio", ""):
        table.add_column(name, justify="left" if name in ("what", "against", "") else "right")
    for row in rows:
        verdict = {None: "", True: "[green]held[/]", False: "[red]FAILED[/]"}[row.held]
        table.add_row(
            row.what,
            f"{_short(row.value)} {row.unit}",
            row.against,
            f"{_short(row.reference)} {row.unit}",
            f"{row.ratio:.3g}",
            verdict,
        )
    return table


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"
