"""Kernels of any control flow: arguments, helpers, constants, state, statements, a result."""

from __future__ import annotations

from .expressions import element_type, expression
from .program import Argument, Program
from .statements import random_shape, record_literal, statements
from .types import INT32, Ty, other_signedness, random_float, random_integer
from .writer import Array, Helper, Record, Scalar, Style, Writer, annotation, argument_of


def random_style(w: Writer) -> Style:
    """What this program is mostly about."""
    choice = w.rng.random()
    style = Style()
    if choice < 0.45:
        pass
    elif choice < 0.65:
        style.floats = w.pick((0.3, 0.8))
    elif choice < 0.80:
        style.fixed = w.pick((0.3, 0.7))
    else:
        style.floats, style.fixed = 0.25, 0.2
    style.wide = w.pick((0.0, 0.05, 0.1, 0.4))
    style.depth = w.pick((1, 2, 2, 2, 3))
    style.math = style.floats > 0 and w.chance(0.15)
    style.power = style.floats > 0 and w.chance(0.05)
    style.guards = w.pick((0.0, 0.3, 0.6))
    style.runtime = w.pick((0.0, 0.3, 0.6))
    return style


def control_kernel(w: Writer, seed: int) -> Program:
    """A kernel with every statement of the language."""
    w.budget = w.pick((3, 5, 7, 9, 12, 15))
    _constants(w)
    for _ in range(w.pick((1, 1, 2, 3) if w.composes else (0, 0, 0, 1, 1, 2))):
        _helper(w)
    template = w.chance(0.1)
    params = _parameters(w)
    arguments = [_argument_of(p) for p in params]
    instantiate: list[str] = []
    result = element_type(w) if w.chance(0.6) else None
    generic = ""
    with w.function() as lines:
        w.result = result
        for p in params:
            _into_scope(w, p)
        w.scope.scalars += [c for c in w.constants if isinstance(c, Scalar)]
        shown = [f"{p.name}: {_annotation(p)}" for p in params]
        if template:
            generic, shown = _generic(w, params, shown, instantiate)
        _state(w)
        _locals(w)
        statements(w, 30)
        _observe(w)
        if result is not None:
            w.line(f"return {expression(w, 1).text}")
        body = list(lines)
    if result is not None:
        returned = f" -> {result.text}"
    else:
        returned = ""
    head = f"def kernel{generic}({', '.join(shown)}){returned}:"
    w.functions.append("\n".join([head, *(body or ["    pass"])]))
    return Program(
        seed,
        w.module(),
        "kernel",
        arguments,
        instantiate,
        exact=w.exact,
        features=sorted(w.features),
    )


def _parameters(w: Writer) -> list[Scalar | Array | Record]:
    params: list[Scalar | Array | Record] = []
    for position in range(w.pick((1, 2, 2, 3))):
        params.append(Array(f"A{position}", element_type(w), random_shape(w)))
    taken = [p for helper in w.helpers for p in helper.params if isinstance(p, Array)]
    if w.converts and taken:
        chosen = w.aside.choice(taken)
        params[0] = Array("A0", other_signedness(chosen.ty), chosen.shape)
    elif w.composes and taken:
        chosen = w.pick(taken)
        shape = tuple(extent + w.pick((0, 0, 1, 2)) for extent in chosen.shape)
        params[0] = Array(
            "A0", chosen.ty, (w.rng.randint(2, 4), *shape) if w.chance(0.3) else shape
        )
    for position in range(w.pick((0, 1, 1, 2))):
        params.append(Scalar(f"n{position}", element_type(w)))
    if w.chance(0.12):
        w.use("structs")
        fields = tuple((name, _field_type(w)) for name in "xyz"[: w.rng.randint(1, 3)])
        text = ", ".join(f'"{name}": {ty.text}' for name, ty in fields)
        w.definitions.append(f"S0 = Struct({{{text}}})")
        shape = w.pick((None, (w.rng.randint(2, 6),)))
        params.append(Record("r0", fields, shape))
    return params


