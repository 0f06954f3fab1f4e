"""Words of images: from arrays, of other widths, for two readers, and of some pixels alone."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt

from .shapes import INT8, Element, divides
from .units import Unit, unit


def resize(
    elements: int, come_simd: int, go_simd: int, *, bits: int = 8, name: str = "resize"
) -> Unit:
    """A unit that gives the elements of words in wider or narrower words.

    Args:
        elements: that come in all.
        come_simd, go_simd: elements of a word that comes, and of one that goes: one divides the other.
        bits: of an element.
        name: of the kernel.

    Raises:
        OptionError: neither width divides the other.
    """
    wide, narrow = max(come_simd, go_simd), min(come_simd, go_simd)
    divides(f"A word of {name}", narrow, wide)
    parts, words = wide // narrow, elements // wide
    come_bits, go_bits = bits * come_simd, bits * go_simd
    part, whole = bits * narrow, bits * wide
    rest = whole - part

    def wider(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """Several words in one."""
        word: UInt(go_bits) = 0
        is_last: UInt(1) = 0
        for _w, k in allo.grid(words, parts, name="parts"):
            new: UInt(go_bits) = come.get()
            word = (word >> part) | (new << rest)
            if is_last == 1:
                go.put(word)
            is_last = 1 if k == parts - 2 else 0

    def narrower(come: Stream[UInt(come_bits), 2], go: Stream[UInt(go_bits), 2]):
        """One word in several."""
        rest_of_word: UInt(come_bits) = 0
        for _w, k in allo.grid(words, parts, name="parts"):
            word: UInt(come_bits) = 0
            if k == 0:
                word = come.get()
            else:
                word = rest_of_word
            go.put(word[0:part])
            rest_of_word = word >> part

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:k")

    return unit(wider if go_simd >= come_simd else narrower, name, schedule, locals())


def fork(words: int, *, bits: int = 8, name: str = "fork") -> Unit:
    """A unit that gives each word to two streams.

    Args:
        words: that come.
        bits: of a word.
        name: of the kernel.
    """

    def both(come: Stream[UInt(bits), 2], go: Stream[UInt(bits), 2], aside: Stream[UInt(bits), 2]):
        """Each word twice."""
        for _w in range(words):
            word: UInt(bits) = come.get()
            go.put(word)
            aside.put(word)

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:_w")

    return unit(both, name, schedule, locals())


def source(
    samples: int,
    shape: tuple[int, int, int],
    simd: int = 1,
    *,
    element: Element = INT8,
    channels_first: bool = False,
    name: str = "source",
) -> Unit:
    """A unit that gives images, ``[samples, height, width, channels]``, in words.

    Args:
        samples: images.
        shape: height, width and channels.
        simd: channels in a word.
        element: of the images.
        channels_first: whether the array is ``[samples, channels, height, width]``.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the channels.
    """
    height, width, channels = shape
    divides(f"simd of {name}", simd, channels)
    bits, kind = element.bits, element.kind
    words, wide = channels // simd, bits * simd
    top = wide - bits
    inner = (channels, height, width) if channels_first else (height, width, channels)
    e1, e2, e3 = inner

    def giving(image: kind[samples, e1, e2, e3], go: Stream[UInt(wide), 2]):
        """Images in words."""
        word: UInt(wide) = 0
        for n, y, x, w, k in allo.grid(samples, height, width, words, simd, name="elements"):
            new: UInt(wide) = 0
            with allo.meta_if(channels_first):
                new[top : top + bits] = image[n, w * simd + k, y, x]
            with allo.meta_else():
                new[top : top + bits] = image[n, y, x, w * simd + k]
            word = (word >> bits) | new
            if k == simd - 1:
                go.put(word)

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:k")

    return unit(giving, name, schedule, locals())


def words(count: int, bits: int, times: int = 1, *, name: str = "words") -> Unit:
    """A unit that gives the words of an array, from the first to the last, so many times.

    Args:
        count: words of the array.
        bits: of a word.
        times: how often they go.
        name: of the kernel.
    """

    def giving(image: UInt(bits)[count], go: Stream[UInt(bits), 2]):
        """Words of an array."""
        for _t, k in allo.grid(times, count, name="words"):
            go.put(image[k])

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:k")

    return unit(giving, name, schedule, locals())


def thin(
    shape: tuple[int, int, int],
    stride: tuple[int, int],
    *,
    simd: int = 1,
    samples: int = 1,
    bits: int = 8,
    name: str = "thin",
) -> Unit:
    """A unit that keeps the pixels of every ``stride``-th row and column: what windows of one pixel read.

    Args:
        shape: height, width and channels of an image.
        stride: rows and columns from one pixel to the next.
        simd: channels in a word.
        samples: images.
        bits: of a channel.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the channels.
    """
    height, width, channels = shape
    divides(f"simd of {name}", simd, channels)
    words, wide = channels // simd, bits * simd
    down, across = stride

    def thinning(come: Stream[UInt(wide), 2], go: Stream[UInt(wide), 2]):
        """Some pixels of an image."""
        for _n, y, x, _k in allo.grid(samples, height, width, words, name="pixels"):
            word: UInt(wide) = come.get()
            if y % down == 0 and x % across == 0:
                go.put(word)

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:_k")

    return unit(thinning, name, schedule, locals())
