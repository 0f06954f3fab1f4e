"""Operators: each family in a file of its own, with a table from targets to emitters.

``OPERATORS`` are those of ATen, ``INTEGERS`` those that importers make of quantised networks.
"""

from __future__ import annotations

from ..body import Emitter
from ..integers import trees
from . import (
    attention,
    convolutions,
    elementwise,
    gathers,
    integers,
    levels,
    norms,
    pools,
    products,
    quantized,
    reductions,
    shapes,
    tflite,
)

FAMILIES = (
    elementwise,
    products,
    convolutions,
    pools,
    norms,
    reductions,
    attention,
    gathers,
    shapes,
    quantized,
)

INTEGERS = {**integers.INTEGERS, **levels.LEVELS, **tflite.OPERATORS, **trees.EMITTERS}
VIEWS = shapes.VIEWS
OPERATORS: dict[str, Emitter] = {
    target: emit for family in FAMILIES for target, emit in family.OPERATORS.items()
}