def _field_type(w: Writer) -> Ty:
    ty = element_type(w)
    while ty.bits > 64 or ty.kind == "bfloat16":
        ty = random_integer(w.rng, wide=0) if not ty.is_float else random_float(w.rng)
    return ty


def _annotation(p: Scalar | Array | Record) -> str:
    if isinstance(p, Record):
        return "S0" if p.shape is None else f"S0[{p.shape[0]}]"
    return annotation(p.ty, p.shape if isinstance(p, Array) else None)


def _argument_of(p: Scalar | Array | Record) -> Argument:
    if isinstance(p, Record):
        fields = tuple((name, ty.text, ty.bits) for name, ty in p.fields)
        return Argument(p.name, "struct", 0, 0, p.shape, fields)
    return argument_of(p)


def _into_scope(w: Writer, p: Scalar | Array | Record) -> None:
    if isinstance(p, Array):
        w.scope.arrays.append(p)
    elif isinstance(p, Scalar):
        w.scope.scalars.append(p)
    else:
        local = Record(p.name, p.fields, p.shape, writable=p.shape is not None)
        w.scope.records.append(local)


def _generic(
    w: Writer, params: list[Scalar | Array | Record], shown: list[str], instantiate: list[str]
) -> tuple[str, list[str]]:
    """Make the type and the extents of the first array template arguments."""
    first = params[0]
    if not isinstance(first, Array):
        return "", shown
    w.use("templates")
    names = ["T", *(f"M{k}" for k in range(len(first.shape)))]
    instantiate += [first.ty.text, *map(str, first.shape)]
    extents = ", ".join(names[1:])
    shown = [f'{first.name}: "T[{extents}]"', *shown[1:]]
    return f"[{', '.join(names)}]", shown


def _constants(w: Writer) -> None:
    """Captured scalars and arrays."""
    if w.chance(0.2):
        w.use("captured scalars")
        value = w.rng.randint(-20, 100)
        w.definitions.append(f"C0 = {value}")
        w.constants.append(Scalar("C0", INT32, writable=False, constant=True))
    if w.chance(0.2):
        ty = element_type(w)
        if ty.is_fixed or ty.bits > 64 or ty.kind == "bfloat16":
            ty = INT32
        shape = random_shape(w, 2)
        count = 1
        for extent in shape:
            count *= extent
        if ty.is_float:
            numbers = [w.rng.randint(-30, 30) / 4 for _ in range(count)]
            kind = f"np.{ty.kind}"
        else:
            high = min(60, (1 << (ty.bits - (ty.kind == "int"))) - 1)
            numbers = [w.rng.randint(0, max(high, 0)) for _ in range(count)]
            kind = "np.int64"
        w.definitions.append(f"K0 = np.array({numbers}, {kind}).reshape({shape})")
        w.constants.append(Array("K0", ty, shape, writable=False))


def _helper(w: Writer) -> None:
    """A function with arrays and scalars; some return a scalar."""
    name = f"helper{len(w.helpers)}"
    params: list[Scalar | Array] = []
    taken = [p for helper in w.helpers for p in helper.params if isinstance(p, Array)]
    if w.composes and taken and w.chance(0.6):
        chosen = w.pick(taken)
        params.append(Array("a", chosen.ty, chosen.shape))
    elif w.chance(0.75):
        params.append(Array("a", element_type(w), random_shape(w, 2)))
        if w.chance(0.3):
            first = params[0]
            assert isinstance(first, Array)
            params.append(Array("b", first.ty, first.shape, writable=w.chance(0.5)))
    moves = w.composes and len(params) == 2 and w.chance(0.6)
    for position in range(w.pick((0, 1, 1, 2))):
        params.append(Scalar(f"s{position}", element_type(w)))
    if not params:
        params.append(Scalar("s0", element_type(w)))
    result = element_type(w) if w.chance(0.6) else None
    shape = (
        params[0].shape if isinstance(params[0], Array) and w.composes and w.chance(0.4) else None
    )
    if shape is not None:
        result = params[0].ty if w.chance(0.6) else element_type(w)
    budget, w.budget = w.budget, w.pick((1, 2, 4))
    inner = w.helpers
    if not w.composes:
        w.helpers = []
    with w.function() as lines:
        w.result = result if shape is None else None
        for p in params:
            _into_scope(w, p)
        w.work = 8
        if w.chance(0.12):
            _state(w, always=True)
        if moves:
            _move(w, params[0].shape)
        statements(w, 6)
        if shape is not None:
            w.line(f"return {_returned_array(w, shape)}")
        elif result is not None:
            w.line(f"return {expression(w, 1).text}")
        body = list(lines)
    w.helpers, w.budget = inner, budget
    shown = ", ".join(f"{p.name}: {_annotation(p)}" for p in params)
    returned = f" -> {annotation(result, shape)}" if result is not None else ""
    w.functions.append("\n".join([f"def {name}({shown}){returned}:", *(body or ["    pass"])]))
    w.helpers.append(Helper(name, tuple(params), result, shape))


