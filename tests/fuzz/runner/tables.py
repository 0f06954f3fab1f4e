"""What a campaign shows on the terminal."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .campaign import Tally
from .verdict import CRASH, ERROR, REJECT, TIMEOUT, WRONG

SHOWN_REASONS = 25


def progress_line(tally: Tally) -> Text:
    """One line for a campaign under way."""
    rate = tally.programs / tally.seconds if tally.seconds else 0.0
    parts = [f"{tally.programs} programs", f"{rate:.1f}/s"]
    parts += [f"{name} {count}" for name, count in sorted(tally.agreed.items())]
    parts += [f"{name} {tally.status[name]}" for name in (REJECT, WRONG, ERROR, CRASH, TIMEOUT)]
    return Text("  ".join(parts))


def summary(tally: Tally, console: Console) -> None:
    """The tables at the end of a campaign."""
    table = Table("programs", "", title=f"{tally.programs} programs in {tally.seconds:.0f} s")
    table.add_row("reference from the oracle", str(tally.oracle))
    for name, count in sorted(tally.agreed.items()):
        table.add_row(f"equal on {name}", str(count))
    for name, what in (
        (WRONG, "wrong values"),
        (CRASH, "crashes"),
        (ERROR, "unnamed or unexpected exceptions"),
        (TIMEOUT, "time-outs"),
        (REJECT, "rejects"),
    ):
        table.add_row(what, str(tally.status[name]))
    console.print(table)
    for title, counter in (
        ("rejects", tally.rejects),
        ("options declined", tally.declined),
        ("failures", tally.classes),
    ):
        if not counter:
            continue
        reasons = Table("number", title, show_edge=False)
        for reason, count in counter.most_common(SHOWN_REASONS):
            reasons.add_row(str(count), Text(reason))
        console.print(reasons)
    _options(tally, console)
    primitives = Table("primitive", "applied in", "refused", title="schedules", show_edge=False)
    refused = {
        name: sum(n for about, n in tally.refused.items() if about.startswith(f"{name}:"))
        for name in {about.split(":")[0] for about in tally.refused} | set(tally.primitives)
    }
    for name in sorted(refused):
        primitives.add_row(name, str(tally.primitives[name]), str(refused[name]))
    console.print(primitives)


def _options(tally: Tally, console: Console) -> None:
    """The options drawn, and how often each was refused by name."""
    refused = Counter[str]()
    for about, count in tally.declined.items():
        refused[about.split(":")[0]] += count
    table = Table("option", "programs", "refused", title="options", show_edge=False)
    for name in sorted({*tally.options, *refused}):
        table.add_row(name, str(tally.options[name]), str(refused[name]))
    console.print(table)
