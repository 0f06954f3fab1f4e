"""The tables of docs/reliability.md."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .planted.run import Seen
from .runner.campaign import Tally
from .runner.main import write_figures
from .runner.report import BEGIN, DOCUMENT, END, tables
from .runner.verdict import Verdict
from .test_planted import FAULTS

CAMPAIGN: dict[str, Any] = {
    "commit": "0123abc",
    "settings": {"seed": 7000},
    "programs": 1500,
    "oracle": 1400,
    "status": {"ok": 1490, "reject": 8, "wrong": 1, "crash": 1},
    "agreed": {"cpu": 1490, "jit": 1480},
    "rejects": {"customize: A | B": 8},
}


def test_campaigns_add_up_beside_the_published_figures() -> None:
    text = tables([CAMPAIGN, CAMPAIGN], None)
    assert "| **Allo**, all runs below | 3,000 | 4 (0.133 %) |" in text
    assert "| Bambu (published) | 6,700 | 13.7 % (0.25 % after fixes) |" in text
    assert "| equal on jit | 2,960 |" in text
    assert "| customize: A / B | 16 |" in text


def test_each_run_says_its_commit_and_its_failures() -> None:
    later = {**CAMPAIGN, "commit": "89abcde", "settings": {"seed": 9000}, "status": {"ok": 1500}}
    rows = tables([later, CAMPAIGN], None).splitlines()
    assert "| **Allo**, in the runs after the last that failed | 1,500 | 0 |" in rows
    first = rows.index("| 7000 | 0123abc | 1,500 | 1,490 | 1,480 | 0 | 0 | 0 | 2 |")
    assert rows[first + 1] == "| 9000 | 89abcde | 1,500 | 1,490 | 1,480 | 0 | 0 | 0 | 0 |"


def test_options_are_counted_beside_their_refusals() -> None:
    """Runs before there were options have none."""
    options = {"clock_mhz": 900, "interface": 60}
    declined = {"interface: InterfaceError: …": 9, "interface: X": 1, "several: BuildError: …": 2}
    later = {**CAMPAIGN, "options": options, "declined": declined}
    rows = tables([CAMPAIGN, later], None).splitlines()
    assert "| `clock_mhz` | 900 | 0 |" in rows and "| `interface` | 60 | 10 |" in rows
    assert "| several of them at once | | 2 |" in rows
    assert "option" not in tables([CAMPAIGN], None)


def test_planted_faults_are_listed() -> None:
    seen = [asdict(Seen(f.name, f.area, f.rule, 7, 40, 5, "", 1.0)) for f in FAULTS[:3]]
    seen.append(asdict(Seen("x", "y", "z", None, 300, 0, "", 9.0)))
    text = tables([CAMPAIGN], {"faults": seen})
    assert "3 of 4 planted faults are seen; half of them by program 7." in text
    assert f"| {FAULTS[0].name} | {FAULTS[0].area} | {FAULTS[0].rule} | 7 | 5 of 40 |" in text
    assert "| x | y | z | – | 0 of 300 |" in text


def test_the_document_has_a_place_for_them() -> None:
    page = DOCUMENT.read_text()
    assert page.index(BEGIN) < page.index(END)


def test_a_campaign_that_is_ended_early_leaves_its_figures(tmp_path: Path) -> None:
    file, tally = tmp_path / "made" / "campaign.json", Tally()
    for seed in range(2):
        tally.add(Verdict(seed, "ok", agreed=["cpu"]))
        write_figures(file, {"commit": "0123abc", "settings": {"seed": 0}}, tally)
        found = json.loads(file.read_text())
        assert (found["programs"], found["agreed"]) == (seed + 1, {"cpu": seed + 1})
    assert [f.name for f in file.parent.iterdir()] == ["campaign.json"]
