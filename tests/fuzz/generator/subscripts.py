"""Subscripts that stay inside an array, in every form the language has."""

from __future__ import annotations

from .writer import Array, LoopVar, Scalar, Writer

DIVISIONS, WIDE_DIVISIONS = 0.4, 0.05
"""How often a remainder is tried: dividers are what takes longest to build."""


def subscript(w: Writer, extent: int) -> str:
    """An expression whose value lies in ``[0, extent)``, or a constant counted from the end."""
    affine = [v for v in w.scope.loops if v.affine or not w.style.affine_only]
    if affine and w.chance(0.75):
        return _of_iterators(w, affine, extent)
    if not w.style.affine_only and w.chance(w.style.runtime):
        made = _at_run_time(w, extent)
        if made:
            w.use("runtime subscripts")
            return made
    if affine and w.chance(0.5):
        return _of_iterators(w, affine, extent)
    value = w.rng.randrange(extent)
    return str(value - extent) if w.chance(0.1) else str(value)


def affine_subscript(w: Writer, extent: int) -> str:
    """A subscript of affine iterators and constants only."""
    saved, w.style.affine_only = w.style.affine_only, True
    try:
        return subscript(w, extent)
    finally:
        w.style.affine_only = saved


def element(w: Writer, array: Array) -> str:
    """An element of an array, ``A[i, j]`` or ``A[i][j]``."""
    parts = [subscript(w, extent) for extent in array.shape]
    if len(parts) > 1 and w.chance(0.15):
        return array.name + "".join(f"[{part}]" for part in parts)
    return f"{array.name}[{', '.join(parts)}]"


def _of_iterators(w: Writer, loops: list[LoopVar], extent: int) -> str:
    v = w.pick(loops)
    fits = [x for x in loops if x.low >= 0 and x.high < extent]
    choice = w.rng.random()
    if choice < 0.45 and fits:
        return w.pick(fits).name
    if choice < 0.62:
        made = _shifted(w, v, extent)
        if made:
            return made
    if choice < 0.70:
        made = _scaled(w, v, extent)
        if made:
            return made
    if choice < 0.78 and len(loops) > 1:
        other = w.pick([x for x in loops if x is not v])
        made = _sum(w, v, other, extent)
        if made:
            return made
    if choice < 0.86 and v.low >= 0:
        divisor = w.rng.randint(2, 4)
        if v.high // divisor < extent:
            return f"{v.name} // {divisor}"
    if v.low >= 0:
        factor, offset = w.pick((1, 1, 1, 2, 3)), w.rng.randint(0, 4)
        inner = v.name if factor == 1 else f"{v.name} * {factor}"
        text = f"({inner} + {offset})" if offset else f"({inner})" if factor > 1 else inner
        return f"{text} % {extent}"
    if fits:
        return w.pick(fits).name
    return str(w.rng.randrange(extent))


def _shifted(w: Writer, v: LoopVar, extent: int) -> str | None:
    """``i + c`` or ``c - i``, where the range fits."""
    if v.high - v.low >= extent:
        return None
    if w.chance(0.25):
        constant = w.rng.randint(v.high, v.low + extent - 1)
        return f"{constant} - {v.name}"
    offset = w.rng.randint(-v.low, extent - 1 - v.high)
    if offset == 0:
        return v.name
    return f"{v.name} {'+' if offset > 0 else '-'} {abs(offset)}"


def _scaled(w: Writer, v: LoopVar, extent: int) -> str | None:
    factor = w.pick((2, 2, 3))
    if v.low < 0 or v.high * factor >= extent:
        return None
    room = extent - 1 - v.high * factor
    offset = w.rng.randint(0, room)
    text = f"{v.name} * {factor}" if w.chance(0.6) else f"{factor} * {v.name}"
    return f"{text} + {offset}" if offset else text


def _sum(w: Writer, a: LoopVar, b: LoopVar, extent: int) -> str | None:
    if a.low + b.low >= 0 and a.high + b.high < extent:
        return f"{a.name} + {b.name}"
    if a.low - b.high >= 0 and a.high - b.low < extent:
        return f"{a.name} - {b.name}"
    if a.low >= 0 and b.low >= 0:
        return f"({a.name} + {b.name}) % {extent}"
    return None


def _at_run_time(w: Writer, extent: int) -> str | None:
    """From a variable or an element: a remainder, a mask, a slice of bits, a minimum, a guard."""
    integers = [s for s in w.scope.scalars if s.ty.is_integer and not s.constant]
    arrays = [a for a in w.scope.arrays if a.ty.is_integer and a.ty.bits > 1]
    if not integers and not arrays:
        return None
    if arrays and (not integers or w.chance(0.3)):
        array = w.pick(arrays)
        parts = [str(w.rng.randrange(n)) for n in array.shape]
        loops = [v for v in w.scope.loops if v.low >= 0 and v.high < array.shape[0]]
        if loops:
            parts[0] = w.pick(loops).name
        name, ty = f"{array.name}[{', '.join(parts)}]", array.ty
    else:
        scalar = w.pick(integers)
        name, ty = scalar.name, scalar.ty
    options = []
    if extent & (extent - 1) == 0:
        options.append(f"{name} & {extent - 1}")
        if ty.kind != "index" and (1 << ty.bits) > extent and extent > 1:
            options.append(f"{name}[0:{extent.bit_length() - 1}]")
    divides = w.chance(DIVISIONS if ty.bits <= 32 else WIDE_DIVISIONS)
    if ty.kind in ("uint", "index"):
        options.append(f"min({name}, {extent - 1})")
        if divides:
            options.append(f"{name} % {extent}")
    else:
        options.append(f"max(0, min({name}, {extent - 1}))")
        if divides:
            options.append(f"({name} % {extent} + {extent}) % {extent}")
            options.append(f"abs({name} % {extent})")
    if w.chance(w.style.guards):
        w.use("guards")
        options = [f"({name} if 0 <= {name} < {extent} else {w.rng.randrange(extent)})"]
    return w.pick(options)


def guarded_element(w: Writer, array: Array, scalar: Scalar) -> tuple[str, str]:
    """A condition and an element it guards, at a run-time subscript in the first dimension."""
    rest = [subscript(w, extent) for extent in array.shape[1:]]
    condition = w.pick(
        (
            f"0 <= {scalar.name} < {array.shape[0]}",
            f"{scalar.name} >= 0 and {scalar.name} < {array.shape[0]}",
        )
    )
    return condition, f"{array.name}[{', '.join([scalar.name, *rest])}]"
