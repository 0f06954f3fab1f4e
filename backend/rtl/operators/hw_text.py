"""Netlists as text of CIRCT's hw, comb and seq dialects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from allo.dialects.core.integers import as_signed

from .netlist import Netlist, Node
from .pipeline import Pipeline
from .timing import live_nodes

_SIMPLE = {"add", "sub", "mul", "and", "or", "xor", "shl", "shru", "shrs"}
RING_BITS = 4096
"""Bits of registers in a row above which a simulator's text has a memory instead."""
_COMPARE = {"eq", "ne", "ult", "slt"}


def constant_text(value: int, width: int) -> str:
    """A constant as CIRCT's text has it; a wide one in hexadecimal, which takes linear time."""
    return str(as_signed(value, width)) if width <= 64 else hex(value & (1 << width) - 1)


def _operation(net: Netlist, node: Node, args: Sequence[str]) -> str:
    kinds = [f"i{net.nodes[i].width}" for i in node.args]
    if node.op in _SIMPLE:
        return f"comb.{node.op} {args[0]}, {args[1]} : {kinds[0]}"
    if node.op in _COMPARE:
        return f"comb.icmp {node.op} {args[0]}, {args[1]} : {kinds[0]}"
    match node.op:
        case "const":
            return f"hw.constant {constant_text(node.value, node.width)} : i{node.width}"
        case "mux":
            return f"comb.mux {args[0]}, {args[1]}, {args[2]} : {kinds[1]}"
        case "concat":
            return f"comb.concat {', '.join(args)} : {', '.join(kinds)}"
        case "extract":
            return f"comb.extract {args[0]} from {node.value} : ({kinds[0]}) -> i{node.width}"
        case "keep":
            return f"comb.or {args[0]} : {kinds[0]}"
        case "divu" | "remu":
            return f"arith.{node.op}i {args[0]}, {args[1]} : {kinds[0]}"
        case "replicate":
            return f"comb.replicate {args[0]} : ({kinds[0]}) -> i{node.width}"
    raise ValueError(f"no text for netlist operation {node.op!r}")


def inline_text(
    net: Netlist, operands: Sequence[str], fresh: Callable[[], str]
) -> tuple[list[str], str]:
    """Lines that compute the netlist in place, and the name of the result."""
    names: dict[int, str] = {}
    lines: list[str] = []
    for index in live_nodes(net):
        node = net.nodes[index]
        if node.op == "input":
            names[index] = operands[node.value]
            continue
        names[index] = fresh()
        text = _operation(net, node, [names[i] for i in node.args])
        lines.append(f"{names[index]} = {text}")
    return lines, names[net.output]


def port_list(inputs: Sequence[tuple[str, int]], width: int) -> str:
    """Ports of a unit, in the order every unit has."""
    ports = "".join(f", in %{name}: i{bits}" for name, bits in inputs)
    return f"in %clk: !seq.clock, in %ce: i1{ports}, out r: i{width}"


def module_text(net: Netlist, name: str, plan: Pipeline) -> str:
    """A pipelined unit as an ``hw.module``."""
    names: dict[tuple[int, int], str] = {}
    lines: list[str] = []

    def at(index: int, stage: int) -> str:
        """The name of a value in a stage, behind as many registers as that takes."""
        node = net.nodes[index]
        if node.op == "const":
            stage = plan.stages[index]
        last = stage
        while (index, last) not in names:
            last -= 1
        for following in range(last + 1, stage + 1):
            name = names[index, following] = f"%v{index}_{following}"
            lines.append(f"{name} = {register(names[index, following - 1], node.width)}")
        return names[index, stage]

    for index in live_nodes(net):
        node, stage = net.nodes[index], plan.stages[index]
        names[index, stage] = f"%v{index}_{stage}"
        if node.op == "input":
            names[index, stage] = f"%{net.inputs[node.value][0]}"
            continue
        operation = _operation(net, node, [at(i, stage) for i in node.args])
        lines.append(f"{names[index, stage]} = {operation}")
    width = net.nodes[net.output].width
    last = at(net.output, plan.stages[net.output])
    lines.append(f"%result = {register(last, width)}")
    lines.append(f"hw.output %result : i{width}")
    return wrap_module(name, net.inputs, width, lines)


def wrap_module(
    name: str, inputs: Sequence[tuple[str, int]], width: int, lines: Sequence[str]
) -> str:
    """An ``hw.module private`` with the ports of a unit around ``lines``."""
    body = "\n".join(f"  {line}" for line in lines)
    return f"hw.module private @{name}({port_list(inputs, width)}) {{\n{body}\n}}\n"


def register(value: str, width: int) -> str:
    """A register with clock enable."""
    return f"seq.compreg.ce {value}, %clk, %ce : i{width}"


def delay_lines(value: str, width: int, latency: int) -> list[str]:
    """``latency`` registers in a row behind ``value``, ending in the module's output."""
    lines = []
    for step in range(latency):
        lines.append(f"%d{step} = {register(value, width)}")
        value = f"%d{step}"
    return [*lines, f"hw.output {value} : i{width}"]


def delay_by_memory(value: str, width: int, latency: int) -> list[str]:
    """:func:`delay_lines` for the in-process simulator: where they are long and wide, a ring in a memory.

    A counter that wraps says where the value goes; what was put there ``latency`` steps before is the
    output.
    """
    if width * latency <= RING_BITS:
        return delay_lines(value, width, latency)
    bits = (latency - 1).bit_length()
    kind = f"<{1 << bits} x {width}>"
    return [
        f"%one = hw.constant {as_signed(1, bits)} : i{bits}",
        f"%back = hw.constant {as_signed(-latency % (1 << bits), bits)} : i{bits}",
        f"%at = {register('%next', bits)}",
        f"%next = comb.add %at, %one : i{bits}",
        f"%from = comb.add %at, %back : i{bits}",
        f"%ring = seq.firmem 0, 1, undefined, undefined : {kind}",
        "%always = hw.constant true",
        f"%old = seq.firmem.read_port %ring[%from], clock %clk enable %always : {kind}",
        f"seq.firmem.write_port %ring[%at] = {value}, clock %clk enable %ce : {kind}",
        f"hw.output %old : i{width}",
    ]
