"""Networks whose processes ask FIFOs without waiting, and whose results do not depend on what they find.

A producer tries until there is room, or tries once and then waits. A collector takes from each FIFO whatever
is there, and keeps the words of each producer apart, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..aimed.parts import element_type, expression
from ..program import Program
from ..writer import Array, LoopVar, Writer, annotation, argument_of


@dataclass(frozen=True, slots=True)
class Lane:
    """A producer with its FIFO, the array it reads and the one its words end in."""

    number: int
    trips: int
    source: Array
    out: Array

    @property
    def fifo(self) -> str:
        return f"s{self.number}"


def try_network(w: Writer, seed: int) -> Program:
    """One to three producers and a collector."""
    w.style.guards, w.style.depth = 0.0, 1
    w.style.math = w.style.power = False
    lanes = [_lane(w, number) for number in range(w.pick((1, 2, 2, 3)))]
    with w.function() as lines:
        for lane in lanes:
            w.line(f"{lane.fifo}: Stream[{lane.out.ty.text}, {w.pick((1, 1, 2, 3, 8))}]")
        for lane in lanes:
            _producer(w, lane)
        _process(w, "collect", [lane.out for lane in lanes])
        with w.block():
            if w.chance(0.75):
                _merge(w, lanes)
            else:
                _spin(w, lanes)
        body = list(lines)
    params = [*(lane.source for lane in lanes), *(lane.out for lane in lanes)]
    shown = ", ".join(f"{p.name}: {annotation(p.ty, p.shape)}" for p in params)
    w.functions.append("\n".join(["@df.region()", f"def top({shown}):", *body]))
    arguments = [argument_of(p) for p in params]
    return Program(seed, w.module(), "top", arguments, region=True, runs=2)


def _lane(w: Writer, number: int) -> Lane:
    trips = w.rng.randint(1, 8)
    return Lane(number, trips, _array(w, f"A{number}", trips), _array(w, f"Z{number}", trips))


def _array(w: Writer, name: str, trips: int) -> Array:
    ty = element_type(w)
    while ty.bits > 64:
        ty = element_type(w)
    return Array(name, ty, (trips,))


def _process(w: Writer, name: str, arrays: list[Array]) -> None:
    given = ", ".join(a.name for a in arrays)
    params = ", ".join(f"{a.name.lower()}: {annotation(a.ty, a.shape)}" for a in arrays)
    w.line(f"@df.kernel(mapping=[1], args=[{given}])")
    w.line(f"def {name}({params}):")


def _producer(w: Writer, lane: Lane) -> None:
    _process(w, f"p{lane.number}", [lane.source])
    with w.block():
        w.line(f"for t in range({lane.trips}):")
        with w.block():
            w.scope.arrays.append(Array(lane.source.name.lower(), lane.source.ty, (lane.trips,)))
            w.scope.loops.append(LoopVar("t", 0, lane.trips - 1))
            w.line(f"x: {lane.out.ty.text} = {expression(w, 1).text}")
            for line in w.pick(_PUTS):
                w.line(line.format(s=lane.fifo))


_PUTS = (
    ("{s}.put(x)",),
    ("ok = {s}.try_put(x)", "while not ok:", "    ok = {s}.try_put(x)"),
    ("ok = {s}.try_put(x)", "if not ok:", "    {s}.put(x)"),
    ("tries: int32 = 0", "while {s}.full():", "    tries += 1", "{s}.put(x)"),
)
_GETS = (
    ("v{k}, ok{k} = {s}.try_get()", "if ok{k}:", "    {z}[n{k}] = v{k}"),
    ("if not {s}.empty():", "    {z}[n{k}] = {s}.get()"),
)


def _merge(w: Writer, lanes: list[Lane]) -> None:
    """Whatever comes next, until every producer's last word is there."""
    w.line("taken: int32 = 0")
    for lane in lanes:
        w.line(f"n{lane.number}: int32 = 0")
    w.line(f"while taken < {sum(lane.trips for lane in lanes)}:")
    with w.block():
        for lane in lanes:
            for line in w.pick(_GETS):
                w.line(line.format(s=lane.fifo, k=lane.number, z=lane.out.name.lower()))
            w.line(f"    n{lane.number} += 1")
            w.line("    taken += 1")


def _spin(w: Writer, lanes: list[Lane]) -> None:
    """One producer after the other, each word tried until it is there."""
    for lane in lanes:
        w.line(f"for t{lane.number} in range({lane.trips}):")
        with w.block():
            k = lane.number
            w.line(f"v{k}, ok{k} = {lane.fifo}.try_get()")
            w.line(f"while not ok{k}:")
            w.line(f"    v{k}, ok{k} = {lane.fifo}.try_get()")
            w.line(f"{lane.out.name.lower()}[t{k}] = v{k}")
