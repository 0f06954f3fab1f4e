"""The ends of graphs on streams: levels as floats, as they are, or whatever floats are computed of them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..graph import Operator, Ref
from .integers import whole_of
from .levels import refused


def ends(reading: Any, op: Operator, fused: set[str]) -> bool:
    """Take an operator as the end of the network, which makes floats of levels; False where it makes none."""
    if reading.meta_of(op).dtype != "float32" or not reading.layers:
        return False
    args, library = op.args, reading.library
    is_simple = op.target in ("levels.table", "levels.scaled")
    source = reading.named(args["input"]) if is_simple else ""
    if reading.model.outputs != [op.name] or reading.layers[-1].name != source:
        _tail(reading, op, fused)
        return True
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


def _tail(reading: Any, op: Operator, fused: set[str]) -> None:
    """Add the layer of all operators from one that makes floats to the result, on a whole image.

    Raises:
        UnsupportedOperatorError: they read other streams, or an image of several pixels.
    """
    model = reading.model
    tail = model.operators[model.operators.index(op) :]
    made = {each.name for each in tail}
    known = {*model.inputs, *reading.pixels, *(each.name for each in model.operators)}
    read = {name for each in tail for name in each.refs()} - made
    sources = [name for name in read if name in known]
    last = reading.layers[-1].name
    if [reading.named(Ref(name)) for name in sources] != [last] or tail[-1].name != model.outputs[
        0
    ]:
        raise refused(
            op,
            "makes floats in the midst of the network",
            'a quantiser behind it; results="integers" leaves out a softmax at the end.',
        )
    (source,) = sources
    if reading.channels_first and reading.pixels[last][:2] != (1, 1):
        raise refused(op, "makes floats of an image", "a mean, or a layer of all pixels before it.")
    reading.layers.append(whole_of(reading, Ref(source), tail))
    shape = reading.meta_of(tail[-1]).shape
    reading.pixels[tail[-1].name] = (1, 1, prod(shape))
    fused |= made


def as_levels(reading: Any, last: str) -> None:
    """Let the levels of the last layer be the result."""
    library, name = reading.library, reading.layers[-1].name
    shape = reading.pixels[name]
    options = {"channels_first": reading.channels_first}
    reading.end = lambda count, element: library.sink(count, shape, element=element, **options)
    reading.dtype = str(reading.layers[-1].element.dtype)
