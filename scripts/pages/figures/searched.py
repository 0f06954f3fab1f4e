"""Tables of schedules that were found, beside pipelines of the innermost loops."""

from __future__ import annotations

from math import prod

from allo.designs.polybench.budgets import NAMES

from .store import Figures

FAMILY = "autoschedule"
BUDGETS = (220, 2560, 9024)
"""DSPs within which schedules are found beside those made by hand."""


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


def budgets(figures: Figures) -> str:
    """Each kernel of PolyBench at MEDIUM on each budget of DSPs: found and by hand, and the search's time."""
    heads = [f"{dsps:,} DSP: found, by hand, s" for dsps in BUDGETS]
    lines = [f"| kernel | {' | '.join(heads)} |", f"|---|{'---:|' * len(BUDGETS)}"]
    for name in NAMES:
        cells = []
        for dsps in BUDGETS:
            key = f"{FAMILY}.budgets.{name}.dsp_{dsps}"
            found, ms = (int(figures.find(f"{key}.{what}")) for what in ("cycles", "search_ms"))
            hand = int(figures.find(f"polybench.{name}.dsp_{dsps}.cycles"))
            cells.append(f"{found:,}, {hand:,}, {ms / 1000:.0f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ratio_to_hand(figures: Figures) -> str:
    """Cycles of found schedules to those made by hand, the geometric mean of all rows."""
    ratios = []
    for name in NAMES:
        for dsps in BUDGETS:
            found = figures.find(f"{FAMILY}.budgets.{name}.dsp_{dsps}.cycles")
            ratios.append(found / figures.find(f"polybench.{name}.dsp_{dsps}.cycles"))
    return f"{prod(ratios) ** (1 / len(ratios)):.2f}"


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
