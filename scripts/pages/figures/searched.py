"""Tables of schedules that were found, beside pipelines of the innermost loops."""

from __future__ import annotations

from math import prod

from allo.designs.polybench.budgets import NAMES
from allo.designs.polybench.memory import NAMES as MEMORY

from .store import Figures

FAMILY = "autoschedule"
BUDGETS = (220, 2560, 9024)
"""DSPs within which schedules are found beside those made by hand."""
WITHIN = 1.03
"""Cycles of a found schedule, at most this many times those of the one by hand."""

ASKED_MHZ = 300.0
"""The clock that designs from memory are found for."""


def kernels(figures: Figures, suite: str) -> dict[str, tuple[int, int]]:
    """The recorded kernels of a suite: cycles of what was found, and of pipelines."""
    found = {}
    for key in figures.families.get(FAMILY, {}):
        name, _, kernel = key.partition(".")
        if name == suite and kernel.endswith(".cycles"):
            kernel = kernel.removesuffix(".cycles")
            both = (
                int(figures.find(f"{FAMILY}.{suite}.{kernel}.{what}"))
                for what in ("cycles", "plain_cycles")
            )
            found[kernel] = (next(both), next(both))
    return found


def _rows(figures: Figures) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Of each kernel and budget: cycles found, cycles by hand, and milliseconds of the search."""
    rows = {}
    for name in NAMES:
        for dsps in BUDGETS:
            key = f"{FAMILY}.budgets.{name}.dsp_{dsps}"
            if f"{key}.cycles" in figures.numbers:
                words = ("cycles", "hand_cycles", "search_ms")
                found, hand, ms = (int(figures.find(f"{key}.{word}")) for word in words)
                rows[name, dsps] = found, hand, ms
    return rows


def budgets(figures: Figures) -> str:
    """Each kernel of PolyBench at MEDIUM on each budget of DSPs: found, by hand, seconds of the search."""
    rows = _rows(figures)
    heads = [f"{dsps:,} DSP | by hand | search, s" for dsps in BUDGETS]
    lines = [f"| kernel | {' | '.join(heads)} |", f"|---|{'---:|' * 3 * len(BUDGETS)}"]
    for name in NAMES:
        cells = []
        for dsps in BUDGETS:
            row = rows.get((name, dsps))
            cells.append(
                f"{row[0]:,} | {row[1]:,} | {row[2] / 1000:.0f}" if row else "not measured | |"
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def found_in_time(figures: Figures) -> str:
    """The kernels from memory whose clocks are recorded: time, clock and tables, beside those by hand."""
    heads = "kernel | found, ns | by hand, ns | ratio | MHz | by hand | LUT | by hand"
    lines = [f"| {heads} |", f"|---|{'---:|' * 7}"]
    for name in MEMORY:
        key = f"external.found.{name}"
        if f"{key}.mhz" not in figures.numbers:
            continue
        rows = [
            [float(figures.find(f"{at}.{what}")) for what in ("latency", "mhz", "lut")]
            for at in (key, f"{key}.hand")
        ]
        found, hand = (1e3 * cycles / min(ASKED_MHZ, mhz) for cycles, mhz, _ in rows)
        cells = [f"{found:,.0f}", f"{hand:,.0f}", f"{found / hand:.2f}"]
        cells += [f"{row[1]:.0f}" for row in rows] + [f"{row[2]:,.0f}" for row in rows]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio_to_hand(figures: Figures) -> str:
    """Cycles of found schedules to those made by hand, the geometric mean of all rows."""
    ratios = [found / hand for found, hand, _ in _rows(figures).values()]
    return f"{prod(ratios) ** (1 / len(ratios)):.2f}"


def worst_to_hand(figures: Figures) -> str:
    """The row in which what is found is slowest beside what was made by hand."""
    ratio, name, dsps = max((f / h, n, d) for (n, d), (f, h, _) in _rows(figures).items())
    return f"{ratio:.3f} ({name}, {dsps:,} DSP)"


def rows_within(figures: Figures, limit: float = WITHIN) -> str:
    """How many rows take at most 1.03 times the cycles of those by hand, of how many."""
    rows = _rows(figures).values()
    return f"{sum(found <= limit * hand for found, hand, _ in rows)} of {len(rows)}"


def longest_search(figures: Figures) -> str:
    """Seconds of a processor that the longest search took."""
    return f"{max(ms for _, _, ms in _rows(figures).values()) / 1000:.0f}"


def searched(figures: Figures, suite: str) -> str:
    """Each kernel of a suite."""
    lines = ["| kernel | found | pipelines | times as fast |", "|---|---:|---:|---:|"]
    for kernel, (cycles, plain) in sorted(kernels(figures, suite).items()):
        lines.append(f"| {kernel} | {cycles:,} | {plain:,} | {plain / cycles:.2f} |")
    return "\n".join(lines)


def gain(figures: Figures, suite: str) -> str:
    """How many times as fast a suite's kernels are: the geometric mean."""
    ratios = [plain / cycles for cycles, plain in kernels(figures, suite).values()]
    return f"{prod(ratios) ** (1 / len(ratios)):.2f}"


def count(figures: Figures, suite: str) -> str:
    """How many kernels of a suite are recorded."""
    return str(len(kernels(figures, suite)))
