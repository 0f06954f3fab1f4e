"""The integer operators of TFLite networks: images are [batch, height, width, channel], as they lie.

Sums end in TFLite's own arithmetic: a product's doubled upper half, rounded, and a shift to the right that
rounds halves away from zero (:mod:`.ends`).
"""

from __future__ import annotations

from ...body import Emitter
from . import functions, interpolated, pairs, pools, products, softmax

OPERATORS: dict[str, Emitter] = {
    **products.OPERATORS,
    **pairs.OPERATORS,
    **pools.OPERATORS,
    **softmax.OPERATORS,
    **functions.OPERATORS,
    **interpolated.OPERATORS,
}
