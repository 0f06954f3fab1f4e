"""What a node computes, on numbers in Python.

Operators without cycles are the operations that they emit, units the netlist that they are drawn from. A
design knows a unit by its module's name, so the first unit of a name is all of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from allo.backend.rtl.graph.nodes import Lin, Node
from allo.backend.rtl.netlist import operations as made
from allo.backend.rtl.operators.netlist import Netlist, mask
from allo.backend.rtl.operators.spec import Operator
from allo.backend.rtl.operators.timing import live_nodes
from allo.dialects.core.integers import PREDICATES, as_signed, truncating_division

from . import Unjudged
from .floats import Fn, float_function

LARGEST = 3000
"""Nodes of a netlist that is still computed."""


def _divided(fn: Callable[[int, int], int], signed: bool) -> Callable[[int, int, int, int], int]:
    def run(a: int, b: int, wide: int, narrow: int) -> int:
        if signed:
            a, b = as_signed(a, wide), as_signed(b, narrow)
        return fn(a, b) if b else 0

    return run


_DIVISIONS = {
    "arith.divui": _divided(lambda a, b: a // b, False),
    "arith.remui": _divided(lambda a, b: a % b, False),
    "arith.divsi": _divided(truncating_division, True),
    "arith.remsi": _divided(lambda a, b: a - b * truncating_division(a, b), True),
    "arith.floordivsi": _divided(lambda a, b: a // b, True),
    "arith.ceildivsi": _divided(lambda a, b: -(-a // b), True),
    "arith.ceildivui": _divided(lambda a, b: -(-a // b), False),
}


_PLAIN: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
}


class Units:
    """The functions of operators, by the name under which a design knows them."""

    def __init__(self, known: dict[int, tuple[Operator, Fn]]) -> None:
        self._known = known
        self._named: dict[str, Operator] = {}

    def function(self, operator: Operator) -> Fn:
        """What an operator computes."""
        if operator.module:
            operator = self._named.setdefault(operator.module, operator)
        found = self._known.get(id(operator))
        if found is None:
            found = self._known[id(operator)] = operator, _of_operator(operator)
        return found[1]


def _of_operator(operator: Operator) -> Fn:
    op, types, result, _ = operator.asked or ("", (), "", ())
    if op in _DIVISIONS:
        divide, widths, top = _DIVISIONS[op], operator.operand_widths, mask(operator.result_width)
        return lambda a, b: divide(a, b, *widths) & top
    net, top = operator.netlist, mask(operator.result_width)
    if not any("f" in kind for kind in (*types, result)):
        if operator.emit is not None:
            return _of_operations(operator)
        if net is not None and len(net.nodes) <= LARGEST:
            return _of_netlist(net)
        if op in _PLAIN and set(operator.operand_widths) == {operator.result_width}:
            plain = _PLAIN[op]
            return lambda a, b: plain(a, b) & top
        return _unknown
    return float_function(operator)


def _unknown(*values: int) -> int:
    raise Unjudged("an operator that is too large to compute")


_SIGNED = "(({0} ^ {1}) - {1})"
_GATES = {"and": "&", "or": "|", "xor": "^"}
_SUMS = {"add": "+", "sub": "-", "mul": "*"}
_RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _compared(kind: str, a: str, b: str, width: int) -> str:
    if kind[0] == "s" and kind not in _RELATIONS:
        a, b = (_SIGNED.format(x, 1 << (width - 1)) for x in (a, b))
    return f"int({a} {_RELATIONS.get(kind) or _RELATIONS[kind[1:]]} {b})"


def _expression(op: str, v: list[str], width: int, widths: list[int], value: int) -> str:
    """One operation of a netlist, or of what an operator emits, as Python."""
    top = mask(width)
    if op in _GATES:
        return f"{v[0]} {_GATES[op]} {v[1]}"
    if op in _SUMS:
        return f"({v[0]} {_SUMS[op]} {v[1]}) & {top}"
    if op in PREDICATES or op in ("ult", "slt"):
        return _compared(op, v[0], v[1], widths[0])
    match op:
        case "keep":
            return v[0]
        case "shl":
            return f"({v[0]} << min({v[1]}, {widths[0]})) & {top}"
        case "shru":
            return f"{v[0]} >> min({v[1]}, {widths[0]})"
        case "shrs":
            signed = _SIGNED.format(v[0], 1 << (widths[0] - 1))
            return f"({signed} >> min({v[1]}, {widths[0]})) & {top}"
        case "mux":
            return f"{v[1]} if {v[0]} else {v[2]}"
        case "extract":
            return f"{v[0]} >> {value} & {top}"
        case "replicate":
            return f"{v[0]} * {top // mask(widths[0])}"
        case "concat":
            places = [sum(widths[k + 1 :]) for k in range(len(widths))]
            return " | ".join(f"({x} << {low})" for x, low in zip(v, places, strict=True))
        case "divu" | "remu":
            return f"({v[0]} {'//' if op == 'divu' else '%'} {v[1]}) if {v[1]} else 0"
    raise Unjudged(f"the operation {op}, which the replay does not compute")


def _compiled(arguments: Iterable[str], lines: list[str], result: str) -> Fn:
    body = "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
    space: dict[str, Any] = {}
    exec(f"def run({', '.join(arguments)}):\n{body}", space)
    run: Fn = space["run"]
    return run


def _of_netlist(net: Netlist) -> Fn:
    live, lines = live_nodes(net), []
    for i, node in enumerate(net.nodes):
        if i not in live or node.op == "input":
            continue
        if node.op == "const":
            lines.append(f"t{i} = {node.value}")
            continue
        names, widths = [f"t{k}" for k in node.args], [net.nodes[k].width for k in node.args]
        lines.append(f"t{i} = {_expression(node.op, names, node.width, widths, node.value)}")
    inputs = {node.value: f"t{i}" for i, node in enumerate(net.nodes) if node.op == "input"}
    names = [inputs.get(k, f"unused{k}") for k in range(len(net.inputs))]
    return _compiled(names, lines, f"t{net.output}")


def _of_operations(operator: Operator) -> Fn:
    assert operator.emit is not None
    numbers = count()
    names = [f"a{i}" for i in range(len(operator.operand_widths))]
    found, result = operator.emit(names, lambda: f"t{next(numbers)}")
    return _compiled(names, [_line(op) for op in found], result)


def _line(op: made.Operation) -> str:
    name, values, widths, value = "", list(op.operands), [op.width] * len(op.operands), 0
    match op:
        case made.Gate():
            name = {"arith.divui": "divu", "arith.remui": "remu"}.get(
                op.name, op.name.split(".")[1]
            )
        case made.Constant():
            return f"{op.result} = {op.value}"
        case made.Mux():
            name = "mux"
        case made.Compare():
            name, widths = op.kind, [op.of, op.of]
        case made.Extract():
            name, widths, value = "extract", [op.of], op.low
        case made.Replicate():
            name, widths = "replicate", [op.of]
        case made.Concat():
            name, widths = "concat", list(op.widths)
        case made.Wire():
            name = "keep"
    return f"{op.result} = {_expression(name, values, op.width, widths, value)}"


def linear(lin: Lin) -> Fn:
    """The value of a linear expression, from those of its symbols."""
    const = lin.const
    terms = [(factor, node.width, node.low < 0) for node, factor in lin.terms]
    if len(terms) == 1 and not terms[0][2]:
        only = terms[0][0]
        return lambda value: const + only * value

    def run(*values: int) -> int:
        total = const
        for value, (factor, width, signed) in zip(values, terms, strict=True):
            total += factor * (as_signed(value, width) if signed else value)
        return total

    return run


def wire(node: Node) -> Fn:
    """What a wire does with the bits of its operands."""
    how, low = node.data[:2]
    top, source = mask(node.width), node.operands[0].width
    if how == "slice":
        return lambda a: a >> low & top
    if how == "zext":
        return lambda a: a
    if how == "sext":
        return lambda a: as_signed(a, source) & top
    widths = [operand.width for operand in node.operands]
    if how == "insert":
        hole = top & ~(mask(widths[1]) << low)
        return lambda word, value: word & hole | value << low

    def joined(*values: int) -> int:
        result = at = 0
        for value, width in zip(values, widths, strict=True):
            result |= value << at
            at += width
        return result

    return joined
