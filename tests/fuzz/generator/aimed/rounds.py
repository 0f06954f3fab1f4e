"""Nests whose pipeline runs again and again, and reads in one run what the last one stored late."""

from __future__ import annotations

from ..program import Program, Step
from ..types import Ty
from ..writer import Array, LoopVar, Scalar, Writer
from .parts import element_type, expression, integer_type, into_scope, kernel


def round_kernel(w: Writer, seed: int) -> Program:
    """A perfect nest of two or three loops, pipelined with ``rewind=True`` more often than not."""
    w.style.depth = 1
    w.style.math = w.style.power = False
    extents = [w.rng.randint(2, 4) for _ in range(w.pick((1, 1, 2)))] + [w.rng.randint(2, 7)]
    length = extents[-1] + 2
    ty = element_type(w) if w.chance(0.7) else integer_type(w)
    params: list[Array | Scalar] = [
        Array("A0", ty, (length,)),
        Array("A1", ty if w.chance(0.7) else element_type(w), (length,)),
        Array("B", ty, (length,)),
        Scalar("n0", integer_type(w, 33)),
    ]
    with w.function() as lines:
        w.result = None
        into_scope(w, params)
        names = [f"{letter}0" for letter in ("t", "u", "i")[-len(extents) :]]
        for name, extent in zip(names, extents, strict=True):
            w.line(f"for {name} in range({extent}):")
            w.scope.loops.append(LoopVar(name, 0, extent - 1))
            w.depth += 1
        for _ in range(w.pick((1, 1, 2))):
            _statement(w, names, extents[-1], ty)
        body = list(lines)
    w.use("rounds")
    program = kernel(w, seed, params, None, body)
    if w.chance(0.8):
        kwargs = (("rewind", True),) if w.chance(0.85) else ()
        loop = {"loop": ["kernel", f"S_{names[0]}_0", names[-1]]}
        program.steps = [Step("pipeline", (loop, w.pick((1, 1, 2))), kwargs)]
    return program


def _statement(w: Writer, names: list[str], extent: int, ty: Ty) -> None:
    """A store whose value takes its time, from elements that runs share."""
    target, source = w.pick(("A0", "A0", "A1")), w.pick(("A0", "A1"))
    at, read = _place(w, names, extent), _place(w, names, extent)
    other = w.pick((f"B[{_place(w, names, extent)}]", "n0", names[0], expression(w).text))
    first, second = w.pick((("*", "+"), ("+", "-"), ("*", "-"), ("+", "*")))
    w.line(f"{target}[{at}] = {source}[{read}] {first} {w.rng.randint(1, 3)} {second} {other}")


def _place(w: Writer, names: list[str], extent: int) -> str:
    """A subscript inside an array that is two elements longer than the innermost loop."""
    inner = names[-1]
    shift = w.rng.randint(0, 2)
    choices = [inner, f"{inner} + {shift}", f"{extent - 1 + shift} - {inner}"]
    choices += [str(w.rng.randint(0, extent + 1)), f"({names[0]} + {inner}) % {extent + 2}"]
    return w.pick(tuple(choices))
