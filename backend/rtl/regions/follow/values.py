"""Nodes of a function as Python: the value of each, by the operators that its hardware has.

Values are unsigned numbers of as many bits as the node has. What an operator computes comes from the
operations that it emits, or from the software twin of its unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from ...graph.nodes import Lin, Node
from ...netlist.operations import (
    Compare,
    Concat,
    Constant,
    Extract,
    Gate,
    Mux,
    Operation,
    Replicate,
    Wire,
)
from ...operators.netlist import Netlist
from ...operators.spec import Operator
from ..refusal import Unforeseen

Software = Callable[..., int]
_SIGNED = {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_UNSIGNED = {"eq": "==", "ne": "!=", "ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
_NAME = re.compile(r"\b[a-z]\w*\b")


def mask(width: int) -> int:
    """The number of ``width`` ones."""
    return (1 << width) - 1


def signed(text: str, width: int) -> str:
    """The text of an unsigned number read with its sign."""
    top = 1 << (width - 1)
    return f"(({text} ^ {top}) - {top})"


@dataclass(frozen=True, slots=True)
class Logic:
    """What an operator computes: the names of its operands, assignments in order, and the result's name."""

    operands: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    result: str

    def applied(self, operands: Sequence[str], result: str) -> list[str]:
        """Its lines for these operands, which are names or numbers, and a result of this name."""
        values = dict(zip(self.operands, operands, strict=True))
        for number, (name, _) in enumerate(self.lines):
            values[name] = f"{result}_{number}"

        def placed(text: str) -> str:
            return _NAME.sub(lambda name: values.get(name[0], name[0]), text)

        found = [(values[name], placed(text)) for name, text in self.lines]
        if found and found[-1][0] == values[self.result]:
            found[-1] = result, found[-1][1]
        else:
            found.append((result, values[self.result]))
        return [f"{name} = {text}" for name, text in found]


@cache
def logic(operator: Operator) -> Logic:
    """What an operator computes, of unsigned numbers.

    Raises:
        Unforeseen: nobody says what its unit computes.
    """
    if operator.netlist is not None:
        return _of_netlist(operator.netlist)
    if operator.emit is None:
        raise Unforeseen(f"what the unit {operator.name} computes is known to the hardware alone")
    numbers = iter(range(1 << 30))
    names = [f"%a{n}" for n in range(len(operator.operand_widths))]
    made, result = operator.emit(names, lambda: f"%t{next(numbers)}")
    lines = tuple(_line(op) for op in _in_order(made, set(names)))
    return Logic(tuple(name[1:] for name in names), lines, result[1:])


@cache
def software(operator: Operator) -> Software:
    """An operator of many lines as a function; raises as :func:`logic` does."""
    found = logic(operator)
    body = "".join(f"    {name} = {text}\n" for name, text in found.lines)
    space: dict[str, Software] = {}
    exec(f"def run({', '.join(found.operands)}):\n{body}    return {found.result}\n", space)
    return space["run"]


def _in_order(made: Sequence[Operation], known: set[str]) -> list[Operation]:
    """Operations so that each stands behind those whose results it reads."""
    left, ordered = list(made), list[Operation]()
    while left:
        ready = [op for op in left if known.issuperset(op.operands)]
        if not ready:
            raise Unforeseen("an operator's logic refers to what is not in it")
        ordered += ready
        known.update(op.result for op in ready)
        left = [op for op in left if op.result not in known]
    return ordered


_GATES = {"and": "&", "or": "|", "xor": "^", "add": "+", "sub": "-", "mul": "*"}


def _line(op: Operation) -> tuple[str, str]:
    """An operation of ``comb`` as an assignment: a name, and what it is."""
    values = [name[1:] for name in op.operands]
    match op:
        case Constant():
            text = str(op.value)
        case Gate():
            text = _gate(op.name.split(".")[1], values, op.width)
        case Mux():
            text = f"{values[1]} if {values[0]} else {values[2]}"
        case Compare():
            text = _comparison(op.kind, values[0], values[1], op.of)
        case Extract():
            text = f"{values[0]} >> {op.low} & {mask(op.width)}"
        case Replicate():
            text = f"{values[0]} * {mask(op.width) // mask(op.of)}"
        case Concat():
            text = _joined(list(zip(values, op.widths, strict=True)))
        case Wire():
            text = values[0]
        case _:
            raise Unforeseen(f"what {type(op).__name__} computes is known to the hardware alone")
    return op.result[1:], text


