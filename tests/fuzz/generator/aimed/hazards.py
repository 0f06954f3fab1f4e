"""Loops, pipelined or not, that read what the same iteration or the next overwrites, and the reverse."""

from __future__ import annotations

from collections.abc import Callable

from ..program import Program, Step
from ..types import INT32
from ..writer import Array, LoopVar, Scalar, Writer
from .parts import element_type, expression, integer_type, into_scope, kernel, reached, work

EXTENTS = (4, 8, 8, 16)
"""Powers of two, so that a mask makes any number a subscript."""


def hazard_kernel(w: Writer, seed: int) -> Program:
    """A kernel of one or two loops over a few small arrays."""
    w.style.depth = 1
    w.style.math = w.style.power = False
    extent = w.pick(EXTENTS)
    ty = integer_type(w) if w.chance(0.8) else element_type(w)
    params: list[Array | Scalar] = [
        Array("A0", ty, (extent,)),
        Array("A1", ty if w.chance(0.5) else element_type(w), (extent,)),
        Array("K", integer_type(w, 33), (extent,)),
        Scalar("n0", integer_type(w, 33)),
    ]
    with w.function() as lines:
        w.result = None
        into_scope(w, params)
        w.line(f"last: {ty.text} = 0")
        last = Scalar("last", ty)
        w.scope.scalars.append(last)
        names = [_loop(w, extent, last) for _ in range(w.pick((1, 1, 2)))]
        w.line("return last")
        body = list(lines)
    w.use("hazards")
    program = kernel(w, seed, params, ty, body)
    program.steps = [
        Step("pipeline", ({"loop": ["kernel", f"S_{name}_{number}", loop]}, w.pick((1, 1, 1, 2))))
        for number, (name, loop) in enumerate(names)
        if w.chance(0.5)
    ]
    return program


def _loop(w: Writer, extent: int, last: Scalar) -> tuple[str, str]:
    """A nest of one or two loops; the names of the outer loop and of the loop to pipeline."""
    saved, depth = w.scope.copy(), w.depth
    band = ""  # a nest has the name of its outermost loop
    if w.chance(0.4):
        outer = w.fresh("t")
        w.line(f"for {outer} in range({w.rng.randint(2, 3)}):")
        w.scope.loops.append(LoopVar(outer, 0, 2))
        w.depth += 1
        band = outer
    name = w.fresh("i")
    w.line(f"for {name} in range({extent - 1}):")
    w.scope.loops.append(LoopVar(name, 0, extent - 2))
    w.depth += 1
    if w.chance(0.3):
        work(w)
    for _ in range(w.pick((2, 2, 3, 4))):
        w.rng.choices([make for make, _ in _PATTERNS], [n for _, n in _PATTERNS])[0](
            w, name, extent, last
        )
    w.scope, w.depth = saved, depth
    return band or name, name


def _array(w: Writer) -> Array:
    return w.pick([a for a in w.scope.arrays if a.name.startswith("A")])


def _late(w: Writer, extent: int, name: str) -> str:
    """A subscript that is known late in an iteration: behind a division, a product or a load."""
    number = w.pick((f"K[{name}]", "n0", f"K[{name} + 1]"))
    choice = w.rng.randrange(4)
    if choice == 0:
        return f"{number} & {extent - 1}"
    if choice == 1:
        return f"({number} // {w.pick((3, 5, 7))}) & {extent - 1}"
    if choice == 2:
        return f"({number} * {number} + {name}) & {extent - 1}"
    k = w.fresh("k")
    w.line(f"{k}: int32 = {number} * 5 + {name}")
    w.scope.scalars.append(Scalar(k, INT32))
    return f"{k} & {extent - 1}"


def _early(w: Writer, extent: int, name: str) -> str:
    """A subscript that is known at once."""
    return w.pick((name, f"{name} + 1", str(w.rng.randrange(extent)), f"{extent - 1} - {name}"))


def _value(w: Writer) -> str:
    return str(w.rng.randint(0, 99)) if w.chance(0.4) else expression(w).text


