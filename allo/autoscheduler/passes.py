"""``dataflow_optimization_pass``: a schedule in, a schedule that was searched for out."""

from __future__ import annotations

import sys

from allo.explore import FoundSchedule, autoschedule
from allo.schedule import Schedule

from .config import AutoschedulerConfig
from .dfg import DFG


def dataflow_optimization_pass(
    schedule: Schedule, config: AutoschedulerConfig | None = None
) -> Schedule:
    """The schedule of the fewest cycles that is found within the limits of a configuration.

    Float sums keep their order, so that results have the bits of the kernel. Kernels need not be affine or
    perfect: of what is not, the innermost loops are pipelined.

    Args:
        schedule: a kernel without primitives, or with some, which stay.
        config: the defaults where None.

    Raises:
        AutoscheduleError: nothing to schedule, or limits that cannot be kept; it is a RuntimeError.
    """
    asked = config or AutoschedulerConfig()
    if asked.debug_point is not None and asked.debug_point != "loop_opts":
        return schedule
    if asked.debug_lp:
        answer = DFG.from_schedule(schedule).create_performance_model(
            enable_tile=asked.kind != "graph",
            dsp_limit=asked.dsp_limit,
            tiling_limit=asked.tiling_limit,
        )
        sys.stdout.write(f"{answer}\n")
    found: FoundSchedule = autoschedule(
        schedule,
        max_dsp=asked.dsp_limit,
        most_factor=1 if asked.kind == "graph" else asked.tiling_limit,
        dsp_factors=asked.dsp_factors,
    )
    if asked.verbose:
        sys.stdout.write(f"{found.trace}\n")
    return found


__all__ = ["dataflow_optimization_pass"]
