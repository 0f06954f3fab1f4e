"""The greatest element of each window."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import Int, Stream, UInt

from .shapes import divides
from .units import Unit, unit


def largest(
    channels: int,
    window: int,
    *,
    simd: int = 1,
    vectors: int = 1,
    bits: int = 8,
    name: str = "largest",
) -> Unit:
    """A unit that gives the greatest element of each channel of a window: a pool.

    For each place, words of ``simd`` channels come in the order ``[channel, window]``, as a unit
    :func:`~allo.library.nn.stream.window` of ``by_channel=True`` gives them.

    Args:
        channels: of the image.
        window: elements of a window.
        simd: channels at once.
        vectors: places of all images.
        bits: of an element: 1 for bits, else of a signed integer.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the channels.
    """
    divides(f"simd of {name}", simd, channels)
    rounds, wide = channels // simd, bits * simd

    def choosing(come: Stream[UInt(wide), 2], go: Stream[UInt(wide), 2]):
        """The greatest elements."""
        best: UInt(wide) = 0
        is_last: UInt(1) = 0
        for _v, _r, k in allo.grid(vectors, rounds, window, name="windows"):
            word: UInt(wide) = come.get()
            found: UInt(wide) = word
            if k > 0:
                with allo.meta_if(bits == 1):
                    found = word | best
                with allo.meta_else():
                    for i in range(simd):
                        mine: Int(bits) = word[bits * i : bits * i + bits]
                        other: Int(bits) = best[bits * i : bits * i + bits]
                        found[bits * i : bits * i + bits] = max(mine, other)
            best = found
            if is_last == 1:
                go.put(found)
            is_last = 1 if k == window - 2 else 0

    def schedule(s: Schedule) -> None:
        if bits > 1:
            s.unroll(f"{name}:i")
        s.pipeline(f"{name}:k")

    return unit(choosing, name, schedule, locals())
