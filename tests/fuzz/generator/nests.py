"""Kernels for schedules: affine nests, sums, windows, chains of producers and consumers, stages."""

from __future__ import annotations

from collections.abc import Callable

from .expressions import atom, element_type, expression
from .program import Program
from .subscripts import element
from .types import Ty, random_float, result
from .writer import Array, LoopVar, Scalar, Style, Writer, annotation, argument_of


def nest_kernel(w: Writer, seed: int) -> Program:
    """A kernel of affine nests, on which primitives have something to do."""
    style: Style = w.style
    style.affine_only, style.guards, style.runtime = True, 0.0, 0.0
    style.depth = w.pick((1, 1, 2))
    kinds: list[tuple[int, Callable[[Writer], tuple[list[Array], list[Scalar]]]]] = [
        (4, _random_bands),
        (3, _sum),
        (3, _window),
        (3, _chain),
        (1, _line_window),
    ]
    make = w.rng.choices([m for _, m in kinds], [n for n, _ in kinds])[0]
    if w.chance(0.22):
        return _stages(w, seed, make)
    with w.function() as lines:
        arrays, scalars = make(w)
        body = list(lines)
    return _finish(w, seed, "kernel", arrays, scalars, body)


def _finish(
    w: Writer, seed: int, name: str, arrays: list[Array], scalars: list[Scalar], body: list[str]
) -> Program:
    params: list[Array | Scalar] = [*arrays, *scalars]
    w.functions.append("\n".join([_head(name, params), *(body or ["    pass"])]))
    arguments = [argument_of(p) for p in params]
    return Program(seed, w.module(), name, arguments, runs=2)


def _head(name: str, params: list[Array | Scalar]) -> str:
    shown = (
        f"{p.name}: {annotation(p.ty, p.shape if isinstance(p, Array) else None)}" for p in params
    )
    return f"def {name}({', '.join(shown)}):"


def _type(w: Writer) -> Ty:
    ty = element_type(w)
    while ty.bits > 64 or (ty.is_fixed and w.chance(0.5)):
        ty = element_type(w)
    return ty


def _reducing(w: Writer, *types: Ty) -> str:
    """``reduction``, or ``grid`` where another order would round differently."""
    if not w.chance(0.7):
        return "grid"
    if any(ty.is_float for ty in types):
        w.use("float reduction")
    return "reduction"


def _name(w: Writer) -> str:
    return f', name="{w.fresh("band")}"' if w.chance(0.4) else ""


# --- kinds ----------------------------------------------------------------------


def _random_bands(w: Writer) -> tuple[list[Array], list[Scalar]]:
    ty = _type(w)
    other = ty if w.chance(0.6) else _type(w)
    arrays = [
        Array("A", ty, (w.rng.randint(3, 8), w.rng.randint(3, 6))),
        Array("B", other, (w.rng.randint(3, 8), w.rng.randint(3, 6))),
        Array("Y", _type(w), (w.rng.randint(3, 10),)),
    ]
    scalars = [Scalar("n", _type(w))]
    w.scope.arrays += arrays
    w.scope.scalars += scalars
    if w.chance(0.6):
        local = Array("C", _type(w), (w.rng.randint(3, 8), w.rng.randint(3, 6)))
        w.line(f"C: {local.ty.text}[{', '.join(map(str, local.shape))}] = {w.rng.randint(0, 1)}")
        w.scope.arrays.append(local)
    for _ in range(w.pick((1, 1, 2, 2, 3))):
        _band(w)
    if any(a.name == "C" for a in w.scope.arrays):
        local = next(a for a in w.scope.arrays if a.name == "C")
        w.line(f"for x, y in allo.grid({local.shape[0]}, {local.shape[1]}):")
        w.line(f"    A[x % {arrays[0].shape[0]}, y % {arrays[0].shape[1]}] += C[x, y]")
    return arrays, scalars


