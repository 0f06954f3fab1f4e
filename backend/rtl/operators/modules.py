"""Netlists of operators as operations of CIRCT's hw, comb and seq dialects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..netlist.memories import SimulatedMemory, SimulatedRead, SimulatedWrite
from ..netlist.modules import Module, unit_ports
from ..netlist.operations import (
    BlockSum,
    Compare,
    Concat,
    Constant,
    Extract,
    Gate,
    Mux,
    Operation,
    Register,
    Replicate,
)
from .netlist import Netlist, Node
from .pipeline import Pipeline
from .timing import live_nodes

_GATES = {
    **{op: f"comb.{op}" for op in ("add", "sub", "mul", "and", "or", "xor", "shl", "shru", "shrs")},
    "keep": "comb.or",
    "divu": "arith.divui",
    "remu": "arith.remui",
}
RING_BITS = 4096
"""Bits of registers in a row above which a simulator has a memory instead."""
_COMPARE = {"eq", "ne", "ult", "slt"}


def _operation(net: Netlist, node: Node, result: str, args: tuple[str, ...]) -> Operation:
    widths = tuple(net.nodes[i].width for i in node.args)
    if node.op == "add" and node.value:
        return BlockSum(result, args, widths[0])
    if node.op in _GATES:
        return Gate(_GATES[node.op], result, args, widths[0])
    if node.op in _COMPARE:
        return Compare(node.op, result, args, widths[0])
    match node.op:
        case "const":
            return Constant(result, node.value, node.width)
        case "mux":
            return Mux(result, args, node.width)
        case "concat":
            return Concat(result, args, widths)
        case "extract":
            return Extract(result, args[0], node.value, node.width, widths[0])
        case "replicate":
            return Replicate(result, args[0], node.width, widths[0])
    raise ValueError(f"no operation for node {node.op!r} of a netlist")


def inline_operations(
    net: Netlist, operands: Sequence[str], fresh: Callable[[], str]
) -> tuple[list[Operation], str]:
    """Operations that compute the netlist in place, and the name of the result."""
    names: dict[int, str] = {}
    made: list[Operation] = []
    for index in live_nodes(net):
        node = net.nodes[index]
        if node.op == "input":
            names[index] = operands[node.value]
            continue
        names[index] = fresh()
        args = tuple([names[i] for i in node.args])
        made.append(_operation(net, node, names[index], args))
    return made, names[net.output]


def pipelined_module(net: Netlist, name: str, plan: Pipeline) -> Module:
    """A pipelined unit."""
    body, result = staged(net, plan, [f"%{name}" for name, _ in net.inputs])
    return Module(name, unit_ports(net.inputs, net.nodes[net.output].width, result), body)


def staged(
    net: Netlist, plan: Pipeline, operands: Sequence[str], prefix: str = ""
) -> tuple[list[Operation], str]:
    """The operations and registers of a pipelined netlist, and the name of its result."""
    names: dict[tuple[int, int], str] = {}
    body: list[Operation] = []

    def at(index: int, stage: int) -> str:
        """The name of a value in a stage, behind as many registers as that takes."""
        node = net.nodes[index]
        if node.op == "const":
            stage = plan.stages[index]
        last = stage
        while (index, last) not in names:
            last -= 1
        for following in range(last + 1, stage + 1):
            held = names[index, following] = f"%{prefix}v{index}_{following}"
            body.append(_held(held, names[index, following - 1], node.width))
        return names[index, stage]

    for index in live_nodes(net):
        node, stage = net.nodes[index], plan.stages[index]
        if node.op == "input":
            names[index, stage] = operands[node.value]
            continue
        args = tuple([at(i, stage) for i in node.args])
        names[index, stage] = f"%{prefix}v{index}_{stage}"
        body.append(_operation(net, node, names[index, stage], args))
    result = f"%{prefix}result"
    last = at(net.output, plan.stages[net.output])
    body.append(_held(result, last, net.nodes[net.output].width))
    return body, result


def delayed_module(
    name: str,
    inputs: Sequence[tuple[str, int]],
    body: list[Operation],
    value: str,
    width: int,
    latency: int,
) -> Module:
    """A unit for the in-process simulator: what ``body`` computes, ``latency`` registers later."""
    for step in range(latency):
        body.append(_held(f"%d{step}", value, width))
        value = f"%d{step}"
    return Module(name, unit_ports(inputs, width, value), body)


def stored_module(
    name: str,
    inputs: Sequence[tuple[str, int]],
    body: list[Operation],
    value: str,
    width: int,
    latency: int,
) -> Module:
    """:func:`delayed_module` whose registers are a ring in a memory where they are long and wide.

    A counter that wraps says where the value goes; what was put there ``latency`` steps before is the
    output.
    """
    if width * latency <= RING_BITS:
        return delayed_module(name, inputs, body, value, width, latency)
    bits = (latency - 1).bit_length()
    size = 1 << bits, width, bits
    body += [
        Constant("%one", 1, bits),
        Constant("%back", -latency, bits),
        _held("%at", "%next", bits),
        Gate("comb.add", "%next", ("%at", "%one"), bits),
        Gate("comb.add", "%from", ("%at", "%back"), bits),
        SimulatedMemory("%ring", 1 << bits, width),
        Constant("%always", 1, 1),
        SimulatedRead("%old", ("%ring", "%from", "%always"), *size),
        SimulatedWrite(("%ring", "%at", value, "%ce"), *size),
    ]
    return Module(name, unit_ports(inputs, width, "%old"), body)


def _held(result: str, value: str, width: int) -> Operation:
    """A register that moves with the unit."""
    return Register(result, value, width, "%ce")
