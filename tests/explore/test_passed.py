"""Vectors between tasks of rows become FIFOs: a task behind takes each sum as soon as it is there."""

import numpy as np

from allo.designs.polybench.kernels import load, plain
from allo.explore.apply import apply
from allo.explore.beyond.hoist import hoisted
from allo.explore.beyond.passed import steps_of_passing
from allo.explore.beyond.rows import steps_of_rows
from allo.explore.model.read import read_kernel

SIZE = (6,)


def test_the_sums_of_gesummv_go_on_row_by_row_and_take_fewer_cycles() -> None:
    core = []
    for passes in (True, False):
        s = plain("gesummv", SIZE)
        kernel = read_kernel(s)
        loops = next(hoisted(kernel))
        steps = list(steps_of_passing(s, kernel, loops)) if passes else []
        assert [step.primitive for step in steps] == ["buffer_at", "to"] * (2 * passes)
        rows = steps_of_rows(kernel, loops, 3, trees=True, dataflow=not passes)
        taken = {"gesummv:Ax", "gesummv:Bx"} if passes else set()
        apply(s, [*steps, *(step for step in rows if step.arguments[0] not in taken)])
        mod = s.build(
            target="verilog", simulator="jit", clock_mhz=300, configs={"interface": "m_axi"}
        )
        ours, theirs = (load("gesummv").inputs(np.random.default_rng(0), SIZE) for _ in range(2))
        mod(*ours)
        s.build()(*theirs)
        assert ours[3].tobytes() == theirs[3].tobytes()
        core.append(mod.foretold.core)
    assert core[0] + SIZE[0] <= core[1], core


def test_vectors_that_are_read_again_are_no_fifos() -> None:
    """gemver reads x and w in two nests, and matrices are no vectors."""
    for name, size in (("gemver", (6,)), ("two_mm", (3, 4, 5, 6))):
        s = plain(name, size)
        kernel = read_kernel(s)
        assert list(steps_of_passing(s, kernel, next(hoisted(kernel)))) == []