def _band(w: Writer) -> None:
    """One nest of one to three loops; rectangular or triangular, perfect or not."""
    names = ["i", "j", "k"][: w.pick((1, 2, 2, 3))]
    extents = [w.rng.randint(2, 6) for _ in names]
    saved = w.scope.copy()
    if w.chance(0.6):
        w.line(f"for {', '.join(names)} in allo.grid({', '.join(map(str, extents))}{_name(w)}):")
        w.scope.loops += [LoopVar(n, 0, e - 1) for n, e in zip(names, extents, strict=True)]
        with w.block():
            _body(w)
        w.scope = saved
        return
    depth = w.depth
    outer: LoopVar | None = None
    for level, (name, extent) in enumerate(zip(names, extents, strict=True)):
        if outer is not None and w.chance(0.3):
            w.use("triangular bounds")
            low, high = w.pick(((outer.name, "6"), ("0", f"{outer.name} + 1")))
            variable = LoopVar(name, 0, max(5, outer.high))
            bounds = f"{low}, {high}"
        elif w.chance(0.15):
            w.use("negative steps")
            bounds, variable = f"{extent - 1}, -1, -1", LoopVar(name, 0, extent - 1)
        else:
            low_value = w.rng.randint(0, 2)
            bounds = f"{low_value}, {low_value + extent}"
            variable = LoopVar(name, low_value, low_value + extent - 1)
        w.line(f"for {name} in range({bounds}):")
        w.depth += 1
        w.scope.loops.append(variable)
        outer = variable
        if level + 1 < len(names) and w.chance(0.2):
            _affine_statement(w)
    _body(w)
    w.depth = depth
    w.scope = saved


def _body(w: Writer) -> None:
    for _ in range(w.pick((1, 1, 1, 2))):
        if w.chance(0.15) and w.scope.loops:
            v = w.pick(w.scope.loops)
            w.line(f"if {v.name} {w.pick(('<', '>', '==', '>='))} {w.rng.randint(v.low, v.high)}:")
            with w.block():
                _affine_statement(w)
        else:
            _affine_statement(w)


def _affine_statement(w: Writer) -> None:
    out = w.pick([a for a in w.scope.arrays if a.writable])
    value = expression(w)
    place = element(w, out)
    if w.chance(0.5):
        op = w.pick(("+", "+", "*", "-", "^"))
        ty = result(op, out.ty, value.ty)
        if ty is None or ty.bits > 250:
            op = "+"
        w.line(f"{place} {op}= {value.text}")
    else:
        w.line(f"{place} = {value.text}")


def _sum(w: Writer) -> tuple[list[Array], list[Scalar]]:
    """A matrix product, with an accumulator in an array or a scalar."""
    m, n, k = (w.rng.randint(2, 6) for _ in range(3))
    a, b = _type(w), _type(w)
    c = a if w.chance(0.4) else _type(w)
    if w.chance(0.3):
        a = b = c = random_float(w.rng)
    arrays = [Array("A", a, (m, k)), Array("B", b, (k, n)), Array("D", c, (m, n))]
    w.use("products")
    if w.chance(0.4):
        w.line(f"for i, j in allo.grid({m}, {n}{_name(w)}):")
        w.line(f"    acc: {c.text} = 0")
        w.line(f"    for k in allo.{_reducing(w, a, b, c)}({k}):")
        w.line("        acc += A[i, k] * B[k, j]")
        w.line("    D[i, j] = acc")
        return arrays, []
    out = "D"
    if w.chance(0.5):
        out = "C"
        w.line(f"C: {c.text}[{m}, {n}] = 0")
    if w.chance(0.5):
        w.line(f"for i, j in allo.grid({m}, {n}{_name(w)}):")
        w.line(f"    for k in allo.{_reducing(w, a, b, c)}({k}):")
        w.line(f"        {out}[i, j] += A[i, k] * B[k, j]")
    else:
        w.line(f"for i, j, k in allo.grid({m}, {n}, {k}{_name(w)}):")
        w.line(f"    {out}[i, j] += A[i, k] * B[k, j]")
    if out == "C":
        w.line(f"for x, y in allo.grid({m}, {n}):")
        w.line(f"    D[x, y] = C[x, y] {w.pick(('+', '-', '*'))} {w.pick(('1', '3', 'D[x, y]'))}")
    return arrays, []


