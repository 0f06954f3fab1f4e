"""Headers of loops: constant, triangular and run-time bounds, steps of both signs."""

from __future__ import annotations

from dataclasses import dataclass

from .writer import LoopVar, Writer

INDEX_BITS = 64


@dataclass(frozen=True, slots=True)
class Header:
    """The line of a loop, its iterators and how often it runs at most."""

    text: str
    variables: list[LoopVar]
    trips: int


def header(w: Writer, most: int) -> Header:
    """A loop that runs at most ``most`` times."""
    choice = w.rng.random()
    extent = max(1, min(most, 10))
    if choice < 0.22 and most >= 4:
        return _grid(w, most)
    if choice < 0.40:
        return _simple(w, extent)
    if choice < 0.55:
        return _downwards(w, extent)
    if choice < 0.72:
        made = _triangular(w, extent)
        if made:
            return made
    if choice < 0.85 and not w.style.affine_only:
        made = _at_run_time(w, extent)
        if made:
            return made
    return _stepped(w, extent)


def _options(w: Writer) -> str:
    choice = w.rng.random()
    if choice < 0.06:
        return ", pipeline=True"
    if choice < 0.10:
        return ", unroll=True"
    return ""


def _grid(w: Writer, most: int) -> Header:
    names, variables, trips = [], [], 1
    for _ in range(w.pick((1, 2, 2, 3))):
        room = min(6, most // trips)
        if room < 2:
            break
        extent = w.rng.randint(2, room)
        name = w.fresh(w.pick("ijk"))
        names.append((name, extent))
        variables.append(LoopVar(name, 0, extent - 1))
        trips *= extent
    what = "reduction" if w.chance(0.25) and w.style.floats == 0 else "grid"
    w.use(what)
    extents = ", ".join(str(extent) for _, extent in names)
    text = f"for {', '.join(n for n, _ in names)} in allo.{what}({extents}):"
    return Header(text, variables, trips)


def _simple(w: Writer, extent: int) -> Header:
    name = w.fresh(w.pick("ijk"))
    trips = w.rng.randint(1, extent)
    return Header(
        f"for {name} in range({trips}{_options(w)}):", [LoopVar(name, 0, trips - 1)], trips
    )


def _stepped(w: Writer, extent: int) -> Header:
    name = w.fresh(w.pick("ijk"))
    low, step = w.rng.randint(-2, 4), w.pick((1, 1, 2, 3))
    trips = w.rng.randint(0 if w.chance(0.1) else 1, extent)
    high = low + max(0, (trips - 1) * step + w.rng.randint(1, step)) if trips else low
    last = low + max(0, trips - 1) * step
    tail = f", {step}" if step > 1 else ""
    return Header(
        f"for {name} in range({low}, {high}{tail}{_options(w)}):",
        [LoopVar(name, low, last)],
        trips,
    )


def _downwards(w: Writer, extent: int) -> Header:
    w.use("negative steps")
    name = w.fresh(w.pick("ijk"))
    trips, step = w.rng.randint(1, extent), w.pick((1, 1, 2, 3))
    low = w.rng.randint(-1, 3)
    start = low + (trips - 1) * step
    stop = low - w.rng.randint(1, step)
    return Header(
        f"for {name} in range({start}, {stop}, -{step}{_options(w)}):",
        [LoopVar(name, low, start)],
        trips,
    )


def _triangular(w: Writer, extent: int) -> Header | None:
    outer = [v for v in w.scope.loops if v.low >= 0 and v.high < extent and v.affine]
    if not outer:
        return None
    w.use("triangular bounds")
    o, name = w.pick(outer), w.fresh(w.pick("ijk"))
    top = w.rng.randint(o.high + 1, max(extent, o.high + 1))
    choice = w.rng.randrange(6)
    if choice == 0:
        return Header(
            f"for {name} in range({o.name}):", [LoopVar(name, 0, max(0, o.high - 1))], o.high
        )
    if choice == 1:
        return Header(f"for {name} in range({o.name} + 1):", [LoopVar(name, 0, o.high)], o.high + 1)
    if choice == 2:
        variable = LoopVar(name, o.low, max(o.low, top - 1))
        return Header(f"for {name} in range({o.name}, {top}):", [variable], top - o.low)
    if choice == 3:
        variable = LoopVar(name, 0, o.high)
        return Header(f"for {name} in range({o.name}, -1, -1):", [variable], o.high + 1)
    if choice == 4:
        variable = LoopVar(name, o.low + 1, max(o.low + 1, top))
        text = f"for {name} in range({top}, {o.name}, -1):"
        return Header(text, [variable], top - o.low)
    variable = LoopVar(name, max(0, o.low - 1), min(top, o.high + 2) - 1)
    if variable.low > variable.high:
        return None
    text = f"for {name} in range(max(0, {o.name} - 1), min({top}, {o.name} + 2)):"
    return Header(text, [variable], 3)


def _at_run_time(w: Writer, extent: int) -> Header | None:
    integers = [s for s in w.scope.scalars if s.ty.is_integer]
    if not integers:
        return None
    w.use("runtime bounds")
    s, name = w.pick(integers), w.fresh(w.pick("ijk"))
    mask = 7 if extent >= 7 else 3 if extent >= 3 else 1
    if s.ty.kind == "uint" and w.chance(0.5):
        value = w.pick((f"{s.name} % {mask + 1}", f"min({s.name}, {mask})"))
    elif w.chance(0.25):
        value = f"min({s.name}, {mask})"
        if s.ty.kind == "int" and s.ty.bits > INDEX_BITS:  # a bound of its low bits may be any
            value = f"max(0, {value})"
    else:
        value = f"{s.name} & {mask}"
    choice = w.rng.randrange(5)
    if choice == 0:
        return Header(f"for {name} in range({value}):", [_run_time(name, 0, mask - 1)], mask)
    if choice == 1 and (" & " in value or "%" in value):
        variable = _run_time(name, 0, mask)
        return Header(f"for {name} in range({value}, {mask + 1}):", [variable], mask + 1)
    if choice == 2 and " & " in value:
        variable = _run_time(name, 0, mask)
        return Header(f"for {name} in range({value}, {mask + 1}, 2):", [variable], mask + 1)
    if choice == 3 and s.ty.kind == "uint":
        text = f"for {name} in range(0, {value}, 2):"
        return Header(text, [_run_time(name, 0, mask - 1)], mask)
    return Header(f"for {name} in range(1, 1 + ({value})):", [_run_time(name, 1, mask)], mask)


def _run_time(name: str, low: int, high: int) -> LoopVar:
    return LoopVar(name, low, max(low, high), affine=False)
