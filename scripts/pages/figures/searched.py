"""Tables of schedules that were found, beside pipelines of the innermost loops."""

from __future__ import annotations

from math import prod

from .store import Figures

FAMILY = "autoschedule"


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
