"""Cycles of one step of the accelerator, predicted from the compiler's report.

The loops of a step run one after the other but for the linear engine's, which overlap with what
feeds and drains them. So a step is the sum, over the jobs of :func:`layout.jobs_of`, of sending the
activations, ``depth * tiles`` cycles a row of multiplying, and the depth of the pipelines behind
it; plus a pass of every row through each norm, and through attention, which grows with the position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .accelerator import GROUP
from .build import Design
from .config import GPTConfig
from .layout import jobs_of


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """A step's cycles, and those in which every multiplier of the linear engine works."""

    cycles: int
    linear_cycles: int


def predict_step(
    report: Any, config: GPTConfig, design: Design, count: int, start: int
) -> StepPrediction:
    """Predict a step of ``count`` tokens at position ``start``.

    Args:
        report: the ``DesignReport`` of the accelerator.
    """
    loops = _Loops(report)
    jobs = jobs_of(config)
    linear = sum(job.depth * job.outputs // design.lanes * count for job in jobs)
    behind = loops.depth("linear_0", "mac") + design.lanes + loops.depth("rescale_0", "lane")
    total = linear + count * loops.cycles("vector_0", "embed")
    for job in jobs:
        name = {"f1": "gelu", "q": "qkv"}.get(job.names[0].split(".")[-1])
        taken = loops.depth("vector_0", name) if name else loops.depth("take", "lane")
        total += job.depth // GROUP * count + behind + taken
    total += (2 * config.layers + 1) * count * loops.row("norm")
    fixed = sum(loops.depth("attend", name) for name in ("score", "mix"))
    fixed += sum(loops.cycles("attend", name) for name in ("hi", "c"))
    keys = sum(start + row + 1 for row in range(count))
    total += config.layers * (count * fixed + 2 * config.heads * keys)
    return StepPrediction(total, linear)


class _Loops:
    """Loops of a report by function and iterator name."""

    def __init__(self, report: Any) -> None:
        self._functions = {function.name: function for function in report.functions}

    def _find(self, function: str, name: str) -> Any:
        found = [
            loop
            for loop in _flatten(self._functions[function].loops)
            if loop.name.split(".")[-1].split("*")[-1] == name
        ]
        if not found:
            raise KeyError(f"{function} has no loop {name!r}")
        return found[0]

    def depth(self, function: str, name: str) -> int:
        """Cycles of one iteration of a loop, from the report; KeyError if there is no such loop."""
        depth: int = self._find(function, name).depth
        return depth

    def interval(self, function: str, name: str) -> int:
        """Cycles between two iterations of a loop, from the report; KeyError if there is no such loop."""
        interval: int = self._find(function, name).ii
        return interval

    def cycles(self, function: str, name: str) -> int:
        """Cycles of one entry of a loop, from the report; KeyError if there is no such loop."""
        cycles: int = self._find(function, name).cycles
        return cycles

    def row(self, function: str) -> int:
        """Cycles of one iteration of a function's outer loop."""
        depth: int = self._functions[function].loops[0].depth
        return depth


def _flatten(loops: list[Any]) -> list[Any]:
    return [one for loop in loops for one in (loop, *_flatten(loop.children))]
