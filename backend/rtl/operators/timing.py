"""How long a netlist's nodes take on a device, and how much they cost."""

from __future__ import annotations

from math import ceil, log, log2

from allo.backend.devices import OperatorDelays

from .netlist import WIRING, Netlist, Node
from .spec import Resources


def live_nodes(net: Netlist) -> list[int]:
    """Nodes the output depends on, in topological order."""
    needed = {net.output}
    for index in range(len(net.nodes) - 1, -1, -1):
        if index in needed:
            needed.update(net.nodes[index].args)
    return sorted(needed)


def node_delay(net: Netlist, node: Node, device: OperatorDelays) -> float:
    """Nanoseconds through one node."""
    if node.op in WIRING:
        return 0.0
    width = net.nodes[node.args[-1]].width
    variable = [i for i in node.args if net.nodes[i].op != "const"]
    match node.op:
        case "and" | "or" | "xor":
            return device.gate_ns
        case "mux":
            return device.mux_ns + device.fanout_ns * log2(width)
        case "eq" | "ne":
            inputs = width * max(1, len(variable))
            return device.level_ns * max(1, ceil(log(inputs, device.fanin) - 1e-9))
        case "add" if node.value and device.dsp_add_ns:
            return device.dsp_add_ns
        case "add" | "sub" | "ult" | "slt":
            compared = node.op in ("ult", "slt") and device.compare_bit_ns
            return min(
                device.carry_ns + (compared or device.carry_bit_ns) * width,
                device.level_ns * (1 + ceil(log2(width + 1))),
            )
        case "shl" | "shru" | "shrs" if net.nodes[node.args[0]].op == "const":
            return _table_delay(_moving(net, node.args[1]), device)
        case "shl" | "shru" | "shrs" if device.shift_ns:
            return device.shift_ns * max(1, (width - 1).bit_length())
        case "shl" | "shru" | "shrs":
            return ceil(log2(width + 1)) * (
                0.75 * device.mux_ns + device.fanout_ns * log2(width + 1)
            )
        case "mul":
            return device.dsp_ns
    raise ValueError(f"no delay for netlist operation {node.op!r}")


def _moving(net: Netlist, amount: int) -> int:
    """The bits of an amount that are not known."""
    node = net.nodes[amount]
    parts = node.args if node.op == "concat" else (amount,)
    return sum(net.nodes[part].width for part in parts if net.nodes[part].op != "const")


def _table_delay(bits: int, device: OperatorDelays) -> float:
    """A function of so many bits."""
    if bits <= max(device.fanin, device.joined_fanin):
        return device.level_ns + max(0, bits - device.fanin) * device.joined_ns
    return device.level_ns * max(1, ceil(log(max(2, bits), device.fanin) - 1e-9))


def node_resources(net: Netlist, node: Node) -> Resources:
    """Lookup tables and multiplier blocks of one node."""
    if node.op in WIRING:
        return Resources()
    width = net.nodes[node.args[-1]].width
    match node.op:
        case "and" | "or" | "xor" | "mux":
            return Resources(lut=ceil(width / 2))
        case "eq" | "ne":
            return Resources(lut=ceil(width / 4))
        case "shl" | "shru" | "shrs" if net.nodes[node.args[0]].op == "const":
            return Resources(lut=width)
        case "shl" | "shru" | "shrs":
            return Resources(lut=ceil(width * ceil(log2(width + 1)) / 2))
        case "mul":
            return Resources(dsp=1)
    return Resources(lut=width)


def total_resources(net: Netlist, live: list[int]) -> Resources:
    """Sum over the live nodes."""
    total = Resources()
    for index in live:
        total = total + node_resources(net, net.nodes[index])
    return total


def critical_path(net: Netlist, device: OperatorDelays) -> float:
    """Nanoseconds from inputs to the output without registers."""
    arrival: dict[int, float] = {}
    for index in live_nodes(net):
        node = net.nodes[index]
        start = max((arrival[i] for i in node.args), default=0.0)
        arrival[index] = start + node_delay(net, node, device)
    return arrival[net.output]
