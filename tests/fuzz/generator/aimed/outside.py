"""Kernels whose subscripts may leave an array when they run: builds with ``check_bounds=True`` say so."""

from __future__ import annotations

from ..program import Program
from ..types import Ty, random_integer
from ..writer import Array, LoopVar, Scalar, Writer
from .parts import element_type, expression, integer_type, into_scope, kernel, reached, trace


def outside_kernel(w: Writer, seed: int) -> Program:
    """A kernel in which some calls leave an array and others do not."""
    w.style.depth = 1
    w.style.math = w.style.power = False
    extent = w.rng.randint(3, 9)
    rows = (w.rng.randint(2, 4), w.rng.randint(3, 5))
    seen = Array("A0", integer_type(w), (extent,))
    params: list[Array | Scalar] = [
        seen,
        Array("A1", element_type(w), rows if w.chance(0.3) else (w.rng.randint(3, 9),)),
        Array("K", _unsigned(w), (extent,)),
        Scalar("n0", integer_type(w, 33)),
    ]
    with w.function() as lines:
        into_scope(w, params)
        for _ in range(w.pick((1, 2))):
            _loop(w, seen)
        body = list(lines)
    w.use("check_bounds")
    program = kernel(w, seed, params, None, body)
    program.checked, program.runs = True, 5
    return program


def _unsigned(w: Writer) -> Ty:
    ty = random_integer(w.rng, wide=0)
    while ty.kind != "uint" or not 2 <= ty.bits <= 32:
        ty = random_integer(w.rng, wide=0)
    return ty


def _loop(w: Writer, seen: Array) -> None:
    extent = seen.shape[0]
    name = w.fresh("i")
    saved = w.scope.copy()
    w.line(f"for {name} in range({extent}):")
    with w.block():
        w.scope.loops.append(LoopVar(name, 0, extent - 1))
        for _ in range(w.pick((1, 1, 2, 3))):
            _access(w, name)
            if w.chance(0.3):
                trace(w, seen)
    w.scope = saved


def _access(w: Writer, name: str) -> None:
    """A load or a store, alone, under a condition, or behind one that guards it for the most part."""
    array = w.pick([a for a in w.scope.arrays if a.name != "K"])
    place = f"{array.name}[{', '.join(_risky(w, name, extent) for extent in array.shape)}]"
    choice = w.rng.randrange(6)
    if choice < 2:
        w.line(f"{place} = {expression(w).text}")
    elif choice == 2:
        w.line(f"if {reached(w)}:")
        w.line(f"    {place} = {expression(w).text}")
    elif choice == 3:
        w.line(f"A0[{name}] = {place} if {reached(w)} else {w.rng.randint(0, 9)}")
    elif choice == 4:
        w.line(f"if {reached(w)} and {place} > {w.rng.randint(-3, 3)}:")
        w.line(f"    A0[{name}] += 1")
    else:
        v = w.fresh("v")
        w.line(f"{v}: {array.ty.text} = {place}")
        w.scope.scalars.append(Scalar(v, array.ty))


def _risky(w: Writer, name: str, extent: int) -> str:
    """A subscript that is inside in most calls."""
    mask = w.pick((1, 1, 3))
    options = [
        f"{name} + (n0 & {mask})",
        f"{name} - (n0 & {mask})",
        f"K[{name}] & {(1 << (extent - 1).bit_length()) - 1}",
        f"min(K[{name}], {extent})",
        f"(n0 & {(1 << extent.bit_length()) - 1})",
        f"({name} + K[0]) % {extent + 1}",
    ]
    safe = [f"{name} % {extent}", str(w.rng.randrange(extent))]
    return w.pick(options if w.chance(0.5) else safe)
