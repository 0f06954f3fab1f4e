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
from .config import Architecture
from .layout import jobs_of
from .stage import Loops


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """A step's cycles, and those in which every multiplier of the linear engine works."""

    cycles: int
    linear_cycles: int


def predict_step(
    report: Any, config: Architecture, design: Design, count: int, start: int
) -> StepPrediction:
    """Predict a step of ``count`` tokens at position ``start``.

    Args:
        report: the ``DesignReport`` of the accelerator.
    """
    loops = Loops(report)
    jobs = jobs_of(config)
    linear = sum(job.depth * job.outputs // design.lanes * count for job in jobs)
    behind = loops.depth("linear_0", "mac") + design.lanes + loops.depth("rescale_0", "lane")
    total = linear + count * config.d + loops.depth("embedding_0", "embed")
    for job in jobs:
        taken = {
            "q": loops.depth("split", "qkv"),
            "f1": loops.depth("bend", "gelu"),
        }.get(job.names[0].split(".")[-1], loops.depth("take", "lane"))
        total += job.depth // GROUP * count + behind + taken
    total += (2 * config.layers + 1) * count * loops.row("norm")
    fixed = sum(loops.depth(name, name) for name in ("score", "mix")) + loops.cycles("divide", "c")
    keys = sum(start + row + 1 for row in range(count))
    total += config.layers * (count * fixed + 2 * config.heads * keys)
    return StepPrediction(total, linear)
