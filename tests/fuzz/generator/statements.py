"""Random statements: declarations, assignments, branches, slices, bits, calls."""

from __future__ import annotations

from collections.abc import Callable

from . import loops
from .calls import call_text
from .expressions import Expr, condition, element_type, expression, literal
from .subscripts import affine_subscript, element, subscript
from .types import INDEX, Ty, result
from .writer import Array, Record, Scalar, Writer

MAX_WORK = 300
"""Iterations of one statement in one call, at most (about)."""


def statements(w: Writer, count: int) -> None:
    """Up to ``count`` statements, as the budget allows."""
    for _ in range(count):
        if w.budget <= 0:
            return
        w.budget -= 1
        statement(w)


def statement(w: Writer) -> None:
    """One statement."""
    options: list[tuple[int, Callable[[Writer], None]]] = [
        (3, declare_scalar),
        (2, assign),
        (5, store),
        (3, augment),
        (1, declare_array),
        (1, swap),
    ]
    if w.depth < 5 and w.budget > 0:
        options += [(3, branch)]
        if w.work < MAX_WORK // 4:
            options += [(5, loop), (1, while_loop)]
    if w.in_loop:
        options.append((1, leave))
    if w.result is not None and w.depth > 1:
        options.append((1, early_return))
    if any(len(a.shape) > 0 for a in w.scope.arrays):
        options += [(1, slice_store), (1, row_store)]
        if w.converts:
            options += [(3, several_targets)]
    options += [(1, bit_store)]
    if w.helpers:
        options.append((3, call))
    if w.scope.records:
        options.append((3, field_store))
    weights = [weight for weight, _ in options]
    w.rng.choices([make for _, make in options], weights)[0](w)


# --- variables ----------------------------------------------------------------


def declare_scalar(w: Writer) -> None:
    name = w.fresh("v")
    value = expression(w)
    if w.chance(0.2) and value.ty != INDEX and value.ty.bits <= 130:
        w.line(f"{name} = {value.text}")
        ty = value.ty
        if value.text.lstrip("-").replace(".", "").isdigit():
            return
    else:
        ty = element_type(w)
        w.line(f"{name}: {ty.text} = {value.text}")
    w.scope.scalars.append(Scalar(name, ty))


def declare_array(w: Writer) -> None:
    name, ty = w.fresh("L"), element_type(w)
    captured = [c.shape for c in w.constants if isinstance(c, Array)]
    shape = captured[0] if w.composes and captured and w.chance(0.5) else random_shape(w)
    w.line(f"{name}: {ty.text}[{', '.join(map(str, shape))}] = {initialiser(w, ty, shape)}")
    w.scope.arrays.append(Array(name, ty, shape))


def random_shape(w: Writer, most: int = 3) -> tuple[int, ...]:
    rank = w.pick([1, 1, 1, 2, 2, 3][: 2 * most])
    limit = (12, 6, 4)[rank - 1]
    return tuple(w.rng.randint(1 if w.chance(0.1) else 2, limit) for _ in range(rank))


def initialiser(w: Writer, ty: Ty, shape: tuple[int, ...]) -> str:
    """A fill, a nested list, a captured constant or another array of the same shape."""
    alike = [a for a in w.scope.arrays if a.shape == shape]
    if alike and w.chance(0.2):
        return w.pick(alike).name
    constants = [c for c in w.constants if isinstance(c, Array) and c.shape == shape]
    if constants and w.chance(0.5):
        w.use("captured arrays")
        return w.pick(constants).name
    if len(shape) == 1 and shape[0] <= 6 and w.chance(0.3) and not ty.is_fixed:
        return f"[{', '.join(_number(w, ty) for _ in range(shape[0]))}]"
    return expression(w, 1).text if w.chance(0.2) else _number(w, ty)


def _number(w: Writer, ty: Ty) -> str:
    if ty.is_float or ty.is_fixed:
        return w.pick(("0", "1", "0.5", "-1.25", "3"))
    high = min((1 << ty.bits) - 1, 100) if ty.kind == "uint" else min((1 << ty.bits - 1) - 1, 100)
    low = 0 if ty.kind == "uint" else max(-(1 << ty.bits - 1), -20)
    return str(w.rng.randint(low, high))


def target(w: Writer) -> tuple[str, Ty] | None:
    """A place to assign to."""
    arrays = [a for a in w.scope.arrays if a.writable]
    scalars = [s for s in w.scope.scalars if s.writable]
    if arrays and (not scalars or w.chance(0.65)):
        array = w.pick(arrays)
        return element(w, array), array.ty
    if scalars:
        scalar = w.pick(scalars)
        return scalar.name, scalar.ty
    return None


def assign(w: Writer) -> None:
    scalars = [s for s in w.scope.scalars if s.writable]
    if not scalars:
        return declare_scalar(w)
    w.line(f"{w.pick(scalars).name} = {expression(w).text}")
    return None


def store(w: Writer) -> None:
    arrays = [a for a in w.scope.arrays if a.writable]
    if not arrays:
        return declare_scalar(w)
    w.line(f"{element(w, w.pick(arrays))} = {expression(w).text}")
    return None


