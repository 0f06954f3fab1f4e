"""The rules of a netlist: what every emitter and every pass leaves.

A value is defined once; whoever reads it takes it to have the type that it has; instances are joined to the
ports that their modules have; and no value depends on itself but by way of a register, a memory's write or
another module.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from allo.dialects.diagnostics import InternalError

from .memories import Memory, SimulatedMemory, SimulatedWrite, Write
from .modules import Module, Netlist
from .operations import Concat, Extract, Instance, Operation, Register

_STATE = (Register, Memory, SimulatedMemory, Write, SimulatedWrite, Instance)
"""Operations whose results do not follow their operands in the same cycle, or not by what is seen here."""


def verify(netlist: Netlist, after: str = "emission") -> Netlist:
    """The netlist, held against the rules where the environment has ``ALLO_VERIFY`` set, as in the tests.

    Args:
        after: what made it, for the message.

    Raises:
        InternalError: it breaks a rule.
    """
    if os.environ.get("ALLO_VERIFY"):
        problem = next(problems(netlist), None)
        if problem is not None:
            raise InternalError(
                f"The netlist breaks a rule after {after}: {problem}",
                help="this is a fault of the RTL compiler; please report it with the kernel.",
            )
    return netlist


def problems(netlist: Netlist) -> Iterator[str]:
    """A sentence for each place where a netlist breaks a rule."""
    modules: dict[str, Module] = {}
    for module in netlist.modules:
        if module.name in modules:
            yield f"two modules are called {module.name}."
        modules[module.name] = module
    for module in netlist.modules:
        if module.body is not None:
            for problem in _module(module, modules):
                yield f"in {module.name}, {problem}"


def _module(module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    types = {f"%{name}": kind for name, kind in module.ports.inputs}
    for op in module.operations:
        for name, kind in op.results():
            if name in types:
                yield f"{name} is defined twice."
            types[name] = kind
    for op in module.operations:
        yield from _operands(op, types)
        if isinstance(op, Instance):
            yield from _instance(op, modules.get(op.module))
        elif isinstance(op, Extract) and not 0 <= op.low <= op.of - op.width:
            yield f"{op.result} takes bits that {op.operands[0]} does not have."
        elif isinstance(op, Concat) and 0 in op.widths:
            yield f"{op.result} has a part of no bits."
    for name, kind, value in module.ports.outputs:
        if types.get(value) != kind:
            yield f"output {name} is {kind} and {value} is {types.get(value, 'not defined')}."
    yield from _cycles(module)


def _operands(op: Operation, types: Mapping[str, str]) -> Iterator[str]:
    wanted = op.operand_types()
    if len(wanted) != len(op.operands):
        yield f"{op.text()} has {len(op.operands)} operands and types of {len(wanted)}."
        return
    for name, kind in zip(op.operands, wanted, strict=True):
        known = types.get(name)
        if known is None:
            yield f"{name} is not defined, and read by: {op.text()}"
        elif known != kind:
            yield f"{name} is {known}, and read as {kind} by: {op.text()}"


def _instance(op: Instance, module: Module | None) -> Iterator[str]:
    if module is None:
        yield f"instance {op.label} is of {op.module}, which is no module of the netlist."
        return
    if [(port, kind) for port, (_, kind) in op.inputs.items()] != module.ports.inputs:
        yield f"instance {op.label} has other inputs than {op.module}."
    outputs = [(port, kind) for port, kind, _ in module.ports.outputs]
    if [(port, kind) for _, port, kind in op.outputs] != outputs:
        yield f"instance {op.label} has other outputs than {op.module}."


def _cycles(module: Module) -> Iterator[str]:
    """Values that depend on themselves."""
    reads = {op.result: op.operands for op in module.operations if not isinstance(op, _STATE)}
    done: set[str] = set()
    for start in reads:
        if start in done:
            continue
        path: dict[str, Iterator[str]] = {start: iter(reads[start])}
        while path:
            last = next(reversed(path))
            following = next(path[last], None)
            if following is None:
                done.add(last)
                del path[last]
            elif following in path:
                yield f"{following} depends on itself within a cycle."
                return
            elif following in reads and following not in done:
                path[following] = iter(reads[following])
