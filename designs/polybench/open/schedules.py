"""Schedules of the kernels: ``pipeline`` alone, by one rule, and the best that is known."""

from __future__ import annotations

from typing import Any

from allo.customize import Schedule

LOOPS = ("affine.for", "scf.for")


def pipeline_innermost(s: Schedule) -> Schedule:
    """``pipeline`` on every loop of every function that holds no other loop, and nothing else."""
    for function in s.func_args:
        for _, band in s.get_loops(function):
            for _, loop in band:
                if not _holds_loop(loop.loop):
                    s.pipeline(loop)
    return s


def pipeline_outermost(s: Schedule) -> Schedule:
    """Each nest of the top function a pipeline of its outermost loop, with all loops inside unrolled."""
    for _, band in s.get_loops():
        s.pipeline(next(loop for _, loop in band))
    return s


def spread(s: Schedule) -> Schedule:
    """:func:`pipeline_outermost`, and a bank for every element of every array."""
    for value in s.func_args[s.top_func_name]:
        if value.shape:
            s.partition(getattr(s, value.name))
    return pipeline_outermost(s)


def solve_rows(s: Schedule) -> Schedule:
    """ludcmp: the elements of a row one after the other, each sum at once."""
    for loop in ("j", "j1", "i2", "i3"):
        s.pipeline(loop)
    for array in (s.A, s.b, s.x, s.y):
        s.partition(array)
    return s


def whole_roots(s: Schedule) -> Schedule:
    """cholesky: sums as pipelines, and all bits of a root in a row."""
    s.pipeline("k")
    s.pipeline("k1")
    s.unroll("root:n")
    return s


def _holds_loop(op: Any) -> bool:
    inner = [i.operation for region in op.regions for block in region.blocks for i in block]
    return any(i.name in LOOPS or _holds_loop(i) for i in inner)