def _comparison(kind: str, a: str, b: str, width: int) -> str:
    if kind in _SIGNED:
        return f"int({signed(a, width)} {_SIGNED[kind]} {signed(b, width)})"
    return f"int({a} {_UNSIGNED[kind]} {b})"


def _joined(parts: Sequence[tuple[str, int]]) -> str:
    """Values side by side, the highest first."""
    text = parts[0][0]
    for value, width in parts[1:]:
        text = f"({text} << {width} | {value})"
    return text


def _gate(kind: str, values: Sequence[str], width: int) -> str:
    if kind in _GATES:
        joined = f" {_GATES[kind]} ".join(values)
        return f"({joined}) & {mask(width)}" if kind in ("add", "sub", "mul") else joined
    a, b = values
    match kind:
        case "shl":
            return f"({a} << {b}) & {mask(width)} if {b} < {width} else 0"
        case "shru":
            return f"{a} >> min({b}, {width})"
        case "shrs":
            return f"({signed(a, width)} >> min({b}, {width})) & {mask(width)}"
        case "divu":
            return f"{a} // {b} if {b} else 0"
        case "modu":
            return f"{a} % {b} if {b} else 0"
    raise Unforeseen(f"what {kind} computes is known to the hardware alone")


def _of_netlist(net: Netlist) -> Logic:
    """A unit's software twin."""
    names = tuple(name for name, _ in net.inputs)
    lines = []
    for number, node in enumerate(net.nodes):
        values = [f"n{arg}" for arg in node.args]
        widths = [net.nodes[arg].width for arg in node.args]
        width = widths[0] if widths else node.width
        match node.op:
            case "input":
                text = names[node.value]
            case "const":
                text = str(node.value)
            case "mux":
                text = f"{values[1]} if {values[0]} else {values[2]}"
            case "extract":
                text = f"{values[0]} >> {node.value} & {mask(node.width)}"
            case "replicate":
                text = f"{values[0]} * {mask(node.width) // mask(width)}"
            case "concat":
                text = _joined(list(zip(values, widths, strict=True)))
            case "keep":
                text = values[0]
            case "eq" | "ne" | "ult" | "slt":
                text = _comparison(node.op, values[0], values[1], width)
            case "remu":
                text = _gate("modu", values, node.width)
            case _:
                text = _gate(node.op, values, node.width)
        lines.append((f"n{number}", text))
    return Logic(names, tuple(lines), f"n{net.output}")


def linear(lin: Lin, names: Sequence[str], width: int) -> str:
    """A linear expression of symbols, modulo its bits."""
    parts = [str(lin.const)] if lin.const or not lin.terms else []
    for (node, factor), name in zip(lin.terms, names, strict=True):
        value = signed(name, node.width) if node.low < 0 else name
        parts.append(f"{value} * {factor}" if factor != 1 else value)
    return f"({' + '.join(parts)}) & {mask(width)}"


def wire(node: Node, names: Sequence[str]) -> str:
    """Bits of a value, or values side by side."""
    how, low = node.data[:2]
    width, first = node.width, node.operands[0].width
    match how:
        case "concat":
            widths = [operand.width for operand in node.operands]
            return _joined(list(zip(names, widths, strict=True))[::-1])
        case "slice":
            return f"{names[0]} >> {low} & {mask(width)}"
        case "zext":
            return names[0]
        case "sext":
            return f"{signed(names[0], first)} & {mask(width)}"
        case "insert":
            hole = mask(width) ^ (mask(node.operands[1].width) << low & mask(width))
            return f"({names[0]} & {hole} | {names[1]} << {low}) & {mask(width)}"
    raise Unforeseen(f"what the wire {how} gives is known to the hardware alone")
