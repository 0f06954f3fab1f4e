"""When the operations of a loop run: rows are iterations, columns clock cycles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import allo
from allo.backend.devices import DEFAULT_DEVICE
from allo.backend.rtl.compile import NO_LIMITS, compile_module
from allo.backend.rtl.graph.nodes import Node
from allo.backend.rtl.graph.prune import regions_of
from allo.backend.rtl.graph.regions import Leaf
from allo.backend.rtl.plan.exact.search import QUICK
from allo.customize import Schedule
from allo.dialects.core.parse import parse_module
from allo.dialects.passes.run_time_checks import NO_CHECKS
from allo.ir.types import float32

from .svg import COLOURS, box, line, page, words

N = 64
CELL, ROW, LEFT, HEAD = 20, 20, 92, 40
OPERATIONS = {"arith.mulf": "multiply", "arith.addf": "add"}


@dataclass(frozen=True)
class Part:
    """An operation of an iteration: from which cycle of it, and for how many."""

    name: str
    start: int
    cycles: int


@dataclass(frozen=True)
class Plan:
    """A loop as the compiler scheduled it, and the cycles that a simulation of the whole counts."""

    title: str
    parts: tuple[Part, ...]
    interval: int
    cycles: int


def axpy(a: float32, x: float32[N], y: float32[N]):
    for i in range(N):
        y[i] = a * x[i] + y[i]


def total(x: float32[N]) -> float32:
    t: float32 = 0
    for i in range(N):
        t += x[i]
    return t


def pipelined() -> str:
    """A loop without a mark and with ``pipeline``."""
    x, y = np.arange(2 * N, dtype=np.float32).reshape(2, N)

    def pipeline(s: Schedule) -> None:
        s.pipeline("i")

    plans = [
        plan_of("as written", axpy, lambda s: None, 2.0, x, y),
        plan_of('s.pipeline("i")', axpy, pipeline, 2.0, x, y),
    ]
    return _draw("y[i] = a * x[i] + y[i], one iteration and many at once", plans, 28, (3, 8))


def recurrence() -> str:
    """A sum, which waits for itself, and the same in partial sums."""
    x = np.arange(N, dtype=np.float32)

    def pipeline(s: Schedule) -> None:
        s.pipeline("i")

    def interleave(s: Schedule) -> None:
        s.pipeline("i")
        s.interleave("i", 8)

    plans = [
        plan_of('s.pipeline("i"): an addition waits for the one before', total, pipeline, x),
        plan_of('s.interleave("i", 8): eight partial sums take turns', total, interleave, x),
    ]
    return _draw("t += x[i], whose additions wait for each other", plans, 28, (6, 8))


def plan_of(
    title: str,
    kernel: Callable[..., object],
    change: Callable[[Schedule], None],
    *arguments: object,
) -> Plan:
    """The schedule of the longest loop of a kernel; a run of it takes the predicted cycles."""
    s = allo.customize(kernel)
    change(s)
    module = s.build(target="verilog", simulator="jit")
    module(*arguments)
    if module.cycles != module.report.cycles:
        raise ValueError(f"{title} takes {module.cycles} cycles, not {module.report.cycles}.")
    compiler, made, _ = compile_module(
        parse_module(str(s.module)),
        s.top_func_name,
        checks=NO_CHECKS,
        overlap_loops=True,
        limits=NO_LIMITS,
        subnormals="keep",
        effort=QUICK,
        clock_mhz=200.0,
        device=DEFAULT_DEVICE,
        external=(),
    )
    loops = [
        r for r in regions_of(compiler.modules[made.module].function.root) if isinstance(r, Leaf)
    ]
    loop = max(loops, key=lambda leaf: leaf.levels[0].trips or 0)
    parts = tuple(_part(node) for node in loop.body.nodes if _lasts(node))
    return Plan(title, parts, loop.body.ii, module.cycles)


def _lasts(node: Node) -> bool:
    """Whether a node is worth a box: an access of an array, or a unit with a latency."""
    if node.access is not None:
        return node.access.array.storage != "reg" or node.kind == "store"
    return node.kind == "op" and node.latency > 0


def _part(node: Node) -> Part:
    if node.access is not None:
        name = node.access.array.name
        return Part(f"{node.kind} {name}", node.time, max(node.latency, 1))
    return Part(OPERATIONS[node.op], node.time, node.latency)


def _draw(title: str, plans: list[Plan], cycles: int, rows: tuple[int, int]) -> str:
    colour = {p.name: COLOURS[n % len(COLOURS)] for n, p in enumerate(_named(plans))}
    parts: list[str] = []
    top = 8
    for plan, iterations in zip(plans, rows, strict=True):
        parts += _panel(plan, colour, top, cycles, iterations)
        top += HEAD + iterations * ROW + 14
    x = LEFT
    for name, fill in colour.items():
        parts += [box(x, top, 14, 12, fill), words(x + 19, top + 10, name)]
        x += 40 + 7 * len(name)
    return page(LEFT + cycles * CELL + 8, top + 22, parts, title)


def _named(plans: list[Plan]) -> list[Part]:
    found = {part.name: part for plan in plans for part in plan.parts}
    return list(found.values())


def _panel(plan: Plan, colour: dict[str, str], top: int, cycles: int, rows: int) -> list[str]:
    said = f"{plan.title}; II={plan.interval}, {N} iterations in {plan.cycles} cycles"
    parts = [words(4, top + 11, said, style=' font-weight="bold"')]
    for cycle in range(cycles + 1):
        x = LEFT + cycle * CELL
        parts.append(line(x, top + HEAD - 4, x, top + HEAD + rows * ROW))
        if cycle < cycles:
            parts.append(words(x + CELL / 2, top + HEAD - 8, str(cycle), anchor="middle"))
    parts.append(words(LEFT - 6, top + HEAD - 8, "cycle", anchor="end"))
    for row in range(rows):
        y = top + HEAD + row * ROW
        parts.append(words(LEFT - 6, y + 14, f"iteration {row}", anchor="end"))
        lanes: list[int] = []
        for part in plan.parts:
            start = row * plan.interval + part.start
            if start + part.cycles > cycles:
                continue
            fill = colour[part.name]
            together = sum(begun == start for begun in lanes)
            lanes.append(start)
            high = 14 if not together else 6
            parts.append(box(LEFT + start * CELL + 1, y + 3, part.cycles * CELL - 2, high, fill))
    return parts
