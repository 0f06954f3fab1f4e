"""What passes share: modules that have something for them, and who reads what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..modules import Module, Netlist
from ..operations import Operation


def each_body(
    netlist: Netlist,
    concerns: Callable[[Operation], bool],
    rewritten: Callable[[list[Operation]], list[Operation]],
) -> Netlist:
    """A design whose modules with an operation that concerns a pass have other bodies."""
    modules = [
        module.with_body(rewritten(module.operations))
        if any(concerns(op) for op in module.operations)
        else module
        for module in netlist.modules
    ]
    return netlist.with_modules(modules)


def readers_of(module: Module) -> Counter[str]:
    """How often each value of a module is read, its outputs included."""
    found = Counter(name for op in module.operations for name in op.operands)
    found.update(value for _, _, value in module.ports.outputs)
    return found
