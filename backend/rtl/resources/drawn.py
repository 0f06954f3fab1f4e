"""The modules of a netlist as the estimate draws them: operations and instances apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..netlist.modules import Module, Netlist
from ..netlist.operations import CLOCK, CLOCK_TYPE, Instance, Operation


@dataclass(slots=True)
class DrawnModule:
    """A module: ports with their widths (0 for a clock), operations, instances, values of its outputs."""

    name: str
    inputs: dict[str, int]
    outputs: dict[str, int]
    ops: list[Operation]
    instances: list[Instance]
    output_values: list[str]

    @classmethod
    def of(cls, module: Module) -> DrawnModule:
        """The module as it is before anything is drawn into it."""
        instances = list(module.instances())
        return cls(
            module.name,
            {f"%{name}": bits_of_type(kind) for name, kind in module.ports.inputs},
            {name: bits_of_type(kind) for name, kind, _ in module.ports.outputs},
            [op for op in module.operations if not isinstance(op, Instance)],
            instances,
            [value for _, _, value in module.ports.outputs],
        )


def drawn_modules(netlist: Netlist) -> Iterator[DrawnModule]:
    """The modules that have bodies, in order."""
    return (DrawnModule.of(module) for module in netlist.modules if module.body is not None)


def bits_of_type(kind: str) -> int:
    """Bits of a port; 0 for a clock."""
    return 0 if kind == CLOCK_TYPE else int(kind[1:])


def inputs_of(instance: Instance) -> dict[str, str]:
    """What the inputs of an instance are joined to, by port, the clock left out."""
    return {port: value for port, (value, _) in instance.inputs.items() if value != CLOCK}


def input_numbers(instance: Instance) -> dict[str, int]:
    """Its inputs without the clock, numbered in order."""
    return {port: number for number, port in enumerate(inputs_of(instance))}
