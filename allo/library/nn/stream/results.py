"""From words of one element to the array of results: as they are, or as floats."""

from __future__ import annotations

from typing import Any

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, float32

from .shapes import INT8, Element
from .units import Unit, unit

Shape = tuple[int, int, int]


def sink(
    samples: int,
    shape: Shape,
    *,
    element: Element = INT8,
    channels_first: bool = False,
    name: str = "sink",
) -> Unit:
    """A unit that fills ``[samples, elements]`` from words of one element.

    Args:
        samples: images.
        shape: height, width and channels of a result.
        element: of the results.
        channels_first: whether the channels of a result stand before its rows.
        name: of the kernel.
    """
    height, width, channels = shape
    elements, kind, bits = height * width * channels, element.kind, element.bits
    pixel, channel = (1, height * width) if channels_first else (channels, 1)
    is_float = element.is_float

    def taking(come: Stream[UInt(bits), 2], result: kind[samples, elements]):
        """Words in an array."""
        for n, y, x, c in allo.grid(samples, height, width, channels, name="elements"):
            level: kind = 0
            with allo.meta_if(is_float):
                word: UInt(bits) = come.get()
                level = word.bitcast(float32)
            with allo.meta_else():
                level = come.get()
            result[n, (y * width + x) * pixel + c * channel] = level

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:c")

    return unit(taking, name, schedule, locals())


def lookup(
    samples: int,
    shape: Shape,
    table: Any,
    *,
    element: Element = INT8,
    low: int = 0,
    channels_first: bool = False,
    name: str = "lookup",
) -> Unit:
    """A unit that fills ``[samples, elements]`` of float32 with what a table says of each element.

    Args:
        samples: images.
        shape: height, width and channels of a result.
        table: of the elements from ``low`` on, or one for each channel, ``[channels, elements]``.
        element: what comes.
        low: as above.
        channels_first: whether the channels of a result stand before its rows.
        name: of the kernel.
    """
    height, width, channels = shape
    elements, kind, bits = height * width * channels, element.kind, element.bits
    pixel, channel = (1, height * width) if channels_first else (channels, 1)
    count, own = np.shape(table)[-1], np.ndim(table) > 1
    flat = np.ascontiguousarray(np.asarray(table, np.float32).reshape(-1))
    size = len(flat)

    def looking(come: Stream[UInt(bits), 2], result: float32[samples, elements]):
        """A table of elements."""
        levels: float32[size] = flat
        for n, y, x, c in allo.grid(samples, height, width, channels, name="elements"):
            level: kind = come.get()
            value: float32 = 0.0
            with allo.meta_if(own):
                value = levels[c * count + (level - low)]
            with allo.meta_else():
                value = levels[level - low]
            result[n, (y * width + x) * pixel + c * channel] = value

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:c")

    return unit(looking, name, schedule, locals())


def scaled(
    samples: int,
    shape: Shape,
    scale: Any,
    offset: Any,
    *,
    element: Element = INT8,
    channels_first: bool = False,
    name: str = "scaled",
) -> Unit:
    """A unit that fills ``[samples, elements]`` of float32 with ``element * scale + offset``.

    Args:
        samples: images.
        shape: height, width and channels of a result.
        scale, offset: numbers of float32, of all channels or of each.
        element: what comes.
        channels_first: whether the channels of a result stand before its rows.
        name: of the kernel.
    """
    height, width, channels = shape
    elements, kind, bits = height * width * channels, element.kind, element.bits
    pixel, channel = (1, height * width) if channels_first else (channels, 1)
    scales = np.broadcast_to(np.asarray(scale, np.float32), (channels,)).copy()
    offsets = np.broadcast_to(np.asarray(offset, np.float32), (channels,)).copy()
    adds = bool(offsets.any())

    def scaling(come: Stream[UInt(bits), 2], result: float32[samples, elements]):
        """Levels as floats."""
        times: float32[channels] = scales
        more: float32[channels] = offsets
        for n, y, x, c in allo.grid(samples, height, width, channels, name="elements"):
            level: kind = come.get()
            number: float32 = level
            value: float32 = number * times[c]
            with allo.meta_if(adds):
                value = value + more[c]
            result[n, (y * width + x) * pixel + c * channel] = value

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:c")

    return unit(scaling, name, schedule, locals())
