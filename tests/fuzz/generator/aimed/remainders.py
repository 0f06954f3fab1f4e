"""Remainders of floats, of each pair of types, by numbers of either sign, by zero and by infinity."""

from __future__ import annotations

from ..program import Program
from ..types import Ty, floating
from ..writer import Array, LoopVar, Scalar, Writer
from .parts import expression, integer_type, into_scope, kernel

_FLOATS = ("float16", "bfloat16", "float32", "float32", "float64")


def remainder_kernel(w: Writer, seed: int) -> Program:
    """A loop of remainders, some of them sums that are carried."""
    w.style.depth, w.style.floats, w.style.math = 1, 0.5, False
    w.use("float remainders")
    length = w.rng.randint(2, 6)
    first = floating(w.pick(_FLOATS))
    second: Ty = first if w.chance(0.5) else floating(w.pick(_FLOATS))
    if w.chance(0.2):
        second = integer_type(w, 32)
    params: list[Array | Scalar] = [
        Array("A0", first, (length,)),
        Array("B", second, (length,)),
        Array("Z", first if w.chance(0.7) else floating(w.pick(_FLOATS)), (length,)),
        Scalar("x", first),
    ]
    result = first if w.chance(0.4) else None
    with w.function() as lines:
        into_scope(w, params)
        w.line(f"acc: {first.text} = {w.pick(('x', '0.0', '1.5'))}")
        w.line(f"for i0 in range({length}{w.pick(('', '', ', pipeline=True', ', unroll=True'))}):")
        with w.block():
            w.scope.loops.append(LoopVar("i0", 0, length - 1))
            w.line(f"Z[i0] = {w.pick(_FORMS)}")
            for _ in range(w.pick((0, 1, 1))):
                w.line(w.pick(_STATEMENTS))
            w.line(
                f"acc = acc {w.pick('+-')} {w.pick(('Z[i0]', 'A0[i0] % x', expression(w, 1).inner))}"
            )
        w.line("return acc" if result is not None else "Z[0] = acc")
        body = list(lines)
    return kernel(w, seed, params, result, body)


_FORMS = (
    "A0[i0] % B[i0]",
    "A0[i0] % B[i0]",
    "(A0[i0] % B[i0]) * x",
    "(A0[i0] + x) % B[i0]",
    "A0[i0] % 3",
    "A0[i0] % -0.75",
    "A0[i0] % x if A0[i0] > x else A0[i0] % B[i0]",
)
_STATEMENTS = ("A0[i0] %= x", "acc %= 2.5", "Z[i0] %= A0[i0]", "A0[i0] = x % A0[i0]")
