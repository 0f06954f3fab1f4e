"""What a network may do in hardware that gets stuck in the simulator for want of depth.

A pipelined loop has elastic buffers beside its FIFOs, so its process has a little more room than the
program (docs/rtl.md, "Dataflow"). A network of processes computes the same whatever the depths of its FIFOs
(Kahn, *The semantics of a simple language for parallel programming*, 1974), so an answer is right where it is
that of the same program with deep FIFOs.
"""

from __future__ import annotations

import copy
import re

from ..generator.program import Program
from .verdict import Verdict

DEEP = 1 << 14
"""More words than any generated process puts."""
_STREAM = re.compile(r"^( +\w+: Stream\[.+, )\d+(\].*)$", re.MULTILINE)


def has_room(program: Program, verdict: Verdict) -> bool:
    """Whether a pipelined loop of the network's schedule may hold words beside the FIFOs."""
    return program.region and any(step[0] == "pipeline" for step in verdict.steps)


def with_deep_fifos(program: Program) -> Program:
    """The same program with FIFOs that are never full."""
    deep = copy.copy(program)
    deep.source = _STREAM.sub(rf"\g<1>{DEEP}\g<2>", program.source)
    return deep
