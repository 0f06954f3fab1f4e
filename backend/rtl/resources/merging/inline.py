"""FIFOs drawn into the modules around them: synthesis packs their logic with what is around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..parse import Instance, ModuleOps, Op

_FIFO = re.compile(r"(?:fifo|elastic)_\d+x\d+")
_MOST = 64
"""FIFOs of a module that are drawn into it; of more, each kind is counted once, which takes less time."""


def with_fifos(modules: Iterable[ModuleOps]) -> Iterator[ModuleOps]:
    """The modules, callees first as they come, each with the operations of the FIFOs in it."""
    fifos: dict[str, ModuleOps] = {}
    for module in modules:
        if _FIFO.fullmatch(module.name) and not module.instances:
            fifos[module.name] = module
        inside = [instance for instance in module.instances if instance.module in fifos]
        if 0 < len(inside) <= _MOST:
            for number, instance in enumerate(inside):
                module.ops += _ops(instance, fifos[instance.module], f"%{number}.")
            module.instances = [i for i in module.instances if i.module not in fifos]
        yield module


def _ops(instance: Instance, inner: ModuleOps, prefix: str) -> Iterator[Op]:
    """The operations of an instance under names of their own, and wires for its outputs."""
    joined = {f"%{port}": value for port, value in instance.inputs.items()}

    def name(value: str) -> str:
        return joined.get(value) or prefix + value[1:]

    for op in inner.ops:
        results, operands = [name(v) for v in op.results], [name(v) for v in op.operands]
        yield Op(op.name, results, operands, op.width, op.rest, instance.section, op.place)
    driven = dict(zip(inner.outputs, inner.output_values, strict=True))
    for result, port, width in instance.outputs:
        yield Op("hw.wire", [result], [name(driven[port])], width, "", instance.section)
