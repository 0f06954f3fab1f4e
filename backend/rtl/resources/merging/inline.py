"""Modules drawn into those around them: synthesis packs their logic with what is around it.

FIFOs are, and products by constants on the families whose record says so: synthesis makes one of equal sums
and registers in them, and those of eight taps of a filter have many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...netlist.operations import Instance, Operation, Wire
from ..drawn import DrawnModule, bits_of_type, inputs_of

_FIFO = re.compile(r"(?:fifo|elastic)_\d+x\d+")
_PRODUCT = re.compile(r"mul_\w+_by\d+_\w+")
_MOST = 64
"""FIFOs of a module that are drawn into it; of more, each kind is counted once, which takes less time."""


def with_fifos(
    modules: Iterable[DrawnModule], *, products: bool, apart: str = ""
) -> Iterator[DrawnModule]:
    """The modules, callees first as they come, each with the operations of the FIFOs in it.

    Args:
        products: also those of products by constants (:attr:`.Cells.merges`).
        apart: a module whose FIFOs stay modules.
    """
    fifos: dict[str, DrawnModule] = {}
    for module in modules:
        drawn = _FIFO.fullmatch(module.name) or products and _PRODUCT.fullmatch(module.name)
        if drawn and not module.instances:
            fifos[module.name] = module
        inside = [instance for instance in module.instances if instance.module in fifos]
        if 0 < len(inside) <= _MOST and module.name != apart:
            for number, instance in enumerate(inside):
                module.ops += _ops(instance, fifos[instance.module], f"%{number}.")
            module.instances = [i for i in module.instances if i.module not in fifos]
        yield module


def _ops(instance: Instance, inner: DrawnModule, prefix: str) -> Iterator[Operation]:
    """The operations of an instance under names of their own, and wires for its outputs."""
    joined = {f"%{port}": value for port, value in inputs_of(instance).items()}

    def name(value: str) -> str:
        return joined.get(value) or prefix + value[1:]

    def placed(op: Operation) -> Operation:
        op.section = instance.section
        return op

    for op in inner.ops:
        result = name(op.result) if op.result else ""
        yield placed(op.renamed(result, tuple([name(v) for v in op.operands])))
    driven = dict(zip(inner.outputs, inner.output_values, strict=True))
    for result, port, kind in instance.outputs:
        yield placed(Wire(result, name(driven[port]), bits_of_type(kind)))
