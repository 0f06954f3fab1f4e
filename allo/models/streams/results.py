"""The ends of graphs on streams: levels as floats, by a table or a scale, or as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Operator
from .levels import refused


def ends(reading: Any, op: Operator) -> bool:
    """Take an operator as the end of the network, which makes floats of levels; False where it is none."""
    makes_floats = op.target in ("levels.table", "levels.scaled")
    if not makes_floats or not reading.layers:
        return False
    args, library = op.args, reading.library
    source = reading.named(args["input"])
    if reading.model.outputs != [op.name] or reading.layers[-1].name != source:
        raise refused(
            op,
            "makes floats in the midst of the network",
            'a quantiser behind it; results="integers" leaves out a softmax at the end.',
        )
    axes = list(args["axes"])
    shape = reading.pixels[source]
    is_row = shape[:2] != (1, 1) and len(reading.meta(args["input"]).shape) == 2
    if axes not in ([], [1]) or (axes and is_row):
        raise refused(
            op, f"differs along the dimensions {axes}", "one scale, or one for each channel."
        )
    options = {"channels_first": reading.channels_first}
    if op.target == "levels.table":
        table, low = np.asarray(reading.array(args["table"]), np.float32), args["low"]
        table = table.reshape(-1, table.shape[-1]) if axes else table.reshape(-1)
        reading.end = lambda count, element: library.lookup(
            count, shape, table, low=low, element=element, **options
        )
    else:
        scale, offset = (np.asarray(reading.array(args[key])) for key in ("scale", "offset"))
        reading.end = lambda count, element: library.scaled(
            count, shape, scale.reshape(-1), offset.reshape(-1), element=element, **options
        )
    reading.dtype = "float32"
    return True


def as_levels(reading: Any, last: str) -> None:
    """Let the levels of the last layer be the result."""
    library, name = reading.library, reading.layers[-1].name
    shape = reading.pixels[name]
    options = {"channels_first": reading.channels_first}
    reading.end = lambda count, element: library.sink(count, shape, element=element, **options)
    reading.dtype = str(reading.layers[-1].element.dtype)
