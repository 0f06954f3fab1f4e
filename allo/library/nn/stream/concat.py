"""Two images side by side: the channels of one, then those of the other, pixel by pixel."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt

from .shapes import Element, divides
from .units import Unit, unit


def both_of(first: Element, second: Element) -> Element:
    """The narrowest element that holds those of two images."""
    return Element.of(min(first.low, second.low), max(first.high, second.high))


def concat(
    first: Element,
    second: Element,
    channels: tuple[int, int],
    *,
    simd: int = 1,
    pixels: int = 1,
    name: str = "concat",
) -> Unit:
    """A unit that gives, for each pixel, the words of one image and then those of another.

    Args:
        first, second: elements of the two; :func:`both_of` them go.
        channels: of a pixel of each.
        simd: elements in a word.
        pixels: that come of each.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the channels of both.
    """
    for count in channels:
        divides(f"simd of {name}", simd, count)
    before, words = channels[0] // simd, sum(channels) // simd
    gone = both_of(first, second)
    one, two, size = first.bits, second.bits, gone.bits
    one_kind, two_kind, kind = first.kind, second.kind, gone.kind
    one_bits, two_bits, go_bits = one * simd, two * simd, size * simd

    def joining(
        come: Stream[UInt(one_bits), 2],
        other: Stream[UInt(two_bits), 2],
        go: Stream[UInt(go_bits), 2],
    ):
        """Two images side by side."""
        for _p, k in allo.grid(pixels, words, name="pixels"):
            out: UInt(go_bits) = 0
            if k < before:
                mine: UInt(one_bits) = come.get()
                with allo.meta_for(simd) as i:
                    x: one_kind = mine[one * i : one * i + one]
                    a: kind = x
                    out[size * i : size * i + size] = a
            else:
                theirs: UInt(two_bits) = other.get()
                with allo.meta_for(simd) as i:
                    y: two_kind = theirs[two * i : two * i + two]
                    b: kind = y
                    out[size * i : size * i + size] = b
            go.put(out)

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:k")

    return unit(joining, name, schedule, locals())