_AUGMENT = ("+", "+", "-", "*", "^", "&", "|", "<<", ">>", "//", "%")


def augment(w: Writer) -> None:
    place = target(w)
    if place is None:
        return declare_scalar(w)
    value = expression(w, 1)
    op = w.pick(_AUGMENT) if w.chance(0.7) else "+"
    if op in ("<<", ">>") and (place[1].is_float or not value.ty.is_integer):
        op = "+"
    floats = place[1].is_float or value.ty.is_float
    if op in ("//", "%") and (floats or not w.chance(0.3 if place[1].bits <= 33 else 0.05)):
        op = "-"
    ty = result(op, place[1], value.ty)
    if ty is None or ty.bits > 250:
        op, value = "+", Expr("1", INDEX, True)
    w.line(f"{place[0]} {op}= {value.text}")
    return None


def swap(w: Writer) -> None:
    a, b = target(w), target(w)
    if a is None or b is None or a[0] == b[0] or _base(a[0]) != _base(b[0]):
        return store(w)
    w.line(f"{a[0]}, {b[0]} = {b[0]}, {a[0]}")
    return None


def _base(place: str) -> str:
    return place.split("[")[0]


# --- control ------------------------------------------------------------------


def branch(w: Writer) -> None:
    w.line(f"if {condition(w)}:")
    _body(w, 2)
    if w.chance(0.2):
        w.line(f"elif {condition(w)}:")
        _body(w, 1)
    if w.chance(0.35):
        w.line("else:")
        _body(w, 2)


def _body(w: Writer, most: int) -> None:
    with w.block():
        statements(w, w.rng.randint(1, most))


