"""The conversion of each operator of TFLite, one file a family."""

from __future__ import annotations

from . import functions, pairs, pools, products, shapes, softmax
from .family import Conversion

FAMILIES = (products, pairs, pools, shapes, softmax, functions)

CONVERSIONS: dict[str, Conversion] = {
    kind: convert for family in FAMILIES for kind, convert in family.CONVERSIONS.items()
}
