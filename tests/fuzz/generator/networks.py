"""Networks of processes: any graph, any rates, any depths, some that must get stuck."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

from .expressions import element_type, expression
from .program import Program
from .types import Ty
from .writer import Array, LoopVar, Scalar, Writer, annotation, argument_of


@dataclass(slots=True)
class Edge:
    """A FIFO: ``put`` and ``got`` are elements for each iteration of its two ends."""

    name: str
    source: int
    sink: int
    ty: Ty
    depth: int
    put: int
    got: int


@dataclass(slots=True)
class Process:
    number: int
    trips: int
    first: list[Edge] = field(default_factory=list)
    inputs: list[Edge] = field(default_factory=list)
    outputs: list[Edge] = field(default_factory=list)
    interleaved: bool = False


def network(w: Writer, seed: int) -> Program:
    """A region of two to six processes."""
    w.style.guards = 0.0
    count = w.pick((2, 2, 3, 3, 4, 5, 6))
    processes = [Process(k, w.pick((1, 2, 3, 4, 6, 8, 12))) for k in range(count)]
    edges = _edges(w, processes)
    for p in processes:
        p.interleaved = w.chance(0.3)
    stuck = _is_stuck(processes, edges)
    for _ in range(6):
        if not stuck or w.chance(0.1):
            break
        for edge in edges:
            edge.depth *= 2
        stuck = _is_stuck(processes, edges)
    w.use("deadlock" if stuck else "networks")
    arrays = [Array(f"A{k}", _type(w), (max(2, p.trips),)) for k, p in enumerate(processes)]
    outs = [Array(f"Z{k}", _type(w), (max(2, p.trips),)) for k, p in enumerate(processes)]
    used: list[Array] = []
    lines: list[str] = []
    for edge in edges:
        lines.append(f"    {edge.name}: Stream[{edge.ty.text}, {edge.depth}]")
    scalar = Scalar("n", _type(w)) if w.chance(0.2) else None
    for p in processes:
        body, given = _process(w, p, arrays[p.number], outs[p.number], scalar)
        used += given
        names = ", ".join(a.name for a in given)
        params = ", ".join(f"{a.name.lower()}: {annotation(a.ty, a.shape)}" for a in given)
        lines += [
            "",
            f"    @df.kernel(mapping=[1], args=[{names}])",
            f"    def p{p.number}({params}):",
        ]
        lines += body
    params = [*used, *([scalar] if scalar else [])]
    shown = ", ".join(
        f"{p.name}: {annotation(p.ty, p.shape if isinstance(p, Array) else None)}" for p in params
    )
    w.functions.append("\n".join(["@df.region()", f"def top({shown}):", *lines]))
    return Program(
        seed,
        w.module(),
        "top",
        [argument_of(p) for p in params],
        region=True,
        runs=2,
        deadlock=stuck,
    )


def _type(w: Writer) -> Ty:
    ty = element_type(w)
    while ty.bits > 64 and w.chance(0.7):
        ty = element_type(w)
    return ty


def _edges(w: Writer, processes: list[Process]) -> list[Edge]:
    edges: list[Edge] = []
    pairs = [(k - 1, k) for k in range(1, len(processes)) if w.chance(0.85)]
    pairs = pairs or [(0, 1)]
    for _ in range(w.pick((0, 0, 1, 1, 2))):
        a, b = sorted(w.rng.sample(range(len(processes)), 2))
        pairs.append((a, b))
    for a, b in pairs:
        if w.chance(0.06) and not any(e.source == b and e.sink == a for e in edges):
            w.use("feedback")
            a, b = b, a
        source, sink = processes[a], processes[b]
        common = source.trips * sink.trips // gcd(source.trips, sink.trips)
        total = common * w.pick((1, 1, 1, 2))
        if total > 24:
            continue
        edge = Edge(
            f"s{len(edges)}",
            a,
            b,
            _type(w),
            w.pick((1, 1, 2, 2, 3, 4, 8)),
            total // source.trips,
            total // sink.trips,
        )
        if edge.put != edge.got:
            w.use("two rates")
        edges.append(edge)
        source.outputs.append(edge)
        sink.inputs.append(edge)
    return edges


def _script(p: Process) -> list[tuple[str, Edge]]:
    """What a process does with its FIFOs, in order."""
    actions: list[tuple[str, Edge]] = []
    for _ in range(p.trips):
        gets = [("get", e) for e in p.inputs for _ in range(e.got)]
        puts = [("put", e) for e in p.outputs for _ in range(e.put)]
        actions += puts + gets if p.interleaved and not p.inputs else gets + puts
    return actions


def _is_stuck(processes: list[Process], edges: list[Edge]) -> bool:
    """Run the network on counts alone; with one end each, the order of processes does not matter."""
    scripts = [_script(p) for p in processes]
    at = [0] * len(scripts)
    fill = {edge.name: 0 for edge in edges}
    moved = True
    while moved:
        moved = False
        for k, script in enumerate(scripts):
            while at[k] < len(script):
                kind, edge = script[at[k]]
                if kind == "put" and fill[edge.name] < edge.depth:
                    fill[edge.name] += 1
                elif kind == "get" and fill[edge.name]:
                    fill[edge.name] -= 1
                else:
                    break
                at[k] += 1
                moved = True
    return any(at[k] < len(script) for k, script in enumerate(scripts))


def _process(
    w: Writer, p: Process, source: Array, out: Array, scalar: Scalar | None
) -> tuple[list[str], list[Array]]:
    """The body of a kernel, and the arrays of the region it uses."""
    reads = not p.inputs or w.chance(0.4)
    writes = not p.outputs or w.chance(0.4)
    given = [*([source] if reads else []), *([out] if writes else [])]
    with w.function() as lines:
        w.depth = 2
        if scalar is not None and w.chance(0.5):
            w.scope.scalars.append(scalar)
        if w.chance(0.3):
            ty = _type(w)
            w.line(f"acc{p.number}: {ty.text} = {w.rng.randint(0, 3)}")
            w.scope.scalars.append(Scalar(f"acc{p.number}", ty))
        name = f"t{p.number}"
        if p.trips == 1 and w.chance(0.3):
            _iteration(w, p, given, None)
        else:
            w.line(f"for {name} in range({p.trips}):")
            with w.block():
                w.scope.loops.append(LoopVar(name, 0, p.trips - 1))
                _iteration(w, p, given, name)
        return list(lines), given


def _iteration(w: Writer, p: Process, given: list[Array], trip: str | None) -> None:
    inputs = [Array(a.name.lower(), a.ty, a.shape) for a in given if a.name.startswith("A")]
    outs = [Array(a.name.lower(), a.ty, a.shape) for a in given if a.name.startswith("Z")]
    w.scope.arrays += inputs
    for edge in p.inputs:
        _gets(w, edge)
    for accumulator in [s for s in w.scope.scalars if s.name.startswith("acc")]:
        w.line(f"{accumulator.name} += {expression(w, 1).text}")
    for out in outs:
        w.line(f"{out.name}[{trip or 0}] = {expression(w, 1).text}")
    for edge in p.outputs:
        _puts(w, edge)


def _gets(w: Writer, edge: Edge) -> None:
    if edge.got <= 3 and w.chance(0.6):
        for _ in range(edge.got):
            name = w.fresh("v")
            w.line(f"{name}: {edge.ty.text} = {edge.name}.get()")
            w.scope.scalars.append(Scalar(name, edge.ty))
        return
    total = w.fresh("v")
    w.line(f"{total}: {edge.ty.text} = 0")
    w.line(f"for {w.fresh('r')} in range({edge.got}):")
    w.line(f"    {total} += {edge.name}.get()")
    w.scope.scalars.append(Scalar(total, edge.ty))


def _puts(w: Writer, edge: Edge) -> None:
    if edge.put <= 3 and w.chance(0.6):
        for _ in range(edge.put):
            _put(w, edge)
        return
    name = w.fresh("r")
    w.line(f"for {name} in range({edge.put}):")
    with w.block():
        w.scope.loops.append(LoopVar(name, 0, edge.put - 1))
        _put(w, edge)


def _put(w: Writer, edge: Edge) -> None:
    if w.converts:
        w.use("converted puts")
        w.line(f"{edge.name}.put({expression(w, 1).text})")
        return
    name = w.fresh("x")
    w.line(f"{name}: {edge.ty.text} = {expression(w, 1).text}")
    w.line(f"{edge.name}.put({name})")