def loop(w: Writer) -> None:
    """A ``for`` statement in one of its forms."""
    before = w.work
    made = loops.header(w, max(2, MAX_WORK // w.work))
    outer, w.in_loop = w.in_loop, True
    w.line(made.text)
    with w.block():
        w.work = before * max(1, made.trips)
        w.scope.loops += made.variables
        statements(w, w.rng.randint(1, 3))
        if w.budget <= 0 and len(w.lines) > 0 and w.lines[-1].endswith(":"):
            store(w)
    w.work, w.in_loop = before, outer


def while_loop(w: Writer) -> None:
    name, most = w.fresh("w"), w.rng.randint(1, 4)
    w.use("while")
    w.line(f"{name}: int32 = 0")
    test = f"{name} < {most}"
    if w.chance(0.5):
        test = f"{test} and ({condition(w, 0)})"
    before, outer = w.work, w.in_loop
    w.line(f"while {test}:")
    with w.block():
        w.line(f"{name} += 1")
        w.work, w.in_loop = before * most, True
        w.scope.scalars.append(Scalar(name, Ty("int", 32), writable=False))
        statements(w, w.rng.randint(1, 3))
    w.work, w.in_loop = before, outer


def leave(w: Writer) -> None:
    w.use("break and continue")
    w.line(f"if {condition(w)}:")
    with w.block():
        if w.chance(0.3):
            store(w)
        w.line(w.pick(("break", "continue")))


def early_return(w: Writer) -> None:
    w.use("early return")
    w.line(f"if {condition(w)}:")
    with w.block():
        w.line(f"return {expression(w, 1).text}")


# --- arrays, bits, records, calls ---------------------------------------------


def slice_store(w: Writer) -> None:
    """``A[1:5] = B[0:4]``, ``A[::2] = 3``, ``A[:, 1] = x``."""
    array = w.pick([a for a in w.scope.arrays if a.writable] or [None])  # type: ignore[list-item]
    if array is None:
        return declare_scalar(w)
    w.use("slices")
    axis = w.rng.randrange(len(array.shape))
    extent = array.shape[axis]
    length = w.rng.randint(1, extent)
    start = w.rng.randint(0, extent - length)
    parts = [subscript(w, n) for n in array.shape]
    step = 2 if length > 2 and w.chance(0.25) else 1
    parts[axis] = f"{start}:{start + length}" + (f":{step}" if step > 1 else "")
    count = -(-length // step)
    sources = [a for a in w.scope.arrays if len(a.shape) == 1 and a.shape[0] >= count]
    if sources and w.chance(0.6):
        source = w.pick(sources)
        at = w.rng.randint(0, source.shape[0] - count)
        value = f"{source.name}[{at}:{at + count}]"
        if w.chance(0.3):
            value = f"{value} + {literal(w).inner}"
    else:
        value = expression(w, 1).text
    w.line(f"{array.name}[{', '.join(parts)}] = {value}")
    return None


def row_store(w: Writer) -> None:
    """``A[i] = B[j]`` of arrays with two dimensions or more."""
    deep = [a for a in w.scope.arrays if len(a.shape) > 1]
    outs = [a for a in deep if a.writable]
    pairs = [(a, b) for a in outs for b in deep if a.shape[1:] == b.shape[1:]]
    if not pairs:
        return store(w)
    w.use("views")
    a, b = w.pick(pairs)
    w.line(
        f"{a.name}[{affine_subscript(w, a.shape[0])}] = {b.name}[{affine_subscript(w, b.shape[0])}]"
    )
    return None


def several_targets(w: Writer) -> None:
    """``A[:] = B[:] = C``, ``A[:], B[:] = B, A + A``, ``L1 = L2 = A``: computed once, before any store."""
    source = w.pick([a for a in w.scope.arrays if a.shape])
    alike = [a for a in w.scope.arrays if a.shape == source.shape]
    outs = [a for a in alike if a.writable]

    def value() -> str:
        a = w.pick(alike)
        return a.name if w.chance(0.6) or a.ty.bits > 100 else f"{a.name} + {a.name}"

    w.use("several targets")
    if not outs or w.chance(0.25):
        names = [w.fresh("L"), w.fresh("L")]
        w.line(f"{names[0]} = {names[1]} = {source.name}")
        w.scope.arrays += [Array(name, source.ty, source.shape) for name in names]
        return
    first, second = w.pick(outs), w.pick(outs)
    if w.chance(0.5):
        w.line(f"{first.name}[:] = {second.name}[:] = {value()}")
    else:
        w.line(f"{first.name}[:], {second.name}[:] = {value()}, {value()}")


def bit_store(w: Writer) -> None:
    places = [
        (s.name, s.ty) for s in w.scope.scalars if s.writable and s.ty.kind in ("int", "uint")
    ]
    for array in w.scope.arrays:
        if array.writable and array.ty.kind in ("int", "uint"):
            places.append((element(w, array), array.ty))
    places = [(name, ty) for name, ty in places if ty.bits > 1]
    if not places:
        return store(w)
    w.use("bit stores")
    name, ty = w.pick(places)
    if w.chance(0.4):
        w.line(f"{name}[{w.rng.randrange(ty.bits)}] = {condition(w, 0)}")
        return None
    low = w.rng.randrange(ty.bits)
    high = w.rng.randint(low + 1, ty.bits)
    value = expression(w, 1)
    if value.ty.is_float or value.ty.is_fixed:
        value = Expr(str(w.rng.randint(0, 9)), INDEX, True)
    w.line(f"{name}[{low}:{high}] = {value.text}")
    return None


def field_store(w: Writer) -> None:
    records = [r for r in w.scope.records if r.writable]
    if not records:
        return store(w)
    w.use("structs")
    record = w.pick(records)
    place = record.name
    if record.shape is not None:
        place += f"[{', '.join(subscript(w, n) for n in record.shape)}]"
    choice = w.rng.random()
    if choice < 0.6:
        name, _ = w.pick(record.fields)
        w.line(f'{place}["{name}"] = {expression(w).text}')
    elif choice < 0.8:
        w.line(f"{place} = {record_literal(w, record)}")
    else:
        alike = [r for r in w.scope.records if r.fields == record.fields]
        other = w.pick(alike)
        source = other.name
        if other.shape is not None:
            source += f"[{', '.join(subscript(w, n) for n in other.shape)}]"
        w.line(f"{place} = {source}")
    return None


def record_literal(w: Writer, record: Record) -> str:
    parts = [f'"{name}": {expression(w, 1).text}' for name, _ in record.fields]
    return "{" + ", ".join(parts) + "}"


def call(w: Writer) -> None:
    """A call of a helper with whole arrays, rows, parts or scalars."""
    helper = w.pick(w.helpers)
    text = call_text(w, helper, lambda: expression(w, 1).text)
    if text is None:
        return store(w)
    if helper.result is None:
        w.line(text)
    elif helper.shape is not None:
        _keep_array(w, helper.result, helper.shape, text)
    else:
        _keep_scalar(w, helper.result, text)
    return None


def _keep_scalar(w: Writer, ty: Ty, text: str) -> None:
    if w.chance(0.5):
        name = w.fresh("v")
        w.line(f"{name}: {ty.text} = {text}")
        w.scope.scalars.append(Scalar(name, ty))
        return
    place = target(w)
    w.line(text if place is None else f"{place[0]} = {text}")


def _keep_array(w: Writer, ty: Ty, shape: tuple[int, ...], text: str) -> None:
    """The array that a call returns: as a new one, or stored beside others of its shape."""
    w.use("arrays returned")
    alike = [a for a in w.scope.arrays if a.shape == shape]
    outs = [a.name for a in alike if a.writable]
    if not outs or w.chance(0.35):
        name = w.fresh("L")
        annotated = f": {ty.text}[{', '.join(map(str, shape))}]" if w.chance(0.6) else ""
        w.line(f"{name}{annotated} = {text}")
        w.scope.arrays.append(Array(name, ty, shape))
        return
    other = w.pick(alike)
    value = w.pick((text, f"{text} + {other.name}", f"{other.name} + {text}"))
    w.line(f"{w.pick(outs)}[:] = {value if other.ty.bits <= 100 and ty.bits <= 100 else text}")
