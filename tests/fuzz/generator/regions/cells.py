"""Networks of like cells: arrays of FIFOs, FIFOs of blocks, and loops and branches of compile time."""

from __future__ import annotations

from dataclasses import dataclass

from ..aimed.parts import element_type, expression
from ..program import Program
from ..types import Ty
from ..writer import Array, LoopVar, Scalar, Writer, annotation, argument_of


@dataclass(frozen=True, slots=True)
class Plan:
    """What passes through a row of cells.

    Attributes:
        cells: how many cells stand in the row.
        trips: words that pass.
        ty: the type of an element.
        block: the shape of a word; () for scalars.
    """

    cells: int
    trips: int
    ty: Ty
    block: tuple[int, ...]

    @property
    def word(self) -> str:
        """The type of a word as a kernel writes it."""
        return annotation(self.ty, self.block or None)


def cell_network(w: Writer, seed: int) -> Program:
    """A feeder, a row of cells, and a collector, joined by arrays of FIFOs."""
    w.style.guards, w.style.depth = 0.0, w.pick((1, 1, 2))
    w.style.math = w.style.power = False
    plan = Plan(
        w.pick((1, 2, 2, 3, 4)),
        w.rng.randint(2, 6),
        _type(w),
        w.pick(((), (), (2,), (3,), (4,), (2, 2), (2, 3))),
    )
    w.use("cells")
    if plan.block:
        w.use("blocks")
    source = Array("A", _type(w), (plan.trips * w.rng.randint(1, 2),))
    rows = Array("W", _type(w), (plan.cells, w.rng.randint(2, 5)))
    sums = Array("Y", plan.ty, (plan.cells,))
    out = Array("Z", plan.ty, (plan.trips,))
    with w.function() as lines:
        _region(w, plan, source, rows, sums, out)
        body = list(lines)
    params = [source, rows, sums, out]
    shown = ", ".join(f"{p.name}: {annotation(p.ty, p.shape)}" for p in params)
    w.functions.append("\n".join(["@df.region()", f"def top({shown}):", *body]))
    arguments = [argument_of(p) for p in params]
    return Program(seed, w.module(), "top", arguments, region=True, runs=2)


def _type(w: Writer) -> Ty:
    ty = element_type(w)
    while ty.bits > 64:
        ty = element_type(w)
    return ty


def _region(w: Writer, plan: Plan, source: Array, rows: Array, sums: Array, out: Array) -> None:
    w.line(f"along: Stream[{plan.word}, {w.pick((1, 2, 2, 4))}][{plan.cells + 1}]")
    w.line(f"totals: Stream[{plan.ty.text}, {w.pick((1, 2, 3))}][{plan.cells}]")
    _process(w, "feed", 1, source)
    with w.block():
        _feed(w, plan, source)
    _process(w, "cell", plan.cells, rows)
    with w.block():
        _cell(w, plan, rows)
    _process(w, "drain", 1, out)
    with w.block():
        _drain(w, plan, out)
    _process(w, "collect", 1, sums)
    with w.block():
        _collect(w, plan, sums)


def _process(w: Writer, name: str, count: int, array: Array) -> None:
    w.line("")
    w.line(f"@df.kernel(mapping=[{count}], args=[{array.name}])")
    w.line(f"def {name}({array.name.lower()}: {annotation(array.ty, array.shape)}):")


def _inside(w: Writer, *arrays: Array) -> None:
    """Only these arrays are in scope, under the names of a kernel's parameters."""
    w.scope.scalars, w.scope.loops, w.scope.records = [], [], []
    w.scope.arrays = [Array(a.name.lower(), a.ty, a.shape, writable=False) for a in arrays]


