"""The sliding-window unit: an image comes pixel by pixel, and windows go word by word."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt

from .shapes import Window, divides
from .units import Unit, unit


def window(
    shape: Window,
    *,
    simd: int = 1,
    samples: int = 1,
    bits: int = 8,
    fill: int = 0,
    groups: int = 1,
    name: str = "window",
) -> Unit:
    """A unit that gives, for each place of the result, the elements of its window.

    Words of ``simd`` channels come in the order ``[row, column, channel]`` and go in the order ``[row,
    column, window row, window column, channel]``, one in each cycle. The rows that windows read, and those
    that come meanwhile, lie in one memory of :attr:`Window.slots` rows that is written in a circle: while
    the windows of a row go, the rows that the next one needs are taken, spread over its places, so that
    images follow each other without a gap.

    Args:
        shape: the image and its windows.
        simd: channels in a word.
        samples: images that come one behind the other.
        bits: of a channel.
        fill: the element outside of the image, as a level of ``bits`` bits.
        groups: of channels: what goes is in the order ``[row, column, group, window row, window column,
            channel]``, in which grouped layers take it. Those of one sum for each channel take it with a
            group for each word.
        name: of the kernel.

    Raises:
        OptionError: ``simd`` does not divide the channels of a group, or the groups not the channels.
    """
    height, width, channels = shape.image
    divides(f"groups of {name}", groups, channels)
    divides(f"simd of {name}", simd, channels // groups)
    words, rows = channels // simd, shape.slots
    part = words // groups
    kh, kw = shape.kernel
    (sh, sw), (dh, dw) = shape.stride, shape.dilation
    above, left_of = shape.before
    down, across = shape.places
    columns, last = shape.columns, shape.last
    wide, row, most = bits * simd, width * words, samples - 1
    empty = sum((fill & ((1 << bits) - 1)) << (bits * k) for k in range(simd))
    first = shape.needed(0)
    start, step = -above % rows, sh % rows
    turn = (height - last * sh) % rows
    # Words that are taken at each place of a row and at all but the first, of images and of the last one.
    totals = [[n * words for n in part] for part in (shape.amounts, shape.final_amounts)]
    rates = [[-(-n // (words * columns)) * words for n in part] for part in totals]
    rests = [
        [n - q for n, q in zip(*part, strict=True)] for part in zip(totals, rates, strict=True)
    ]
    # By the row before: a row follows the last one.
    both = [[*zip(*pair, strict=True)] for pair in zip(rates, rests, strict=True)]
    runs = [_runs([*pairs[1:], pairs[0]]) for pairs in both]
    usual, final = len(runs[0]), len(runs[1])
    begins, ends, paces, others = zip(*(runs[0] + runs[1]), strict=True)
    only = int(samples == 1)
    pace, now = rates[only][0], rests[only][0]
    count = max(map(max, totals)).bit_length() + 1
    bits_of_slot = max(1, (rows - 1).bit_length())
    # Rows begin at multiples of a power of two, so that an address is put together and not added up.
    bits_of_column = max(1, (row - 1).bit_length())
    pitch, across_row = 1 << bits_of_column, sw * words
    left_column = -left_of * words % pitch

    def sliding(come: Stream[UInt(wide), 2], go: Stream[UInt(wide), 2]):
        """Windows of images."""
        held: UInt(wide)[rows, pitch]
        for r, p in allo.grid(first, row, name="first"):
            held[r, p] = come.get()
        base: UInt(bits_of_slot) = start
        slot: UInt(bits_of_slot) = first % rows
        place: UInt(count) = 0
        here: UInt(count) = pace  # words to take at this place
        left: UInt(count) = now  # in this row, at places to the right
        rate: UInt(count) = pace  # at each place of this row
        column: UInt(bits_of_column) = left_column  # of the first word of the window
        here_beside: UInt(count) = 0
        left_beside: UInt(count) = 0
        base_of_next: UInt(bits_of_slot) = 0
        left_of_next: UInt(count) = 0
        rate_of_next: UInt(count) = 0
        for n, y, x, g, i, j, k in allo.grid(
            samples, down, columns, groups, kh, kw, part, name="next"
        ):
            left_now: UInt(count) = left
            rate_now: UInt(count) = rate
            base_now: UInt(bits_of_slot) = base
            if here > 0:
                held[slot, place] = come.get()
                here = here - 1
                if place == row - 1:
                    place = 0
                    slot = slot + 1
                else:
                    place = place + 1
            at: UInt(bits_of_slot) = base + i * dh
            word: UInt(wide) = empty
            if (
                y * sh + i * dh >= above
                and y * sh + i * dh < height + above
                and x * sw + j * dw >= left_of
                and x * sw + j * dw < width + left_of
            ):
                inside: UInt(bits_of_column) = column + (j * dw * words + g * part + k)
                word = held[at, inside]
            with allo.meta_if(columns > across):
                if x < across:
                    go.put(word)
            with allo.meta_else():
                go.put(word)
            # What the next place and the next row take was found an iteration ago.
            if g == groups - 1 and i == kh - 1 and j == kw - 1 and k == part - 1:
                if x == columns - 1:
                    base = base_of_next
                    column = left_column
                    here = rate_of_next
                    left = left_of_next
                    rate = rate_of_next
                else:
                    column = column + across_row
                    here = here_beside
                    left = left_beside
            here_beside = rate_now if rate_now < left_now else left_now
            left_beside = left_now - rate_now if rate_now < left_now else 0
            base_of_next = base_now + (turn if y == last else step)
            rate_of_next = 0
            left_of_next = 0
            if (y == last and n >= most - 1) or n == most:
                with allo.meta_for(final) as m:
                    if y >= begins[usual + m] and y < ends[usual + m]:
                        rate_of_next = paces[usual + m]
                        left_of_next = others[usual + m]
            else:
                with allo.meta_for(usual) as m:
                    if y >= begins[m] and y < ends[m]:
                        rate_of_next = paces[m]
                        left_of_next = others[m]

    def schedule(s: Schedule) -> None:
        s.pipeline(f"{name}:p")
        s.pipeline(f"{name}:k")

    return unit(sliding, name, schedule, locals())


def _runs(pairs: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Ranges of rows of equal pairs: from, to, and the pair."""
    found: list[tuple[int, int, int, int]] = []
    for y, pair in enumerate(pairs):
        if found and found[-1][2:] == pair:
            found[-1] = (found[-1][0], y + 1, *pair)
        else:
            found.append((y, y + 1, *pair))
    return found