def _window(w: Writer) -> tuple[list[Array], list[Scalar]]:
    """A two-dimensional stencil, plain or guarded at the border."""
    h, v, r = w.rng.randint(4, 7), w.rng.randint(4, 7), w.pick((2, 3))
    a = random_float(w.rng) if w.chance(0.2) else _type(w)
    out = a if w.chance(0.5) else _type(w)
    w.use("windows")
    arrays = [Array("A", a, (h, v)), Array("B", out, (h, v))]
    rows, cols = h - r + 1, v - r + 1
    if w.chance(0.25):
        w.line(f"for y, x in allo.grid({h}, {v}{_name(w)}):")
        w.line(f"    if y >= 1 and y < {h - 1} and x >= 1 and x < {v - 1}:")
        w.line("        B[y, x] = A[y - 1, x] + A[y + 1, x] + A[y, x - 1] + A[y, x + 1]")
        return arrays, []
    if w.chance(0.5):
        w.line(f"for y, x in allo.grid({rows}, {cols}{_name(w)}):")
        w.line(f"    acc: {out.text} = 0")
        w.line(f"    for r, c in allo.{_reducing(w, a, out)}({r}, {r}):")
        w.line("        acc += A[y + r, x + c]")
        w.line("    B[y, x] = acc")
    else:
        terms = [f"A[y + {i}, x + {j}]" for i in range(r) for j in range(r) if w.chance(0.6)] or [
            "A[y, x]"
        ]
        w.line(f"for y, x in allo.grid({rows}, {cols}{_name(w)}):")
        w.line(f"    B[y, x] = {' + '.join(terms[:5])}")
    return arrays, []


def _line_window(w: Writer) -> tuple[list[Array], list[Scalar]]:
    n, taps = w.rng.randint(5, 12), w.rng.randint(2, 4)
    a = _type(w)
    w.use("windows")
    arrays = [Array("A", a, (n,)), Array("B", _type(w), (n,)), Array("F", _type(w), (taps,))]
    w.line(f"for x in allo.grid({n - taps + 1}{_name(w)}):")
    w.line(f"    acc: {arrays[1].ty.text} = 0")
    w.line(f"    for r in allo.{_reducing(w, a, arrays[1].ty, arrays[2].ty)}({taps}):")
    w.line("        acc += A[x + r] * F[r]")
    w.line("    B[x] = acc")
    return arrays, []


def _chain(w: Writer) -> tuple[list[Array], list[Scalar]]:
    """Nests that hand an array on, for ``compute_at``, ``to`` and ``reuse_at``."""
    h, v = w.rng.randint(3, 6), w.rng.randint(3, 6)
    ty = _type(w)
    arrays = [Array("A", ty, (h, v)), Array("D", _type(w), (h, v))]
    w.use("chains")
    source = "A"
    names = ["B", "C"][: w.pick((1, 2))]
    for name in names:
        kind = ty if w.chance(0.5) else _type(w)
        w.line(f"{name}: {kind.text}[{h}, {v}]{' = 0' if w.chance(0.5) else ''}")
    for number, name in enumerate([*names, "D"]):
        i, j = (("i", "j"), ("x", "y"), ("p", "q"))[number] if w.chance(0.6) else ("i", "j")
        w.line(f"for {i}, {j} in allo.grid({h}, {v}{_name(w)}):")
        w.scope.loops = [LoopVar(i, 0, h - 1), LoopVar(j, 0, v - 1)]
        value = f"{source}[{i}, {j}]"
        w.line(f"    {name}[{i}, {j}] = {value} {w.pick(('+', '*', '-'))} {atom(w).inner}")
        source = name
    w.scope.loops = []
    return arrays, []


def _stages(
    w: Writer, seed: int, make: Callable[[Writer], tuple[list[Array], list[Scalar]]]
) -> Program:
    """A top function that calls stages, whose schedules may be composed."""
    w.use("stages")
    with w.function() as lines:
        arrays, scalars = make(w)
        body = list(lines)
    params: list[Array | Scalar] = [*arrays, *scalars]
    w.functions.append("\n".join([_head("stage", params), *body]))
    with w.function() as lines:
        first = arrays[0]
        given = ", ".join(p.name for p in params)
        if w.chance(0.5):
            w.line(f"for a0 in range({first.shape[0]}):")
            at = ", ".join(["a0", *("0" for _ in first.shape[1:])])
            w.line(f"    {first.name}[{at}] += 1")
        w.line(f"stage({given})")
        if w.chance(0.4):
            w.line(f"stage({given})")
        last = arrays[-1]
        names = [f"z{k}" for k in range(len(last.shape))]
        w.line(f"for {', '.join(names)} in allo.grid({', '.join(map(str, last.shape))}):")
        w.line(f"    {last.name}[{', '.join(names)}] = {last.name}[{', '.join(names)}] * 3")
        top = list(lines)
    return _finish(w, seed, "kernel", arrays, scalars, top)
