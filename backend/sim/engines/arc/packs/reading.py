"""From hw, comb and seq to packs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

from allo.backend.rtl._circt import ir

from ..flatten import inline_below, inline_once, is_plain, operations_of
from .nodes import (
    CONSTANT,
    GATHER,
    INPUT,
    MEMORY,
    READ,
    REGISTER,
    Memory,
    Node,
    Packed,
    Register,
    UnpackableError,
)

FEWEST = 4
"""Instances of a module that are worth packs."""
SHARE = 0.5
"""Of the operations of a design, the part that must lie in packs."""
MOST = 800
"""Instances of a module: LLVM takes too long for words of more bits."""
WIDEST, DEEPEST = 64, 8
"""Bits of a lane, and words of a memory of lanes."""

_CLOCK = "!seq.clock"
_INTEGER = re.compile(r"i(\d+)")
_MEMORY = re.compile(r"!seq\.firmem<(\d+) x (\d+)>")
_INSTANCE, _OUTPUT = "hw.instance", "hw.output"
_PLAIN = frozenset(
    f"comb.{name}"
    for name in (
        "and", "or", "xor", "add", "sub", "mul", "icmp", "mux", "concat", "extract", "replicate", "shl",
        "shru", "shrs",
    )
)  # fmt: skip

type _Place = tuple[Node, int]


def read_packs(module: ir.Module, top: str) -> Packed:
    """The packs of a design, which is changed.

    Raises:
        UnpackableError: few of its processes are alike, or it has operations that packs do not know.
    """
    modules = {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "hw.module"
    }
    if len(modules) != len(list(module.body.operations)) or top not in modules:
        raise UnpackableError("modules")
    if not all(map(is_plain, modules.values())):
        raise UnpackableError("names")
    inline_once(modules, top, FEWEST)
    return _Reader(modules, modules[top]).read()


class _Group:
    """A module with its instances in the top; the top itself is one of one lane."""

    def __init__(self, module: ir.Operation, instances: list[ir.Operation]) -> None:
        self.instances = instances
        self.number = 0
        self.lanes = max(1, len(instances))
        self.block = module.regions[0].blocks[0]
        self.operations = operations_of(module)
        self.nodes: dict[ir.Value, Node] = {}
        self.formal: list[Node | None] = []
        self.outputs: list[Node] = []


class _Reader:
    """Reads groups one after another, then joins them."""

    def __init__(self, modules: dict[str, ir.Operation], top: ir.Operation) -> None:
        self._top = _Group(top, [])
        called: dict[str, list[ir.Operation]] = defaultdict(list)
        for op in self._top.operations:
            if op.name == _INSTANCE:
                called[ir.FlatSymbolRefAttr(op.attributes["moduleName"]).value].append(op)
        inline_below(modules, list(called))
        self._groups = [_Group(modules[name], list(found)) for name, found in called.items()]
        self._groups.sort(key=lambda group: -len(group.operations) * (group.lanes > 1))
        self._registers: list[Register] = []
        self._memories: list[Memory] = []
        self._uses: dict[ir.Value, tuple[int, int, int]] = {}

    def read(self) -> Packed:
        if any(group.lanes > MOST for group in self._groups):
            raise UnpackableError("lanes")
        packed = sum(g.lanes * len(g.operations) for g in self._groups if g.lanes >= FEWEST)
        total = sum(g.lanes * len(g.operations) for g in self._groups)
        if packed < SHARE * (total + len(self._top.operations)):
            raise UnpackableError
        places: dict[ir.Value, _Place] = {}
        inputs = self._read_top(places)
        for rank, group in enumerate(self._groups):
            group.number = rank + 1
            self._arrange(rank, group)
            self._declare(group)
            self._define(group, [_name(op, "instanceName") + "/" for op in group.instances])
            for lane, instance in enumerate(group.instances):
                for node, value in zip(group.outputs, instance.results, strict=True):
                    places[value] = (node, lane)
        top = self._top
        self._declare(top, places)
        self._define(top, [""], places)
        for value, node in top.nodes.items():
            places.setdefault(value, (node, 0))
        for group in self._groups:
            for position, formal in enumerate(group.formal):
                if formal is not None:
                    _take(formal, [places[i.operands[position]] for i in group.instances])
        names = _output_names(top.block.owner)
        outputs = list(zip(names, top.outputs, strict=True))
        return Packed(inputs, outputs, self._registers, self._memories)

    def _read_top(self, places: dict[ir.Value, _Place]) -> list[tuple[str, int]]:
        names = _input_names(self._top.block.owner)
        inputs = []
        for name, argument in zip(names, self._top.block.arguments, strict=True):
            if str(argument.type) == _CLOCK:
                inputs.append((name, 1))
                continue
            node = Node(INPUT, _width(argument), 1, detail=name)
            inputs.append((name, node.width))
            self._top.nodes[argument] = node
            places[argument] = (node, 0)
        return inputs

    def _arrange(self, rank: int, group: _Group) -> None:
        """Order the instances of a group as those that read them, so that lanes meet lanes."""
        last = (len(self._groups), 0, 0)
        if rank:
            group.instances.sort(
                key=lambda op: min((self._uses.get(r, last) for r in op.results), default=last)
            )
        for lane, instance in enumerate(group.instances):
            for position, value in enumerate(instance.operands):
                self._uses.setdefault(value, (rank, position, lane))

    def _declare(self, group: _Group, places: dict[ir.Value, _Place] | None = None) -> None:
        """Make the nodes of what a group computes, without their arguments."""
        nodes, lanes = group.nodes, group.lanes
        if places is None:
            for argument in group.block.arguments:
                clock = str(argument.type) == _CLOCK
                formal = None if clock else Node(GATHER, _width(argument), lanes)
                group.formal.append(formal)
                if formal is not None:
                    nodes[argument] = formal
        for op in group.operations:
            name = op.name
            if name in (_INSTANCE, _OUTPUT, "seq.firmem.write_port"):
                continue
            result = op.results[0]
            if name == "hw.constant":
                value = ir.IntegerAttr(op.attributes["value"]).value
                width = _width(result)
                nodes[result] = Node(CONSTANT, width, lanes, detail=value & ((1 << width) - 1))
            elif name in ("seq.compreg", "seq.compreg.ce"):
                nodes[result] = Node(REGISTER, _width(result), lanes)
            elif name == "seq.firmem":
                nodes[result] = self._memory(op, lanes)
            elif name == "seq.firmem.read_port":
                nodes[result] = Node(READ, _width(result), lanes)
            elif name in _PLAIN:
                nodes[result] = Node(name, _width(result), lanes, detail=_detail(op))
            else:
                raise UnpackableError(name)

    def _memory(self, op: ir.Operation, lanes: int) -> Node:
        shape = _MEMORY.match(str(op.results[0].type))
        latency = ir.IntegerAttr(op.attributes["readLatency"]).value
        if shape is None or latency or "init" in op.attributes:
            raise UnpackableError("memory")
        depth, width = int(shape[1]), int(shape[2])
        if width > WIDEST or depth > DEEPEST:
            raise UnpackableError("memory")
        node = Node(MEMORY, width, lanes)
        self._memories.append(Memory(node, depth, []))
        return node

    def _define(
        self,
        group: _Group,
        prefixes: list[str],
        places: dict[ir.Value, _Place] | None = None,
    ) -> None:
        """Give nodes their arguments."""

        def node_of(value: ir.Value) -> Node:
            found = group.nodes.get(value)
            if found is None:
                if places is None:
                    raise UnpackableError("clock")
                found = Node(GATHER, _width(value), 1)
                _take(found, [places[value]])
                group.nodes[value] = found
            return found

        for op in group.operations:
            name = op.name
            if name == _INSTANCE:
                continue
            operands = list(op.operands)
            if name == _OUTPUT:
                group.outputs = [node_of(value) for value in operands]
            elif name == "seq.firmem.write_port":
                self._write(op, group, node_of)
            elif name == "seq.firmem.read_port":
                _check_ports(op, 2)
                node = group.nodes[op.results[0]]
                node.args = [group.nodes[operands[0]], node_of(operands[1])]
            elif name in ("seq.compreg", "seq.compreg.ce"):
                self._register(op, group, prefixes, node_of)
            elif name in _PLAIN:
                group.nodes[op.results[0]].args = [node_of(value) for value in operands]

    def _register(
        self,
        op: ir.Operation,
        group: _Group,
        prefixes: list[str],
        node_of: Callable[[ir.Value], Node],
    ) -> None:
        value, _, *rest = op.operands
        enable = node_of(rest.pop(0)) if op.name.endswith(".ce") else None
        reset, reset_value = None, 0
        if rest:
            if len(rest) != 2:
                raise UnpackableError("preset")
            reset, constant = node_of(rest[0]), node_of(rest[1])
            if constant.kind != CONSTANT:
                raise UnpackableError("reset")
            reset_value = int(constant.detail)
        local = _name(op, "name")
        names = [f"{prefix}{local}" for prefix in prefixes] if local else []
        node = group.nodes[op.results[0]]
        self._registers.append(
            Register(node, node_of(value), enable, reset, reset_value, names, group.number)
        )

    def _write(self, op: ir.Operation, group: _Group, node_of: Callable[[ir.Value], Node]) -> None:
        target, address, _, *rest = op.operands
        sizes = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        if sizes[-1]:
            raise UnpackableError("mask")
        data, enable = rest[-1], rest[:-1]
        memory = next(m for m in self._memories if m.node is group.nodes[target])
        condition = node_of(enable[0]) if enable else None
        memory.writes.append((node_of(address), node_of(data), condition))


def _take(node: Node, sources: list[_Place]) -> None:
    """Make a gather of places."""
    numbers: dict[Node, int] = {}
    for source, lane in sources:
        node.taken.append((numbers.setdefault(source, len(numbers)), lane))
    node.args = list(numbers)


def _check_ports(op: ir.Operation, least: int) -> None:
    if len(op.operands) < least:
        raise UnpackableError("port")


def _width(value: ir.Value) -> int:
    kind = _INTEGER.fullmatch(str(value.type))
    if kind is None or not 0 < int(kind[1]) <= WIDEST:
        raise UnpackableError(str(value.type))
    return int(kind[1])


def _detail(op: ir.Operation) -> int:
    for name in ("predicate", "lowBit"):
        if name in op.attributes:
            return int(ir.IntegerAttr(op.attributes[name]).value)
    return 0


def _name(op: ir.Operation, attribute: str) -> str:
    attributes = op.attributes
    return str(ir.StringAttr(attributes[attribute]).value) if attribute in attributes else ""


_PORT = re.compile(r"(input|output|in|out) \"?([\w$.]+)\"? : ")


def _port_names(module: ir.Operation) -> list[tuple[str, str]]:
    return [(m[1], m[2]) for m in _PORT.finditer(str(module.attributes["module_type"]))]


def _input_names(module: ir.Operation) -> list[str]:
    return [name for way, name in _port_names(module.operation) if way.startswith("in")]


def _output_names(module: ir.Operation) -> list[str]:
    return [name for way, name in _port_names(module.operation) if way.startswith("out")]
