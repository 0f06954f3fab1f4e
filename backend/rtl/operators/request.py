"""What a family of operators is asked, and how it answers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

from allo.backend.devices import OperatorDelays
from allo.dialects.diagnostics import UnsupportedOpError

from ..netlist.modules import Module
from .modules import inline_operations, pipelined_module
from .netlist import Netlist, Signal
from .pipeline import Pipeline, behind_registers, pipeline, stages
from .spec import Operator, Resources
from .tables.words import Mapper, latest
from .timing import critical_path, live_nodes, total_resources

SYNTHESIS = 0.82
"""Lookup tables and flip-flops that synthesis leaves of those drawn in a unit, as measured."""
MOST_PACKED_BITS = 1 << 16
"""Bits of a drawing that is timed as tables: the time that takes grows with more than their square."""
_INTEGER = re.compile(r"i([1-9][0-9]*)")


@dataclass(frozen=True)
class Request:
    """One operation of the core IR for which an operator is wanted.

    Attributes:
        op: MLIR operation name.
        operand_types, result_type: MLIR types as text.
        attributes: ``predicate`` of comparisons (name or number); ``constants``, a tuple with the
            integer of each constant operand and None for the others, lets shifts, products and
            quotients by constants be cheap; ``extended`` does so for products of narrow numbers;
            ``impl`` is what it is made of, ``"dsp"`` or ``"fabric"``.
        device, clock_mhz: what to build for.
        flush: whether subnormal floats count as zero.
    """

    op: str
    operand_types: tuple[str, ...]
    result_type: str
    attributes: dict[str, Any]
    device: OperatorDelays
    clock_mhz: float
    flush: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of each operand."""
        return tuple(bit_width(kind) for kind in self.operand_types)

    @property
    def result_width(self) -> int:
        """Bits of the result."""
        return bit_width(self.result_type)

    @property
    def budget_ns(self) -> float:
        """Logic that fits between two registers."""
        return self.device.budget_ns(self.clock_mhz)

    def predicate(self, names: tuple[str, ...]) -> str:
        """The predicate asked for, given by name or by its number in ``names``.

        Raises:
            UnsupportedOpError: when there is none of that name or number.
        """
        given = self.attributes.get("predicate")
        if isinstance(given, int) and 0 <= given < len(names):
            return names[given]
        if given in names:
            return str(given)
        raise UnsupportedOpError(
            f"{self.op} has no predicate {given!r}.",
            help=f'attributes={{"predicate": …}} takes one of {", ".join(names)}, or its number.',
        )

    @property
    def impl(self) -> str:
        """What it is asked to be made of: ``"dsp"``, ``"fabric"``, or ``""`` for the family to choose."""
        return str(self.attributes.get("impl", ""))

    @property
    def registered(self) -> bool:
        """Whether its operands go to registers first, since many operations take turns at it."""
        return bool(self.attributes.get("registered"))

    def constant(self, position: int) -> int | None:
        """The value of a constant operand, or None."""
        constants = self.attributes.get("constants") or ()
        return constants[position] if position < len(constants) else None


Builder = Callable[[Request], "Operator | None"]
"""Answers a request, or None when the types are not its own."""

INPUT_NAMES = "abcdefgh"


@dataclass(frozen=True)
class Drawing:
    """An operator as a netlist, before it is known whether it needs registers.

    Attributes:
        name: kind, for reports and the unit's module.
        draw: makes the output from the inputs.
        native: replaces the netlist for the in-process simulator: ``native(module, latency)``.
        shareable: None shares what has a latency.
        pace: a drawing of as many inputs; the unit has at least as many stages as this one would.
        quick: the same function with fewer levels of logic. It takes the place of ``draw`` where that
            has more stages or needs its operands earlier, and is its pace elsewhere.
        spread: share its logic out among all stages that the pace gives it.
        tables: time its logic as the lookup tables that it becomes.
    """

    name: str
    draw: Callable[..., Signal]
    native: Callable[[str, int], Module] | None = None
    shareable: bool | None = None
    pace: Callable[..., Signal] | None = None
    quick: Callable[..., Signal] | None = None
    spread: bool = False
    tables: bool = False


def bit_width(kind: str) -> int:
    """Bits of a scalar MLIR type; ``index`` alone is 64 bits in hardware."""
    if kind == "index":
        return 64
    if match := _INTEGER.fullmatch(kind):
        return int(match[1])
    from allo.backend.rtl.float.formats import FORMATS

    if kind in FORMATS:
        return FORMATS[kind].width
    raise KeyError(kind)


def is_integer(kind: str) -> bool:
    """Whether a type is an integer or ``index``."""
    return kind == "index" or _INTEGER.fullmatch(kind) is not None


def combinational(request: Request, drawing: Drawing) -> Operator:
    """The drawing emitted in place, whatever its delay."""
    return _combinational(request, drawing, draw_netlist(drawing, request.widths))


