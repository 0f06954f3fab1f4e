"""Loops whose step is known at run time, over bounds that may be, too; and down by steps that are known."""

from __future__ import annotations

from ..program import Program
from ..writer import Array, LoopVar, Scalar, Writer
from .parts import element_type, integer_type, into_scope, kernel, reached, work

LENGTH = 12


def stride_kernel(w: Writer, seed: int) -> Program:
    """One to three loops, one inside the other or one after the other."""
    w.style.depth = 1
    w.use("run-time steps")
    params: list[Array | Scalar] = [
        Array("A0", element_type(w), (LENGTH,)),
        Array("B", integer_type(w), (LENGTH,)),
        Scalar("n", integer_type(w)),
        Scalar("s", integer_type(w)),
    ]
    result = integer_type(w) if w.chance(0.5) else None
    with w.function() as lines:
        into_scope(w, params)
        w.line("count: int32 = 0")
        for k in range(w.pick((1, 1, 2))):
            _loop(w, f"i{k}", inner=w.chance(0.4))
        if result is not None:
            w.line("return count")
        else:
            w.line("B[0] = count")
        body = list(lines)
    return kernel(w, seed, params, result, body)


def _loop(w: Writer, name: str, *, inner: bool) -> None:
    """A loop of which every iterator stays inside the arrays."""
    low, high = (
        _low(w),
        w.pick((str(LENGTH), str(LENGTH), "(n & 7) + 4", f"min({LENGTH}, (n & 15))")),
    )
    text = f"{low}, {high}, {_step(w)}"
    if w.chance(0.2):
        end, step = w.pick(("-1", "0", "(s & 1) - 1")), w.rng.randint(1, 3)
        text = f"(n & 7) + {w.rng.randint(0, 4)}, {end}, -{step}"
    if w.chance(0.2) and not inner:
        text += ", pipeline=True"
    w.line(f"for {name} in range({text}):")
    with w.block():
        w.scope.loops.append(LoopVar(name, 0, LENGTH - 1, affine=False))
        w.work *= LENGTH
        w.line(f"count = count * 3 + {name}")
        for _ in range(w.rng.randint(1, 2)):
            work(w)
        if inner:
            _loop(w, f"{name}{name[0]}", inner=False)
        elif w.chance(0.25):
            w.line(f"if {reached(w)}:")
            w.line(f"    {w.pick(('break', 'continue'))}")
            work(w)
    w.work //= LENGTH


def _low(w: Writer) -> str:
    around = [v.name for v in w.scope.loops]
    return w.pick(("0", "0", "1", "n & 3", *around))


def _step(w: Writer) -> str:
    """At least 1, whatever the values are."""
    around = [f"{v.name} + 1" for v in w.scope.loops]
    name = w.fresh("t")
    if w.chance(0.3):
        w.line(f"{name}: int32 = (s & 3) + 1")
        return name
    return w.pick(
        ("(s & 3) + 1", "(s & 7) + 1", f"(B[{w.rng.randrange(LENGTH)}] & 1) + 1", *around)
    )
