"""The greatest element of each window, or the sum of all."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt

from .shapes import INT8, Element, divides
from .units import Unit, unit


def total_of(element: Element, window: int) -> Element:
    """What sums of so many elements are."""
    return Element.of(element.low * window, element.high * window)


def pooled(
    channels: int,
    window: int,
    *,
    element: Element = INT8,
    adds: bool = False,
    simd: int = 1,
    vectors: int = 1,
    name: str = "pooled",
) -> Unit:
    """A unit that gives the greatest element of each channel of a window, or the sum of all: a pool.

    For each place, words of ``simd`` channels come in the order ``[channel, window]``, as a unit
    :func:`~allo.library.nn.stream.window` with a group for each word gives them.

    Args:
        channels: of the image.
        window: elements of a window.
        element: of the image.
        adds: whether sums go, elements :func:`total_of`, and not the greatest ones.
        simd: channels at once.
        vectors: places of all images.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the channels.
    """
    divides(f"simd of {name}", simd, channels)
    gone = total_of(element, window) if adds else element
    bits, kind, size, wide_kind = element.bits, element.kind, gone.bits, gone.kind
    rounds, wide, go_bits = channels // simd, bits * simd, size * simd
    joins = bits == 1 and not adds and not element.signed

    def choosing(come: Stream[UInt(wide), 2], go: Stream[UInt(go_bits), 2]):
        """The greatest elements, or the sums."""
        best: UInt(go_bits) = 0
        is_last: UInt(1) = 1 if window == 1 else 0
        for _v, _r, k in allo.grid(vectors, rounds, window, name="windows"):
            word: UInt(wide) = come.get()
            found: UInt(go_bits) = 0
            with allo.meta_if(joins):
                found = word if k == 0 else word | best
            with allo.meta_else():
                for i in range(simd):
                    mine: kind = word[bits * i : bits * i + bits]
                    other: wide_kind = best[size * i : size * i + size]
                    one: wide_kind = mine
                    if k > 0:
                        with allo.meta_if(adds):
                            one = other + mine
                        with allo.meta_else():
                            one = max(mine, other)
                    found[size * i : size * i + size] = one
            best = found
            if is_last == 1:
                go.put(found)
            is_last = 1 if k == window - 2 or window == 1 else 0

    def schedule(s: Schedule) -> None:
        if not joins:
            s.unroll(f"{name}:i")
        s.pipeline(f"{name}:k")

    return unit(choosing, name, schedule, locals())