def _fill(w: Writer, plan: Plan, name: str) -> None:
    """A word of any value, in a variable of this name."""
    if not plan.block:
        w.line(f"{name}: {plan.ty.text} = {expression(w).text}")
        return
    w.line(f"{name}: {plan.word} = {w.rng.randint(0, 1)}")
    loops = [w.fresh("e") for _ in plan.block]
    if w.chance(0.3):
        w.use("meta_for")
        extents = ", ".join(f"allo.meta_for({extent})" for extent in plan.block)
        parts = extents.split(", ")
        joined = ", ".join(f"{p} as {v}" for p, v in zip(parts, loops, strict=True))
        w.line(f"with {joined}:")
    else:
        w.line(f"for {', '.join(loops)} in allo.grid({', '.join(map(str, plan.block))}):")
        w.scope.loops += [LoopVar(v, 0, e - 1) for v, e in zip(loops, plan.block, strict=True)]
    with w.block():
        w.line(f"{name}[{', '.join(loops)}] = {expression(w).text}")
    del w.scope.loops[len(w.scope.loops) - sum(v.name in loops for v in w.scope.loops) :]


def _feed(w: Writer, plan: Plan, source: Array) -> None:
    _inside(w, source)
    w.line(f"for t in range({plan.trips}):")
    with w.block():
        w.scope.loops.append(LoopVar("t", 0, plan.trips - 1))
        _fill(w, plan, "x")
        w.line("along[0].put(x)")


def _cell(w: Writer, plan: Plan, rows: Array) -> None:
    """Take a word, work with it, pass one on; hand a sum out at the end."""
    _inside(w)
    w.line("p = df.get_pid()")
    extent = rows.shape[1]
    w.line(f"total: {plan.ty.text} = {w.rng.randint(0, 2)}")
    w.line(f"for t in range({plan.trips}):")
    with w.block():
        w.scope.loops.append(LoopVar("t", 0, plan.trips - 1))
        w.line(f"x: {plan.word} = along[p].get()")
        at = w.fresh("m")
        w.line(f"{at}: {rows.ty.text} = w[p, t % {extent}]")
        w.scope.scalars += [Scalar(at, rows.ty), Scalar("total", plan.ty)]
        _absorb(w, plan)
        if plan.block:
            w.scope.arrays.append(Array("x", plan.ty, plan.block))
        else:
            w.scope.scalars.append(Scalar("x", plan.ty))
        _pass_on(w, plan)
    w.line("totals[p].put(total)")


def _absorb(w: Writer, plan: Plan) -> None:
    """Add what came to the sum."""
    if not plan.block:
        w.line("total += x")
        return
    names = [w.fresh("a") for _ in plan.block]
    w.line(f"for {', '.join(names)} in allo.grid({', '.join(map(str, plan.block))}):")
    w.line(f"    total += x[{', '.join(names)}]")


def _pass_on(w: Writer, plan: Plan) -> None:
    """Put a word to the next cell; what it is may depend on the place of the cell."""
    if w.chance(0.5):
        w.line(f"along[p + 1].put({_made(w, plan)})")
        return
    w.use("meta_if")
    w.line(f"with allo.meta_if(p {w.pick(('==', '<', '!='))} {w.rng.randrange(plan.cells)}):")
    with w.block():
        w.line(f"along[p + 1].put({_made(w, plan)})")
    if plan.cells > 2 and w.chance(0.4):
        w.line(f"with allo.meta_elif(p == {w.rng.randrange(plan.cells)}):")
        with w.block():
            w.line(f"along[p + 1].put({_made(w, plan)})")
    w.line("with allo.meta_else():")
    with w.block():
        w.line(f"along[p + 1].put({_made(w, plan)})")


def _made(w: Writer, plan: Plan) -> str:
    if w.chance(0.4):
        return "x"
    name = w.fresh("y")
    _fill(w, plan, name)
    return name


def _drain(w: Writer, plan: Plan, out: Array) -> None:
    w.line(f"for t in range({plan.trips}):")
    with w.block():
        w.line(f"x: {plan.word} = along[{plan.cells}].get()")
        at = ", ".join(str(w.rng.randrange(extent)) for extent in plan.block)
        w.line(f"z[t] = x[{at}]" if plan.block else "z[t] = x")
        if plan.block and w.chance(0.6):
            other = ", ".join(str(extent - 1) for extent in plan.block)
            w.line(f"z[t] += x[{other}]")


def _collect(w: Writer, plan: Plan, sums: Array) -> None:
    w.use("meta_for")
    w.line(f"with allo.meta_for({plan.cells}) as r:")
    w.line("    y[r] = totals[r].get()")
