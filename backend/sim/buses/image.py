"""Arrays as they lie in a board's memory: elements in cells of a power of two of bytes, with their sign.

Those that are packed have cells of as many bits as an element.
"""

from __future__ import annotations

import numpy as np


def to_image(cells: np.ndarray, count: int, width: int, cell: int, *, signed: bool) -> np.ndarray:
    """The bytes of ``count`` elements in memory, from their cells at the Python boundary.

    Args:
        width: bits of an element; ``cell`` those it takes in memory.
        signed: whether the bits above an element repeat its sign.
    """
    if not count:
        return np.zeros(cell // 8, np.uint8)
    own = np.ascontiguousarray(cells).reshape(-1).view(np.uint8).reshape(count, -1)
    if cell % 8:
        bits = np.unpackbits(own, axis=1, bitorder="little")[:, :cell]
        return np.packbits(bits.reshape(-1), bitorder="little")
    found = np.zeros((count, cell // 8), np.uint8)
    size = min(own.shape[1], cell // 8)
    found[:, :size] = own[:, :size]
    _extend(found, width, signed=signed)
    return found.reshape(-1)


def from_image(
    image: np.ndarray, cells: np.ndarray, count: int, width: int, cell: int, *, signed: bool
) -> None:
    """Put the bytes of an array in memory back into its cells.

    ``signed`` says that the boundary's cells repeat the sign (those of an index), else they hold zeros
    above an element.
    """
    if not count:
        return
    if cell % 8:
        bits = np.unpackbits(image, bitorder="little")[: count * cell].reshape(count, cell)
        image, cell = np.packbits(bits, axis=1, bitorder="little").reshape(-1), -(-cell // 8) * 8
    rows = image.reshape(count, cell // 8)
    own = cells.reshape(-1).view(np.uint8).reshape(count, -1)
    size = min(own.shape[1], rows.shape[1])
    own[:, :size] = rows[:, :size]
    _extend(own, width, signed=signed)


def deal(image: np.ndarray, ways: int, step: int) -> list[np.ndarray]:
    """The bytes of an array in so many parts: words of ``step`` bytes go to them in turn."""
    if ways == 1:
        return [image]
    rows = -(-image.nbytes // (ways * step))
    whole = np.zeros(rows * ways * step, np.uint8)
    whole[: image.nbytes] = image
    words = whole.reshape(rows, ways, step)
    return [np.ascontiguousarray(words[:, n]).reshape(-1) for n in range(ways)]


def gather(images: list[np.ndarray], size: int, step: int) -> np.ndarray:
    """The ``size`` bytes of an array from its parts."""
    if len(images) == 1:
        return images[0]
    words = [image.reshape(-1, step) for image in images]
    return np.ascontiguousarray(np.stack(words, axis=1).reshape(-1)[:size])


def _extend(rows: np.ndarray, width: int, *, signed: bool) -> None:
    """Fill the bytes of each row above ``width`` bits with its sign, or with zeros."""
    whole, part = divmod(width, 8)
    if part:
        mask = (1 << part) - 1
        top = rows[:, whole] & mask
        negative = (top >> (part - 1)) & signed
        rows[:, whole] = top | np.where(negative, 0xFF & ~mask, 0).astype(np.uint8)
        whole += 1
    else:
        negative = (rows[:, whole - 1] >> 7) & signed
    rows[:, whole:] = np.where(negative, 0xFF, 0).astype(np.uint8)[:, None]