def _move(w: Writer, shape: tuple[int, ...]) -> None:
    """A part of one array becomes a part of the other, which may be the same array."""
    extent = shape[0]
    length = w.rng.randint(1, extent)
    at, start = w.rng.randint(0, extent - length), w.rng.randint(0, extent - length)
    w.use("slices")
    behind = ", :" * (len(shape) - 1)
    target = f"a[{at}:{at + length}{behind}]"
    value = f"b[{start}:{start + length}{behind}]"
    w.line(f"{target} = {w.pick((value, f'{value} + 1', f'{target} + {value}'))}")


def _returned_array(w: Writer, shape: tuple[int, ...]) -> str:
    alike = [a.name for a in w.scope.arrays if a.shape == shape]
    first = w.pick(alike)
    return first if w.chance(0.6) else f"{first} + {w.pick(alike)}"


def _state(w: Writer, *, always: bool = False) -> None:
    """A variable that keeps its value between calls."""
    if not always and not w.chance(0.12):
        return
    w.use("stateful")
    ty, name = element_type(w), w.fresh("q")
    if w.chance(0.6):
        w.line(f"{name}: {ty.text} @ Stateful = {w.rng.randint(0, 1)}")
        w.line(f"{name} += 1")
        w.scope.scalars.append(Scalar(name, ty))
        return
    extent = w.rng.randint(2, 6)
    w.line(f"{name}: {ty.text}[{extent}] @ Stateful = 0")
    w.scope.arrays.append(Array(name, ty, (extent,)))


def _locals(w: Writer) -> None:
    if w.chance(0.3):
        ty, name = element_type(w), w.fresh("v")
        w.line(f"{name}: {ty.text} = {expression(w, 1).text}")
        w.scope.scalars.append(Scalar(name, ty))
    if w.scope.records and w.chance(0.4):
        record = w.pick(w.scope.records)
        name = w.fresh("p")
        w.line(f"{name}: S0 = {record_literal(w, record)}")
        w.scope.records.append(Record(name, record.fields))
    if w.chance(0.1):
        w.use("ConstExpr")
        name = w.fresh("c")
        w.line(f"{name}: ConstExpr[int32] = {w.rng.randint(0, 9)} * {w.rng.randint(1, 3)}")
        w.scope.scalars.append(Scalar(name, INT32, writable=False, constant=True))


def _observe(w: Writer) -> None:
    """Write local arrays and scalars into an argument, so that they count."""
    outs = [a for a in w.scope.arrays if a.name.startswith("A")]
    if not outs:
        return
    out = w.pick(outs)
    for array in w.scope.arrays:
        if not array.name.startswith(("L", "q")) or not w.chance(0.8):
            continue
        names = [w.fresh("o") for _ in array.shape]
        loops = ", ".join(names)
        w.line(f"for {loops} in allo.grid({', '.join(map(str, array.shape))}):")
        at = [f"{names[k % len(names)]} % {extent}" for k, extent in enumerate(out.shape)]
        w.line(f"    {out.name}[{', '.join(at)}] += {array.name}[{loops}]")
