"""Outputs of modules that are words of their inputs, a number of cycles later.

Functions that share a unit each keep its result in registers of their own. Synthesis flattens the design and
makes those that follow the same value one, and nothing chooses between them any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...netlist.operations import Instance
from ..nodes import Node, Value, width_of
from .narrow import Held, Place, held_inputs, wanted_of

Echo = tuple[str, int]
"""An input port, and the registers behind it."""


@dataclass(frozen=True, slots=True)
class Driven:
    """What drives the output ports of a module.

    Attributes:
        values: the value of each port, in the module.
        echoes: those that are an input behind registers without enable and reset.
        held: the bits of input ports that registers hold as they come, once it is known which are read.
        holding: those registers.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    echoes: Mapping[str, Echo] = field(default_factory=dict)
    held: Held = field(default_factory=dict)
    holding: Mapping[int, tuple[Place, int]] = field(default_factory=dict)

    @staticmethod
    def of(values: Mapping[str, Value], nodes: list[Node], inputs: Mapping[str, int]) -> Driven:
        """What the graph of a module says of its outputs."""
        ports = {number: port for port, number in inputs.items()}
        found = {port: _echo(value, nodes, ports) for port, value in values.items()}
        echoes = {port: echo for port, echo in found.items() if echo is not None}
        return Driven(values, echoes, holding=held_inputs(nodes, ports))

    def covered(self, nodes: list[Node]) -> Driven:
        """The same, when the module's graph is covered."""
        return replace(self, held=wanted_of(self.holding, nodes))


def _echo(value: Value, nodes: list[Node], ports: Mapping[int, str]) -> Echo | None:
    depth = 0
    while len(value) == 1 and value[0][:2] == (value[0][0], 0) and value[0][0] >= 0:
        node = nodes[value[0][0]]
        if value[0][2] != node.width:
            return None
        if value[0][0] in ports:
            return ports[value[0][0]], depth
        if node.kind != "register" or node.detail or len(node.operands) != 1:
            return None
        value, depth = node.operands[0], depth + 1
    return None


class Echoes:
    """The echoes that the instances in one module have given so far."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, int], Value] = {}
        self._rows: set[tuple[str, int, int]] = set()

    def of(self, instance: Instance, driven: Driven, port: str) -> Value | None:
        """What another output was found to be that echoes the same value as late as this one."""
        echo = driven.echoes.get(port)
        return (
            self._values.get((instance.inputs.get(echo[0], ("", ""))[0], echo[1])) if echo else None
        )

    def add(self, instance: Instance, driven: Driven, port: str, value: Value) -> None:
        """Say what value an output is."""
        echo = driven.echoes.get(port)
        if echo and echo[0] in instance.inputs:
            self._values.setdefault((instance.inputs[echo[0]][0], echo[1]), value)

    def merged_of(self, instance: Instance, driven: Driven) -> list[tuple[int, int]]:
        """The registers of an instance that follow what those of one before it follow: rows and bits."""
        depths: dict[str, dict[int, int]] = {}
        for port, (source, depth) in driven.echoes.items():
            if depth and source in instance.inputs:
                depths.setdefault(instance.inputs[source][0], {})[depth] = width_of(
                    driven.values[port]
                )
        merged = []
        rows = set()
        for name, found in depths.items():
            start = 0
            for depth, width in sorted(found.items()):
                row = (name, start, depth)
                rows.add(row)
                if row in self._rows:
                    merged.append((depth - start, width))
                start = depth
        self._rows |= rows
        return merged
