"""Searches: loops that end where data say so, mostly pipelined, in loops that run them again."""

from __future__ import annotations

from ..program import Program, Step
from ..types import INT32
from ..writer import Array, LoopVar, Scalar, Writer
from .parts import element_type, expression, integer_type, into_scope, kernel, reached, trace, work

EXTENTS = (8, 16, 16, 32)
"""Powers of two, so that a mask makes any number a subscript."""


def search_kernel(w: Writer, seed: int) -> Program:
    """A kernel of one or two searches over small arrays, with state that they leave behind."""
    w.style.depth = 1
    w.style.math = w.style.power = False
    extent = w.pick(EXTENTS)
    ty = integer_type(w) if w.chance(0.8) else element_type(w)
    seen = Array("A0", integer_type(w), (extent,))
    params: list[Array | Scalar] = [
        seen,
        Array("A1", ty, (extent,)),
        Array("K", integer_type(w, 33), (extent,)),
        Scalar("n0", integer_type(w, 33)),
    ]
    pipelined: list[tuple[str, str]] = []
    with w.function() as lines:
        w.result = ty
        into_scope(w, params)
        for name in ("v0", "v1"):
            kind = ty if w.chance(0.7) else integer_type(w)
            w.line(f"{name}: {kind.text} = {w.rng.randint(0, 5)}")
            w.scope.scalars.append(Scalar(name, kind))
        nests = 0
        for _ in range(w.pick((1, 1, 2))):
            nests += _search(w, extent, seen, nests, pipelined)
            trace(w, seen)
        w.line(f"return {w.pick(('v0', 'v1'))}" if kind is ty else "return v0")
        body = list(lines)
    w.result = None
    w.use("searches")
    program = kernel(w, seed, params, ty, body)
    program.steps = [
        Step("pipeline", ({"loop": ["kernel", band, loop]}, w.pick((1, 1, 1, 2))))
        for band, loop in pipelined
        if w.chance(0.8)
    ]
    return program


def _search(
    w: Writer, extent: int, seen: Array, number: int, pipelined: list[tuple[str, str]]
) -> int:
    """One loop that may end early, perhaps in a loop that runs it again; how many nests it makes."""
    saved, depth = w.scope.copy(), w.depth
    band, nests = "", 1
    if w.chance(0.5):
        outer = w.fresh("t")
        turns = w.rng.randint(2, 3)
        w.line(f"for {outer} in range({turns}):")
        w.scope.loops.append(LoopVar(outer, 0, turns - 1))
        w.depth += 1
        band = outer
        if w.chance(0.5):
            work(w)
    if w.chance(0.5):
        _counted(w, extent, seen, number, band, pipelined)
    else:
        _while(w, extent, seen)
        nests += int(bool(band))
    if band and w.chance(0.6):
        w.depth = depth + 1
        work(w)
    w.scope, w.depth = saved, depth
    return nests


def _counted(
    w: Writer, extent: int, seen: Array, number: int, band: str, pipelined: list[tuple[str, str]]
) -> None:
    name = w.fresh("i")
    low = w.pick((0, 0, 1))
    w.line(f"for {name} in range({f'{low}, ' if low else ''}{extent}):")
    band = f"S_{band or name}_{number}"
    pipelined.append((band, name))
    with w.block():
        w.scope.loops.append(LoopVar(name, low, extent - 1))
        _body(w, name, seen, extent, skips=True)


def _while(w: Writer, extent: int, seen: Array) -> None:
    """``while`` with a condition on a counter, on memory, or on both."""
    name = w.fresh("x")
    w.line(f"{name}: int32 = {w.pick((0, 0, 1))}")
    tests = [f"{name} < {w.rng.randint(3, extent - 1)}"]
    if w.chance(0.7):
        array = w.pick([a for a in w.scope.arrays if len(a.shape) == 1])
        tests.append(f"{array.name}[{name}] {w.pick(('!=', '<', '>='))} {w.rng.randint(-3, 9)}")
    if w.chance(0.2):
        tests.append(f"({reached(w)})")
    w.use("while")
    w.line(f"while {' and '.join(tests)}:")
    first = w.chance(0.4)
    with w.block():
        w.scope.scalars.append(Scalar(name, INT32, writable=False))
        if first:
            w.line(f"{name} += 1")
        else:
            w.scope.loops.append(LoopVar(name, 0, extent - 2))
        _body(w, name, seen, extent, skips=first)
        if not first:
            w.line(f"{name} += 1")


def _body(w: Writer, name: str, seen: Array, extent: int, *, skips: bool) -> None:
    """Work, a way out, and work behind it."""
    for _ in range(w.pick((0, 1, 1, 2))):
        work(w)
    w.line(f"v0 += {expression(w, 1).text}" if w.chance(0.3) else f"v1 += K[{name} & {extent - 1}]")
    if w.chance(0.75):
        w.line(f"if {reached(w)}:")
        with w.block():
            if w.chance(0.5):
                work(w)
            w.line("break")
        for _ in range(w.pick((0, 1, 2))):
            work(w)
    if skips and w.chance(0.2):
        w.line(f"if {reached(w)}:")
        with w.block():
            w.line(w.pick(("continue", "break", "return v0")))
        work(w)
    if w.chance(0.4):
        trace(w, seen)
