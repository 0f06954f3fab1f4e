"""Loops that are left early, with work behind the place where they are left and behind the loop."""

from __future__ import annotations

from .. import loops
from ..program import Program
from ..types import INT32, Ty
from ..writer import Array, Scalar, Writer
from .parts import (
    element_type,
    expression,
    integer_type,
    into_scope,
    kernel,
    reached,
    trace,
    work,
)

MOST = 240
"""Iterations of the innermost statement in one call, at most (about)."""


def exit_kernel(w: Writer, seed: int) -> Program:
    """A kernel of loops with ``break``, ``continue`` and ``return``."""
    w.style.depth = w.pick((1, 1, 2))
    w.style.math = w.style.power = False
    seen = Array("A0", integer_type(w), (w.rng.randint(4, 10),))
    params: list[Array | Scalar] = [seen, Array("A1", element_type(w), (w.rng.randint(3, 8),))]
    if w.chance(0.6):
        params.append(Scalar("n0", integer_type(w)))
    result = element_type(w) if w.chance(0.6) else None
    with w.function() as lines:
        w.result = result
        into_scope(w, params)
        if w.chance(0.5):
            ty: Ty = element_type(w)
            w.line(f"v0: {ty.text} = {w.rng.randint(0, 3)}")
            w.scope.scalars.append(Scalar("v0", ty))
        for _ in range(w.pick((1, 1, 2))):
            _loop(w, seen, 1)
            trace(w, seen)
        if result is not None:
            w.line(f"return {expression(w, 1).text}")
        body = list(lines)
    w.use("break and continue")
    return kernel(w, seed, params, result, body)


def _loop(w: Writer, seen: Array, level: int) -> None:
    """A loop with at least one way out and work behind it."""
    before, outer = w.work, w.in_loop
    if w.chance(0.2):
        name, most = w.fresh("w"), w.rng.randint(2, 5)
        w.use("while")
        w.line(f"{name}: int32 = 0")
        w.line(f"while {name} < {most}:")
        trips, variables, first = most, [], f"{name} += 1"
        count = [Scalar(name, INT32, writable=False)]
    else:
        made = loops.header(w, max(2, min(10, MOST // w.work)))
        w.line(made.text)
        trips, variables, first, count = made.trips, made.variables, "", []
    w.in_loop = True
    with w.block():
        w.work = before * max(1, trips)
        w.scope.loops += variables
        w.scope.scalars += count
        if first:
            w.line(first)
        _body(w, seen, level)
    w.work, w.in_loop = before, outer


def _body(w: Writer, seen: Array, level: int) -> None:
    if w.chance(0.5):
        work(w)
    for _ in range(w.pick((1, 1, 2))):
        _leave(w)
        work(w)
        if w.chance(0.6):
            trace(w, seen)
    if level < 3 and w.work < MOST // 3 and w.chance(0.55):
        _loop(w, seen, level + 1)
        trace(w, seen)
        if w.chance(0.4):
            _leave(w)
            trace(w, seen)


def _leave(w: Writer) -> None:
    """``if …: break``, alone, behind work, in a branch of its own, or with an ``else``."""
    ways = ["break", "break", "continue", "continue"]
    if w.result is not None:
        ways.append("return")
    way = w.pick(ways)
    if w.chance(0.25):
        w.line(f"if {reached(w)}:")
        with w.block():  # a name that is declared in it ends with it
            _leave_by(w, way)
            work(w)
        return
    _leave_by(w, way)


def _leave_by(w: Writer, way: str) -> None:
    w.line(f"if {reached(w)}:")
    with w.block():
        if w.chance(0.35):
            work(w)
        _out(w, way)
    if w.chance(0.25):
        w.line("else:")
        with w.block():
            work(w)
            if w.chance(0.3):
                _out(w, w.pick(("break", "continue")))


def _out(w: Writer, way: str) -> None:
    if way == "return":
        w.use("early return")
        way = f"return {expression(w, 1).text}"
    w.line(way)
