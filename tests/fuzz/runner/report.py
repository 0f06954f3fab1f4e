"""``scripts/fuzz --report``: the figures of all campaigns as the tables of docs/reliability.md."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = (ROOT / "tests" / "fuzz" / "campaigns", ROOT / "out" / "fuzz")
DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: scripts/fuzz --report -->", "<!-- end of figures -->"
PUBLISHED = (
    ("Bambu", "13.7 % (0.25 % after fixes)"),
    ("LegUp", "2.5 %"),
    ("Vivado HLS", "1.2 %"),
    ("Intel i++", "0.4 %"),
)
"""Failing programs of 6,700: Herklotz et al., FCCM'21."""
_FAILED = ("wrong", "error", "crash", "timeout")


def write_report(console: Console) -> None:
    """Merge the figures into the document.

    Figures of ``tests/fuzz/campaigns`` count; where there are none, those of ``out/fuzz``.
    """
    campaigns, planted = _figures()
    text = tables(campaigns, planted)
    page = DOCUMENT.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    console.print(f"{len(campaigns)} campaigns written into {DOCUMENT}", markup=False)


def _figures() -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    for folder in FOLDERS:
        campaigns = [json.loads(f.read_text()) for f in sorted(folder.glob("campaign*.json"))]
        planted = folder / "planted.json"
        found = json.loads(planted.read_text()) if planted.exists() else None
        if campaigns or found:
            return campaigns, found
    return [], None


def tables(campaigns: list[dict[str, Any]], planted: dict[str, Any] | None) -> str:
    """The tables: programs and what became of them, beside the published; planted faults."""
    total = merged(campaigns)
    programs = total["programs"]
    failed = sum(total["status"][name] for name in _FAILED)
    lines = [
        "| | programs | failing |",
        "|---|---:|---:|",
        *(f"| {name} (published) | 6,700 | {share} |" for name, share in PUBLISHED),
        f"| **Allo**, all runs below | {programs:,} | {_share(failed, programs)} |",
        *_after_the_last_failure(campaigns),
        "",
        "| | |",
        "|---|---:|",
        f"| compared with the oracle | {total['oracle']:,} |",
        *(f"| equal on {name} | {count:,} |" for name, count in sorted(total["agreed"].items())),
        *(f"| {name} | {total['status'][name]:,} |" for name in (*_FAILED, "reject")),
    ]
    lines += ["", *_segments_table(campaigns)]
    rejects = total["rejects"].most_common(12)
    if rejects:
        lines += ["", "| rejects | |", "|---|---:|"]
        lines += [f"| {_plain(reason)} | {count:,} |" for reason, count in rejects]
    lines += _options_table(total)
    if planted:
        lines += ["", *_planted_table(planted)]
    return "\n".join(lines)


def _after_the_last_failure(campaigns: list[dict[str, Any]]) -> list[str]:
    """The runs since the last that failed: what failed before them is mended."""
    programs = 0
    for campaign in sorted(campaigns, key=_first_seed, reverse=True):
        if any(campaign["status"].get(name) for name in _FAILED):
            return [f"| **Allo**, in the runs after the last that failed | {programs:,} | 0 |"]
        programs += campaign["programs"]
    return []


def _first_seed(campaign: dict[str, Any]) -> int:
    seed: int = campaign["settings"]["seed"]
    return seed


def _segments_table(campaigns: list[dict[str, Any]]) -> list[str]:
    """A row for each run: what was tested, with which seeds, and what failed at that commit."""
    names = ("cpu", "jit", "csim", "verilator", "icarus")
    heads = ("first seed", "commit", "programs", *names, "failing")
    lines = [f"| {' | '.join(heads)} |", "|---:|---|" + "---:|" * (len(heads) - 2)]
    for campaign in sorted(campaigns, key=_first_seed):
        counts = [campaign["programs"], *(campaign["agreed"].get(name, 0) for name in names)]
        counts.append(sum(campaign["status"].get(name, 0) for name in _FAILED))
        where = f"{campaign['settings']['seed']} | {campaign['commit']}"
        lines.append(f"| {where} | {' | '.join(f'{n:,}' for n in counts)} |")
    return lines


def merged(campaigns: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts of several campaigns as those of one."""
    total: dict[str, Any] = {"programs": 0, "oracle": 0}
    for name in ("status", "agreed", "rejects", "options", "declined"):
        counter: Counter[str] = Counter()
        for campaign in campaigns:
            counter.update(campaign.get(name, {}))
        total[name] = counter
    for campaign in campaigns:
        total["programs"] += campaign["programs"]
        total["oracle"] += campaign["oracle"]
    return total


def _share(failed: int, programs: int) -> str:
    if not programs:
        return "–"
    return f"{failed:,}" if not failed else f"{failed:,} ({100 * failed / programs:.3f} %)"


def _plain(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")


def _options_table(total: dict[str, Any]) -> list[str]:
    """In how many programs each option was drawn, and how often it was refused by name."""
    options: Counter[str] = total["options"]
    if not options:
        return []
    refused: Counter[str] = Counter()
    for about, count in total["declined"].items():
        refused[about.split(":")[0]] += count
    lines = ["", "| option | programs | refused by name, and left out |", "|---|---:|---:|"]
    lines += [f"| `{name}` | {n:,} | {refused[name]:,} |" for name, n in sorted(options.items())]
    lines += [f"| several of them at once | | {refused['several']:,} |"]
    return lines


def _planted_table(planted: dict[str, Any]) -> list[str]:
    faults = planted["faults"]
    firsts = sorted(f["first"] for f in faults if f["first"])
    middle = firsts[len(firsts) // 2] if firsts else 0
    head = (
        f"{len(firsts)} of {len(faults)} planted faults are seen; half of them by program {middle}. "
        "Each was run until five programs had seen it, or to its last program."
    )
    lines = [
        head,
        "",
        "| fault | part | rule switched off | seen by program | seen in |",
        "|---|---|---|---:|---:|",
    ]
    for f in faults:
        where = f"{f['caught']} of {f['programs']}"
        rule = _plain(f["rule"])
        lines.append(f"| {f['name']} | {f['area']} | {rule} | {f['first'] or '–'} | {where} |")
    return lines
