"""Units that work on one pair of operands for many cycles: rows of logic change a state until all is done.

A pulse says when operands come. Behind the registers of :attr:`Iteration.begin` the state is loaded. Then the
rows change its lowest bits in every cycle, as many rows as fit in one. After the cycles that the most rows
take, the state stands still until the next pulse, and what :attr:`Iteration.end` draws makes the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil

from ..netlist.modules import Module, unit_ports
from ..netlist.operations import Concat, Extract, Gate, Mux, Operation, Register
from .modules import inline_operations, staged
from .netlist import Netlist, Signal
from .pipeline import Pipeline, pipeline
from .request import SYNTHESIS, Request, drawn
from .spec import Operator, Resources
from .timing import critical_path, live_nodes, total_resources

MOST_ROWS = 8
"""Rows in a cycle at most."""
GO = "go"
"""The port of the pulse."""


@dataclass(frozen=True)
class Iteration:
    """A function as a state and its rows.

    Attributes:
        name: kind, for reports and the unit's module.
        begin: the state of the operands.
        several: what is to be the state's lowest ``moving`` bits after one row, or an even number.
        end: the result of a state.
        rows: how many there are at most; more change nothing.
    """

    name: str
    begin: Callable[..., Signal]
    several: Callable[..., Signal]
    end: Callable[[Signal], Signal]
    rows: int
    moving: int


def iterated(request: Request, made: Iteration) -> Operator:
    """The unit of an iteration."""
    device, clock = request.device, request.clock_mhz
    first = drawn(made.begin, request.widths)
    width = first.nodes[first.output].width
    step, rows = _step(request, made, width)
    last = drawn(made.end, (width,))
    begins, ends = (pipeline(net, device, clock) for net in (first, last))
    cycles = -(-made.rows // rows)
    latency = begins.latency + 1 + cycles + ends.latency
    name = f"{made.name}_l{latency}"
    cost = sum((total_resources(n, live_nodes(n)) for n in (first, step, last)), Resources())
    registers = begins.register_bits + ends.register_bits + width + begins.latency

    def module(style: str) -> Module:
        body, result = _body(made, (first, begins), step, (last, ends), width)
        inputs = [*first.inputs, (GO, 1)]
        return Module(name, unit_ports(inputs, last.nodes[last.output].width, result), body)

    return Operator(
        name=made.name,
        latency=latency,
        delay_ns=round(begins.first_ns, 3),
        slowest_ns=round(max(begins.slowest_ns, ends.slowest_ns, critical_path(step, device)), 3),
        resources=Resources(ceil(SYNTHESIS * cost.lut), ceil(SYNTHESIS * registers), cost.dsp),
        shareable=False,
        initiation_interval=cycles + 1,
        operand_widths=request.widths,
        result_width=last.nodes[last.output].width,
        module=name,
        unit_module=module,
    )


def _step(request: Request, made: Iteration, width: int) -> tuple[Netlist, int]:
    """The rows of one cycle, and how many there are."""
    room = request.budget_ns - request.device.source_ns
    found, count = drawn(partial(made.several, number=1), (width,)), 1
    for more in range(2, MOST_ROWS + 1, 2):
        net = drawn(partial(made.several, number=more), (width,))
        if critical_path(net, request.device) > room:
            break
        found, count = net, more
    return found, count


def _body(
    made: Iteration,
    first: tuple[Netlist, Pipeline],
    step: Netlist,
    last: tuple[Netlist, Pipeline],
    width: int,
) -> tuple[list[Operation], str]:
    moving, fixed = made.moving, width - made.moving
    body, begun = staged(*first, [f"%{name}" for name, _ in first[0].inputs], "b_")
    load = f"%{GO}"
    for number in range(first[1].latency):
        body.append(Register(f"%load{number}", load, 1, "%ce"))
        load = f"%load{number}"
    names = iter(range(1 << 30))
    rows, moved = inline_operations(step, ["%state"], lambda: f"%s{next(names)}")
    body += rows
    body += [
        Extract("%begun_low", begun, 0, moving, width),
        Extract("%begun_high", begun, moving, fixed, width),
        Mux("%next", (load, "%begun_low", moved), moving),
        Register("%low", "%next", moving, "%ce"),
        Gate("comb.and", "%keep", (load, "%ce"), 1),
        Register("%high", "%begun_high", fixed, "%keep"),
        Concat("%state", ("%high", "%low"), (fixed, moving)),
    ]
    ends, result = staged(*last, ["%state"], "e_")
    return [*body, *ends], result
