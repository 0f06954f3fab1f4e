"""The pages of docs/gallery: text from a design's docstring, its source, its figures, its waveform."""

from __future__ import annotations

import argparse
import ast
from pathlib import Path
from typing import Any

from allo.designs.gallery.catalogue import ENTRIES, Entry, find

from .figures.store import Figures

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "gallery"
FAMILY = "gallery"
"""Of the figures: ``benchmarks/figures/gallery.json``."""
INTRODUCTION = """# Gallery

Small designs, each in one file: kernel, schedule, inputs, and a reference in NumPy or plain Python that
the tests hold it against. Cycles are those of a run in Verilator, from start to done; they and the
waveforms are written by `scripts/gallery`, and `tests/gallery` fails when a design no longer gives
them. The initiation interval (II) is the number of cycles between the starts of two iterations; it is that
of all pipelined loops of a design, unless several values are given.
"""


RUN = """
Every design is run in the same way:

<!-- run -->

```python
import numpy as np

from allo.designs.gallery.catalogue import find

design = find("crc32").load()
mod = design.schedule().build(target="verilog", simulator="jit")
(message,) = design.inputs(np.random.default_rng(1))
assert mod(message) == design.reference(message)
print(mod.cycles, "cycles")
print(mod.report)
```

<!-- output -->
```text
69 cycles
crc32 · allo rtl

    clock   predicted cycles   measured cycles     time   LUT    FF
 ───────────────────────────────────────────────────────────────────
  200 MHz                 69                69   345 ns   177   111

crc32 (crc32.py:43): 69 cycles

  loop      line          trips   II   depth   cycles   entries   total   limited by
 ────────────────────────────────────────────────────────────────────────────────────
  S_n_0.n   crc32.py:47      64    1       3       66         1      66

…
```
"""


def main() -> None:
    """Measure the designs asked for, then write every page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="designs to measure; all when none is named")
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    chosen = parser.parse_args()
    kept = Figures()
    figures = kept.families.get(FAMILY, {})
    if not chosen.pages:
        from .measure import measure  # builds hardware: not for pages alone

        for entry in map(find, chosen.names) if chosen.names else ENTRIES:
            figures[entry.name], picture = measure(entry)
            write(PAGES / "waves" / f"{entry.name}.svg", picture)
            print(f"{entry.name}: {figures[entry.name]['measured_cycles']} cycles")
    figures = {entry.name: figures[entry.name] for entry in ENTRIES}
    kept.replace(FAMILY, figures)
    kept.save()
    for path, text in pages(figures).items():
        write(path, text)


def write(path: Path, text: str) -> None:
    """The file, in a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def pages(figures: dict[str, Any]) -> dict[Path, str]:
    """Every page by its file."""
    made = {PAGES / f"{entry.name}.md": page(entry, figures[entry.name]) for entry in ENTRIES}
    return {PAGES / "index.md": index(figures), **made}


def index(figures: dict[str, Any]) -> str:
    """The table of all designs."""
    rows = [
        "| design | lines of kernel | cycles | II | where it is used |",
        "|---|---|---|---|---|",
    ]
    for entry in ENTRIES:
        source = Source(entry)
        mine = figures[entry.name]
        intervals = sorted({loop["ii"] for loop in mine["loops"] if loop["ii"]})
        rows.append(
            f"| [{source.name}]({entry.name}.md): {source.summary} | {source.kernel_lines} "
            f"| {mine['measured_cycles']:,} | {', '.join(map(str, intervals))} "
            f"| {source.section('Used in')} |"
        )
    return "\n".join([INTRODUCTION, *rows, RUN])


class Source:
    """A design's file: the parts of its docstring, and its code."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        text = (ROOT / entry.path).read_text()
        self.tree = ast.parse(text)
        title, *self.paragraphs = (ast.get_docstring(self.tree) or "").split("\n\n")
        self.name, self.summary = title.rstrip(".").split(": ", 1)
        self.code = text.split('"""\n', 1)[1].strip()

    @property
    def kernel_lines(self) -> int:
        """Lines of the functions that become hardware, without blank ones and docstrings."""
        found = [
            node
            for node in self.tree.body
            if isinstance(node, ast.FunctionDef) and node.name in self.entry.kernels
        ]
        return sum(len(ast.unparse(_without_docstring(node)).split("\n")) for node in found)

    def section(self, label: str) -> str:
        """The paragraph that begins with a label, without it; "" where there is none."""
        for paragraph in self.paragraphs:
            if paragraph.startswith(f"{label}: "):
                return paragraph.removeprefix(f"{label}: ")
        return ""

    def description(self) -> str:
        """The paragraphs without a label."""
        labels = ("Hardware: ", "Interval: ", "Source: ", "Used in: ")
        return "\n\n".join(p for p in self.paragraphs if not p.startswith(labels))


def _without_docstring(node: ast.FunctionDef) -> ast.FunctionDef:
    if ast.get_docstring(node) is not None:
        node.body = node.body[1:]
    return node


def page(entry: Entry, mine: dict[str, Any]) -> str:
    """One design."""
    source = Source(entry)
    end = min(mine["measured_cycles"], entry.wave_from + 23)
    parts = [
        f"# {source.name}",
        f"*{source.summary[0].upper()}{source.summary[1:]}.*",
        source.description(),
        f"**Hardware.** {_sentence(source.section('Hardware'))}",
        f"**Source.** {source.section('Source')}",
        "## Figures",
        f"{_cycles(mine)} The kernel has {source.kernel_lines} lines.",
        _loops(mine["loops"]),
        f"**Initiation interval.** {_sentence(source.section('Interval'))}",
        "## Waveform",
        f"![Cycles {entry.wave_from} to {end} of a run](waves/{entry.name}.svg)",
        "A column is a clock cycle, counted from that of `start`. Addresses are decimal, words "
        "hexadecimal; they are shown where the port is enabled.",
        "## Code",
        f"`{entry.path}`",
        f"```python\n{source.code}\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cycles(mine: dict[str, Any]) -> str:
    """Cycles predicted and measured, in a sentence or two."""
    measured, predicted = mine["measured_cycles"], mine["predicted_cycles"]
    time = f"{measured / mine['clock_mhz']:.2f} µs at {mine['clock_mhz']:g} MHz"
    if predicted is not None:
        return f"The report predicts {predicted:,} cycles, and the simulation counts {measured:,}: {time}."
    notes = " ".join(f'It says: "{note}"' for note in mine["notes"])
    return (
        "Values decide how many, so the report gives no number of cycles. "
        f"{notes} The simulation counts {measured:,}: {time}."
    )


def _loops(loops: list[dict[str, Any]]) -> str:
    rows = [
        "| loop | line | trips | II | depth | what holds the II up |",
        "|---|---|---|---|---|---|",
    ]
    for loop in loops:
        trips = "by data" if loop["trips"] is None else f"{loop['trips']:,}"
        interval = loop["ii"] or "not pipelined"
        many = f" in {len(loop['functions'])} processes" if len(loop["functions"]) > 1 else ""
        rows.append(
            f"| `{loop['loop']}`{many} | {loop['line']} | {trips} | {interval} | {loop['depth']} "
            f"| {loop['limit']} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    main()
