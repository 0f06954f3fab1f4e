"""Initial values of global arrays as values of a symbolic execution."""

from __future__ import annotations

from math import prod

from allo.dialects._mlir import ir
from allo.dialects.core.dense import dense_values
from allo.dialects.core.signature import symbol

from .integers import normal
from .terms import Terms, Value, width_of


def initial_values(terms: Terms, definition: ir.Operation) -> list[Value]:
    """The row-major elements of a ``memref.global``; undefined ones where it has no values."""
    kind = ir.MemRefType(ir.TypeAttr(definition.attributes["type"]).value)
    name = symbol(definition)
    element, count = str(kind.element_type), prod(kind.shape)
    has_values = "initial_value" in definition.attributes
    initial = definition.attributes["initial_value"] if has_values else None
    if initial is None or isinstance(initial, ir.UnitAttr):
        return [terms.make(f"undef {name}[{p}]", element) for p in range(count)]
    numbers = dense_values(initial, kind.element_type, count)
    bits = width_of(element)
    if bits:
        return [normal(int(n), bits, element == "index") for n in numbers]
    return [terms.make(f"const {float(n)!r}", element) for n in numbers]
