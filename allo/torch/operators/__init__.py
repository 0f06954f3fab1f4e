"""ATen operators: each family in a file of its own, with a table from targets to emitters."""

from __future__ import annotations

from ..body import Emitter
from . import elementwise, products, shapes

_FAMILIES = (elementwise, products, shapes)

VIEWS = shapes.VIEWS
OPERATORS: dict[str, Emitter] = {
    target: emit for family in _FAMILIES for target, emit in family.OPERATORS.items()
}
