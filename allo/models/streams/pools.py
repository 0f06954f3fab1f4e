"""Pools of levels, and borders around images."""

from __future__ import annotations

from typing import Any

from ..graph import Operator, Ref
from .levels import refused

_POOLS = ("aten.max_pool1d.default", "aten.max_pool2d.default", "levels.sum_pool")
_WHOLE = {"levels.sum": True, "aten.amax.default": False}
"""Of each channel: whether it adds."""
_BORDER = "aten.constant_pad_nd.default"


def layer(reading: Any, op: Operator, fused: set[str]) -> Any:
    """The layer of a pool or a border; None for other operators."""
    if reading.channels_first and op.target in _POOLS:
        return _pool(reading, op)
    if reading.channels_first and op.target in _WHOLE:
        return _of_channels(reading, op)
    if reading.channels_first and op.target == _BORDER:
        return _border(reading, op)
    return None


def _image(reading: Any, op: Operator, ref: Ref) -> tuple[int, int, int]:
    """Height, width and channels of the image that an operator takes."""
    if not reading.is_value(ref):
        raise refused(op, "takes floats", "give the input a type: input_type=(int8, 1 / 128).")
    found: tuple[int, int, int] = reading.pixels[reading.named(ref)]
    if reading.pixels_of(reading.meta(ref).shape) != found:
        raise refused(op, "reads a view of an image", "the image itself.")
    return found


def _pool(reading: Any, op: Operator) -> Any:
    """The greatest elements of windows, or their sums."""
    args, adds = op.args, op.target == "levels.sum_pool"
    image = _image(reading, op, args["self"])
    if args.get("ceil_mode"):
        raise refused(op, "has ceil_mode", "windows inside the padding.")
    kernel = (1, *args["kernel_size"])[-2:]
    shape = reading.library.Window(
        image,
        reading.pixels_of(reading.meta_of(op).shape)[:2],
        kernel,
        (1, *(args["stride"] or args["kernel_size"]))[-2:],
        (0, *args["padding"])[-2:],
        (1, *args["dilation"])[-2:],
    )
    element = reading.element_of(args["self"])
    fill = 0 if adds else element.low
    reads = (reading.named(args["self"]),)
    return reading.library.Pool(op.name, reads, shape, element, fill, adds)


def _of_channels(reading: Any, op: Operator) -> Any:
    """The sum, or the greatest element, of each channel of an image."""
    args = op.args
    image = _image(reading, op, args["self"])
    rank = len(reading.meta(args["self"]).shape)
    if rank < 3 or sorted(args["dim"]) != list(range(2, rank)):
        raise refused(
            op,
            f"reduces the dimensions {args['dim']}",
            "all dimensions of an image but its channels.",
        )
    shape = reading.library.Window(image, (1, 1), image[:2], image[:2])
    reads = (reading.named(args["self"]),)
    element = reading.element_of(args["self"])
    reading.pixels[op.name] = (1, 1, image[2])
    adds = _WHOLE[op.target]
    return reading.library.Pool(op.name, reads, shape, element, element.low, adds)


def _border(reading: Any, op: Operator) -> Any:
    """An image with a level around it."""
    args = op.args
    image = _image(reading, op, args["self"])
    pads = [*args["pad"], *[0] * 8]  # of the last dimension first: before and behind
    rank = len(reading.meta(args["self"]).shape)
    above = pads[2] if rank == 4 else 0
    others = pads[4:] if rank == 4 else pads[2:]
    if any(others) or min(pads) < 0 or rank < 3:
        raise refused(op, "pads other dimensions, or cuts", "elements around height and width.")
    places = reading.pixels_of(reading.meta_of(op).shape)[:2]
    shape = reading.library.Window(image, places, (1, 1), (1, 1), (above, pads[0]))
    element = reading.element_of(args["self"])
    fill = int(args["value"])
    if not element.low <= fill <= element.high:
        raise refused(
            op, f"pads with {fill}, which is no level of its input", "a level, such as 0."
        )
    return reading.library.Border(op.name, (reading.named(args["self"]),), shape, element, fill)