def _read_then_write(w: Writer, name: str, extent: int, last: Scalar) -> None:
    """The load is late, the store early: the store has to wait for it."""
    array, v = _array(w), w.fresh("v")
    w.line(f"{v}: {array.ty.text} = {array.name}[{_late(w, extent, name)}]")
    w.scope.scalars.append(Scalar(v, array.ty))
    quick = w.pick((str(w.rng.randint(0, 99)), name, "n0", last.name))
    at = _early(w, extent, name)
    _guarded(w, f"{array.name}[{at}] = {quick if w.chance(0.7) else _value(w)}")
    other = w.pick([a for a in w.scope.arrays if a is not array])
    seen = w.pick((f"{other.name}[{name}] = ", f"{last.name} = ", f"{last.name} += "))
    w.line(f"{seen}{v}")


def _write_then_read(w: Writer, name: str, extent: int, last: Scalar) -> None:
    array, v = _array(w), w.fresh("v")
    _guarded(w, f"{array.name}[{_late(w, extent, name)}] = {_value(w)}")
    w.line(f"{v}: {array.ty.text} = {array.name}[{_early(w, extent, name)}]")
    w.scope.scalars.append(Scalar(v, array.ty))
    w.line(f"{last.name} {w.pick(('=', '-='))} {v}")


def _next_iteration(w: Writer, name: str, extent: int, last: Scalar) -> None:
    """What this iteration reads the next one overwrites; or the last one has written it."""
    a, b = _array(w), _array(w)
    source, sink = w.pick(((f"{name} + 1", name), (name, f"{name} + 1")))
    w.line(f"{b.name}[{sink}] = {a.name}[{source}] {w.pick(('+', '-', '*'))} ({_value(w)})")
    if w.chance(0.6):
        _guarded(w, f"{a.name}[{name}] = {last.name}")


def _carried(w: Writer, name: str, extent: int, last: Scalar) -> None:
    """A scalar that is read and then overwritten."""
    array, v = _array(w), w.fresh("v")
    w.line(f"{v}: {last.ty.text} = {last.name}")
    w.scope.scalars.append(Scalar(v, last.ty))
    _guarded(w, f"{last.name} = {array.name}[{_early(w, extent, name)}]")
    w.line(f"{array.name}[{_early(w, extent, name)}] = {v}")


def _exchange(w: Writer, name: str, extent: int, last: Scalar) -> None:
    """Two elements trade places, one of them at a subscript of run time."""
    array = _array(w)
    first, second = _early(w, extent, name), _late(w, extent, name)
    a, b = f"{array.name}[{first}]", f"{array.name}[{second}]"
    w.line(f"{a}, {b} = {b}, {a}")


def _update(w: Writer, name: str, extent: int, last: Scalar) -> None:
    """Counts at subscripts of run time, twice in an iteration."""
    array = _array(w)
    w.line(f"{array.name}[{_late(w, extent, name)}] += {_value(w)}")
    _guarded(w, f"{array.name}[{_late(w, extent, name)}] -= {w.rng.randint(0, 9)}")


def _either(w: Writer, name: str, extent: int, last: Scalar) -> None:
    """Branches that exclude each other read and write one array, at one element or at several."""
    array, same = _array(w), _early(w, extent, name)
    conditions = [reached(w) for _ in range(w.pick((1, 1, 2)))]
    heads = [f"{'elif' if number else 'if'} {c}:" for number, c in enumerate(conditions)]
    for head in (*heads, "else:"):
        at = (
            same
            if w.chance(0.4)
            else w.pick((_early(w, extent, name), f"K[{name}] & {extent - 1}"))
        )
        read = w.pick((str(w.rng.randint(0, 99)), f"{array.name}[{name} + 1]", f"K[{name}]"))
        other = f" + {array.name}[{w.rng.randrange(extent)}]" if w.chance(0.4) else ""
        w.line(head)
        w.line(f"    {array.name}[{at}] = {read}{other}")
        if w.chance(0.3):
            w.line(f"    {last.name} {w.pick(('=', '+='))} {array.name}[{_early(w, extent, name)}]")


def _guarded(w: Writer, text: str) -> None:
    if w.chance(0.3):
        w.line(f"if {reached(w)}:")
        text = f"    {text}"
    w.line(text)


_PATTERNS: tuple[tuple[Callable[[Writer, str, int, Scalar], None], int], ...] = (
    (_read_then_write, 7),
    (_write_then_read, 2),
    (_next_iteration, 3),
    (_carried, 3),
    (_exchange, 2),
    (_update, 2),
    (_either, 4),
)
