"""Copies of a loop's body that touch neighbours: registers under guards, products by constants in place.

``guarded`` programs name registers of a local array by subscripts that leave it where no guard holds.
``constants`` programs multiply what an array holds by constants on either side, and put it back.
"""

from __future__ import annotations

from ..program import Program, Step
from ..types import Ty
from ..writer import Array, Scalar, Writer
from .parts import integer_type, into_scope, kernel


def guarded_kernel(w: Writer, seed: int) -> Program:
    """A local array of registers, updated by all copies of a loop, of which few have a place in it."""
    ty, extent = integer_type(w), w.rng.randint(2, 5)
    outer, length = w.rng.randint(1, 4), w.rng.randint(2, 9)
    params: list[Array | Scalar] = [
        Array("A0", ty, (extent,)),
        Array("B", integer_type(w), (length,)),
    ]
    copies = w.rng.randint(2, extent + 4)
    with w.function() as lines:
        into_scope(w, params)
        w.line(f"t: {ty.text}[{extent}] = 0")
        w.line(f"for j0, i0 in allo.grid({outer}, {length}):")
        w.depth += 1
        w.line(f"for k0 in range({copies}):")
        w.depth += 1
        for _ in range(w.pick((1, 1, 2))):
            _update(w, extent)
        w.depth -= 2
        w.line(f"for m0 in range({extent}):")
        w.line(f"    A0[m0] = A0[m0] {w.pick('+-^')} t[m0]")
        body = list(lines)
    program = kernel(w, seed, params, None, body)
    loops = [{"loop": ["kernel", "S_j0_i0_0", name]} for name in ("i0", "j0")]
    program.steps = [Step("pipeline", (loops[0], w.pick((1, 1, 2, 3))))]
    if w.chance(0.85):
        whole = ({"buffer": ["kernel", "t"]}, {"partition": "Complete"}, 0, 0)
        program.steps.insert(0, Step("partition", whole))
    return program


def _update(w: Writer, extent: int) -> None:
    """An update of an element that exists where its guard holds."""
    low = w.pick(("j0", "j0", str(w.rng.randint(0, 2)), f"(B[i0] & {w.pick((1, 3))})"))
    step = w.pick(("", "", "", "2 * "))
    at = f"{step}k0 - {low}"
    guards = [f"{at} >= 0", f"{at} < {extent}"]
    if w.chance(0.25):
        at, guards = "k0", [f"k0 < min({extent}, (B[i0] & 7) + 1)"]
    if w.chance(0.3):
        guards.append(f"B[i0] {w.pick(('>', '<', '!='))} {w.rng.randint(-3, 3)}")
    w.line(f"if {' and '.join(guards)}:")
    value = w.pick(("B[i0] + k0", "B[i0] * (k0 + 1)", "B[i0]"))
    w.line(f"    t[{at}] = t[{at}] {w.pick(('+', '+', '-', '^', '* 3 +'))} {value}")


def constants_kernel(w: Writer, seed: int) -> Program:
    """Elements times elements times constants, in place, in copies that are one block or a pipeline."""
    ty, length = integer_type(w, 33), w.rng.randint(3, 8)
    params: list[Array | Scalar] = [Array("A0", ty, (length,)), Array("B", ty, (length,))]
    with w.function() as lines:
        into_scope(w, params)
        w.line(f"for i0 in range({length}):")
        w.depth += 1
        for _ in range(w.pick((1, 1, 2))):
            target = w.pick(("A0", "A0", "B"))
            w.line(f"{target}[i0] = {_product(w, target, length, ty)}")
        body = list(lines)
    program = kernel(w, seed, params, None, body)
    loop = {"loop": ["kernel", "S_i0_0", "i0"]}
    program.steps = [Step("rebalance", (loop,))] if w.chance(0.5) else []
    program.steps.append(w.pick((Step("unroll", (loop, 0)), Step("pipeline", (loop, 1)))))
    return program


def _product(w: Writer, target: str, length: int, ty: Ty) -> str:
    """Factors in any order and grouping, the old element among them mostly."""
    constant = str(w.pick((3, 5, 6, 7, 10, 11)))
    places = ("i0", f"{length - 1} - i0", str(w.rng.randrange(length)))
    factors = [f"{target}[{w.pick(places[:2])}]", f"{w.pick(('A0', 'B'))}[{w.pick(places)}]"]
    factors += [constant] * w.pick((1, 1, 2))
    w.rng.shuffle(factors)
    text = factors[0]
    for factor in factors[1:]:
        text = f"({text}) * {factor}" if w.chance(0.6) else f"{factor} * ({text})"
    if w.chance(0.3):
        text = f"{text} {w.pick('+-')} {factors[0]} * {w.pick((3, 6, 9))}"
    return text if ty.bits > 1 else f"({text}) & 1"