def fitted(request: Request, drawing: Drawing) -> Operator:
    """The drawing in place where it fits in a clock period, else as a pipelined unit.

    One for a loop that waits for it has the whole period.
    """
    net = draw_netlist(drawing, request.widths)
    source_ns = 0.0 if request.impl == "fast" else request.device.source_ns
    if _path(request, drawing, net) <= request.budget_ns - source_ns:
        return _combinational(request, drawing, net)
    return _unit(request, drawing, net)


def unit(request: Request, drawing: Drawing) -> Operator:
    """The drawing as a pipelined unit."""
    return _unit(request, drawing, draw_netlist(drawing, request.widths))


def draw_netlist(drawing: Drawing, widths: tuple[int, ...]) -> Netlist:
    """The netlist of a drawing for operands of the given widths, named a, b, c …"""
    return drawn(drawing.draw, widths)


def drawn(draw: Callable[..., Signal], widths: tuple[int, ...]) -> Netlist:
    """The netlist of a function of signals of the given widths."""
    net = Netlist()
    inputs = [net.input(INPUT_NAMES[i], width) for i, width in enumerate(widths)]
    return net.finish(draw(*inputs))


def _path(request: Request, drawing: Drawing, net: Netlist) -> float:
    """Nanoseconds through a netlist without registers."""
    if not _packed(request, drawing, net):
        return critical_path(net, request.device)
    mapper = Mapper(request.device)
    return latest(mapper.output(net, [mapper.tables.leaves(0.0, width) for _, width in net.inputs]))


def _packed(request: Request, drawing: Drawing, net: Netlist) -> bool:
    """Whether a drawing is timed as the lookup tables that it becomes, and not by its operations."""
    if drawing.tables:
        return True
    return request.device.packs and sum(node.width for node in net.nodes) <= MOST_PACKED_BITS


def _combinational(request: Request, drawing: Drawing, net: Netlist) -> Operator:
    return Operator(
        name=drawing.name,
        latency=0,
        delay_ns=(delay := round(_path(request, drawing, net), 3)),
        slowest_ns=delay,
        resources=total_resources(net, live_nodes(net)),
        shareable=bool(drawing.shareable),
        operand_widths=request.widths,
        result_width=net.nodes[net.output].width,
        emit=lambda operands, fresh: inline_operations(net, operands, fresh),
        netlist=net,
    )


def _staged(
    request: Request, drawing: Drawing, net: Netlist, least: int
) -> tuple[Netlist, Pipeline]:
    """``net`` or the quick drawing, and its stages."""
    packs = _packed(request, drawing, net)
    if drawing.spread:
        return net, _spread(request, net, least, tables=packs)
    staged = partial(pipeline, device=request.device, clock_mhz=request.clock_mhz, tables=packs)
    if drawing.quick is None:
        return net, staged(net, least=least)
    quick = drawn(drawing.quick, request.widths)
    limit = staged(quick, least=least)
    plan = staged(net, least=limit.latency, first_ns=limit.first_ns)
    if plan.latency > limit.latency or plan.first_ns > limit.first_ns:
        return quick, limit
    return net, plan


def _spread(request: Request, net: Netlist, least: int, *, tables: bool) -> Pipeline:
    """The stages for the quickest clock, in steps of a twentieth, at which ``least`` are enough."""
    plan = pipeline(net, request.device, request.clock_mhz, least, tables=tables)
    most = max(least, plan.latency)

    def slow(percent: int) -> bool:
        clock_mhz = request.clock_mhz * percent / 100
        return stages(net, request.device, clock_mhz, tables=tables) > most

    faster = range(105, 165, 5) if tables else range(105, 300, 5)
    percent = faster[0] + faster.step * (bisect_left(faster, True, key=slow) - 1)
    return pipeline(net, request.device, request.clock_mhz * percent / 100, least, tables=tables)


def _unit(request: Request, drawing: Drawing, net: Netlist) -> Operator:
    least = 1
    if drawing.pace is not None:
        pace = drawn(drawing.pace, request.widths)
        packs = _packed(request, drawing, pace)
        least = stages(pace, request.device, request.clock_mhz, tables=packs)
    net, plan = _staged(request, drawing, net, least)
    if request.registered:
        plan = behind_registers(net, plan)
    name = f"{drawing.name}_{'in_' if request.registered else ''}l{plan.latency}"
    cost = total_resources(net, live_nodes(net))
    native = drawing.native

    def made(kind: str) -> Module:
        if kind == "native" and native is not None:
            return native(name, plan.latency)
        return pipelined_module(net, name, plan)

    return Operator(
        name=drawing.name,
        latency=plan.latency,
        delay_ns=round(plan.first_ns, 3),
        slowest_ns=round(plan.slowest_ns, 3),
        resources=Resources(
            ceil(SYNTHESIS * cost.lut), ceil(SYNTHESIS * plan.register_bits), cost.dsp
        ),
        shareable=drawing.shareable is not False,
        operand_widths=request.widths,
        result_width=net.nodes[net.output].width,
        module=name,
        unit_module=made,
        netlist=net,
    )
