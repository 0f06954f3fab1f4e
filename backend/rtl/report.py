"""The compiler's figures: loops, memories, operators, useful float operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from allo.dialects.reports.figures import (
    DesignReport,
    FunctionReport,
    LoopReport,
    MemoryReport,
    place_text,
)
from allo.dialects.reports.network import Fifo, Network, process_names

from .compiled import CompiledModule
from .graph.nodes import Lin, Node
from .graph.prune import regions_of
from .graph.regions import Block, Call, Function, If, Leaf, Level, Loop, Region, Seq, While
from .netlist.instance_counts import instance_counts
from .netlist.operations import section_of
from .plan.bind import Binding, Interface
from .plan.cycles import iterations, leaf_cycles, leaf_trips, region_cycles
from .plan.explain import short
from .plan.limits import limit
from .waiting import ModuleWaits

CalleeCycles = Callable[[str], int | None]
FLOAT_UNITS = ("fadd", "fsub", "fmul", "fdiv", "fsqrt", "ffma", "addf", "subf", "mulf", "divf")
COUNT_LIMIT = 1 << 22


def function_report(function: Function, binding: Binding, cycles: CalleeCycles) -> FunctionReport:
    """The report of one function."""
    report = FunctionReport(function.name, place_text(function.place), function.cycles)
    report.loops = _loops(function.root, cycles, [])
    report.memories = _memories(function, binding)
    report.operators = {op.name: count for op, count in binding.units.values()}
    for region in regions_of(function.root):
        if isinstance(region, Call):
            report.instances[region.callee] = 1
    _calls(function.root, [], report.calls)
    return report


def _calls(region: Region, around: list[Level], found: dict[str, int | None]) -> None:
    """How often each callee is called; None where data decide it."""
    match region:
        case Seq():
            for child in region.children:
                _calls(child, around, found)
        case If():
            _calls(region.then, around, found)
            _calls(region.other, around, found)
        case Loop():
            _calls(region.child, [*around, region.level], found)
        case While():
            for inner in regions_of(region):
                if isinstance(inner, Call):
                    found[inner.callee] = None
        case Call():
            before, more = found.get(region.callee, 0), iterations(around)
            found[region.callee] = None if before is None or more is None else before + more


def network_report(waits: ModuleWaits) -> Network | None:
    """The processes of a region and the FIFOs between them; None where it has none."""
    if not waits.fifos:
        return None
    names = process_names([member.name for member in waits.members])
    named = {member.label: name for member, name in zip(waits.members, names, strict=True)}
    fifos = (
        Fifo(f.name, f.dtype, f.depth, named.get(f.producer), named.get(f.consumer))
        for f in waits.fifos.values()
    )
    return Network(tuple(names), tuple(fifos), tuple(member.name for member in waits.members))


def _loops(region: Region, cycles: CalleeCycles, around: list[Level]) -> list[LoopReport]:
    match region:
        case Seq():
            return [r for child in region.children for r in _loops(child, cycles, around)]
        case If():
            return _loops(region.then, cycles, around) + _loops(region.other, cycles, around)
        case Loop():
            return [_outer(region, cycles, around)]
        case While():
            inner = _loops(region.test, cycles, around) + _loops(region.child, cycles, around)
            place = place_text(region.place)
            report = LoopReport("while", place, None, 1, 1, None, False, children=inner)
            if region.held is not None:
                what, where = region.held
                report.limit = limit(f"holds {what}", place=short(where))
            return [report]
        case Leaf():
            return [_leaf(region, around)]
    return []


def _outer(loop: Loop, cycles: CalleeCycles, around: list[Level]) -> LoopReport:
    level = loop.level
    child = region_cycles(loop.child, cycles)
    return LoopReport(
        name=_name(loop.band, [level]),
        place=place_text(level.place),
        trips=None if loop.guard is not None else level.trips,
        ii=child or 0,
        depth=child or 0,
        cycles=region_cycles(loop, cycles),
        pipelined=False,
        limit=_held_by(loop),
        children=_loops(loop.child, cycles, [*around, level]),
    )


def _held_by(loop: Loop) -> str:
    """Why the iterations of a loop never overlap, where a while loop or a call is the reason."""
    for region in regions_of(loop.child):
        if isinstance(region, While) or (isinstance(region, Leaf) and not region.levels):
            return limit("holds a while loop", place=short(region.place))
        if isinstance(region, Call):
            return limit("holds a call", place=short(region.place))
    return ""


def _leaf(leaf: Leaf, around: list[Level]) -> LoopReport:
    name = _name(leaf.band, leaf.levels) if leaf.levels else f"{leaf.band}.while"
    return LoopReport(
        name=name,
        place=place_text(leaf.place),
        trips=leaf_trips(leaf),
        ii=leaf.body.ii,
        depth=leaf.body.depth,
        cycles=leaf_cycles(leaf),
        pipelined=leaf.body.overlaps,
        limit=leaf.limit,
        section=section_of(leaf.body.number),
        streams=sorted({n.stream.name for n in leaf.body.nodes if n.stream is not None}),
        operations=_work(leaf, around),
    )


def _name(band: str, levels: list[Level]) -> str:
    joined = "*".join(level.name for level in levels)
    return joined if joined == band else f"{band}.{joined}"


def _memories(function: Function, binding: Binding) -> list[MemoryReport]:
    rows = []
    for array in function.arrays:
        if not (array.loaded or array.stored):
            continue
        ports = {port for _, port in binding.ports[array.number]}
        storage = {"reg": "registers", "ram": "RAM", "rom": "ROM", "port": "argument"}
        rows.append(
            MemoryReport(
                array.name,
                place_text(array.place),
                array.banks,
                array.depth,
                array.width,
                len(ports),
                "ROM" if array.constant else storage[array.storage],
            )
        )
    return rows


# --- useful float operations ----------------------------------------------------------


def float_operations(function: Function, callees: dict[str, Interface]) -> int | None:
    """Float operations one run executes; None where that depends on data."""
    return _count(function.root, [], callees)


def _count(region: Region, around: list[Level], callees: dict[str, Interface]) -> int | None:
    match region:
        case Seq():
            return _total([_count(c, around, callees) for c in region.children])
        case Block():
            return _count_nodes(region.body.nodes, around)
        case Leaf():
            if region.exit is not None:
                return None if any(n.float_op for n in region.body.nodes) else 0
            return _count_nodes(region.body.nodes, [*around, *region.levels])
        case Loop():
            return _count(region.child, [*around, region.level], callees)
        case If() | While():
            children = (
                (region.then, region.other)
                if isinstance(region, If)
                else (region.test, region.child)
            )
            inner = _total([_count(c, around, callees) for c in children])
            return 0 if inner == 0 else None
        case Call():
            inner = callees[region.callee].float_ops
            trips = iterations(around)
            if inner == 0:
                return 0
            return None if inner is None or trips is None else inner * trips
    return 0


def _total(parts: list[int | None]) -> int | None:
    return None if None in parts else sum(p for p in parts if p is not None)


def _work(leaf: Leaf, around: list[Level]) -> int | None:
    """Float operations of a pipeline in all of its entries, or products of integers where it has none."""
    nodes = _operations(leaf.body.nodes)
    counted = [n for n in nodes if n.float_op] or [n for n in nodes if n.op == "arith.muli"]
    if leaf.exit is not None:
        return None if counted else 0
    return _executions(counted, [*around, *leaf.levels])


def _count_nodes(nodes: list[Node], levels: list[Level]) -> int | None:
    return _executions([n for n in _operations(nodes) if n.float_op], levels)


def _operations(nodes: list[Node]) -> list[Node]:
    """The nodes, and those that are computed by a unit of another one."""
    return [n for node in nodes for n in (node, *node.joined)]


def _executions(counted: list[Node], levels: list[Level]) -> int | None:
    """How often nodes of one body are executed, all together."""
    if not counted:
        return 0
    total = iterations(levels)
    if total is None:
        return None
    count = 0
    seen: dict[tuple[Any, ...], int | None] = {}
    for node in counted:
        if node.guard not in seen:
            seen[node.guard] = _guarded_trips(node.guard, levels, total)
        part = seen[node.guard]
        if part is None:
            return None
        count += part
    return count


def _guarded_trips(guard: tuple[Any, ...], levels: list[Level], total: int) -> int | None:
    """Iterations of a nest in which a guard of affine conditions holds."""
    if not guard:
        return total
    used = _symbols(guard)
    if used is None:
        return None
    inside = [level for level in levels if level.iv.number in used]
    if len(inside) != len(used) or any(level.trips is None for level in levels):
        return None
    size = iterations(inside) or 1
    if size > COUNT_LIMIT:
        return None
    grid = np.meshgrid(*(np.arange(level.trips or 1) for level in inside), indexing="ij")
    values = {level.iv.number: g for level, g in zip(inside, grid, strict=True)}
    holds = np.ones([level.trips or 1 for level in inside], dtype=bool)
    for condition in guard:
        holds &= _holds(condition, values)
    return int(np.count_nonzero(holds)) * (total // size)


def _symbols(guard: tuple[Any, ...]) -> set[int] | None:
    found: set[int] = set()
    for condition in guard:
        kind, data = condition
        if kind == "data":
            return None
        tests = data[1] if kind == "not" else data
        if kind == "not" and data[0] == "data":
            return None
        for _, lin in tests:
            found |= {node.number for node, _ in lin.terms}
    return found


def _holds(condition: tuple[str, Any], values: dict[int, Any]) -> Any:
    kind, data = condition
    if kind == "not":
        return ~_holds(data, values)
    result: Any = True
    for relation, lin in data:
        value = _evaluate(lin, values)
        result = result & (value == 0 if relation == "eq" else value >= 0)
    return result


def _evaluate(lin: Lin, values: dict[int, Any]) -> Any:
    total: Any = lin.const
    for node, factor in lin.terms:
        total = total + factor * values[node.number]
    return total


# --- the design -------------------------------------------------------------------------


def design_report(
    modules: dict[str, CompiledModule],
    top: Interface,
    name: str,
    target: str,
    clock_mhz: float,
    device: str,
) -> DesignReport:
    """The report of a whole design."""
    report = DesignReport("allo rtl", target, name, clock_mhz, top.cycles, device=device)
    counts = instance_counts(modules, top.module)
    report.functions = [m.report for name, m in modules.items() if counts[name]]
    report.float_ops = top.float_ops
    report.about = top.estimate
    if top.cycles is None and top.estimate is not None:
        report.notes.append(f"About {top.estimate} cycles where nothing waits.")
    for module_name, module in modules.items():
        instances = counts[module_name]
        if not instances:
            continue
        for operator, number in module.binding.units.values():
            if operator.shareable and not module.owns_units:
                continue
            if operator.name.startswith(FLOAT_UNITS):
                report.float_units += number * instances
        report.notes += module.function.notes
    return report
