"""Loops over elements that a table names, of which the schedule asserts what no analysis can know.

The table names no element twice, or none within a distance, so every assertion holds. It is about one run of
the loop: what the loop around it carries must be found as before.
"""

from __future__ import annotations

from math import gcd

from ..program import Program, Step
from ..writer import Array, Scalar, Writer
from .parts import integer_type, into_scope, kernel


def asserted_kernel(w: Writer, seed: int) -> Program:
    """A pipelined loop of updates through a table, mostly inside another loop."""
    length, outer = w.rng.randint(4, 12), w.pick((1, 2, 3, 4))
    distance = w.pick((0, 0, 2, 3))
    span = distance or length
    ty = integer_type(w)
    params: list[Array | Scalar] = [
        Array("A0", ty, (length,)),
        Array("B", integer_type(w), (length,)),
    ]
    with w.function() as lines:
        into_scope(w, params)
        _table(w, length, span)
        w.line(f"for j0 in range({outer}):")
        w.line(f"    for i0 in range({length}):")
        for _ in range(w.pick((1, 1, 2))):
            value = w.pick(("B[i0]", "B[i0] + j0", "B[i0] * i0", "B[i0] * A0[T[i0]]"))
            w.line(f"        A0[T[i0]] = A0[T[i0]] {w.pick('+-^*')} {value}")
        body = list(lines)
    program = kernel(w, seed, params, None, body)
    band = f"S_j0_{int('for t0' in program.source)}"
    loop = {"loop": ["kernel", band, "i0"]}
    kind = w.pick(("all", "all", "RAW", "WAR", "WAW"))
    program.steps = [
        Step("pipeline", (loop, w.pick((1, 1, 1, 2))), (("rewind", w.chance(0.3)),)),
        Step("dependence", ({"buffer": ["kernel", "A0"]}, loop, kind, distance or False)),
    ]
    if w.chance(0.25):
        whole = ({"buffer": ["kernel", "A0"]}, {"partition": w.pick(("Complete", "Cyclic"))}, 0, 2)
        program.steps.insert(0, Step("partition", whole))
    return program


def _table(w: Writer, length: int, span: int) -> None:
    """``T``, captured or computed: ``span`` elements in any order, again and again."""
    if w.chance(0.5):
        order = w.rng.sample(range(length), span)
        numbers = [order[i % span] for i in range(length)]
        w.definitions.append(f"T = np.array({numbers}, np.int32)")
        return
    factor = w.pick([k for k in range(1, 12) if gcd(k, span) == 1])
    w.line(f"T: int32[{length}] = 0")
    w.line(f"for t0 in range({length}):")
    w.line(f"    T[t0] = (t0 * {factor} + {w.rng.randint(0, 9)}) % {span}")
