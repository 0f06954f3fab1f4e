"""When a layer takes and gives the elements of one image: what the latency of a network is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, prod

from ..layers import Border, Fold, Join, Layer, Product, Signs, Whole
from ..shapes import Window

_WINDOW, _PRODUCTS, _ENDS, _SUM, _OTHER = 5, 6, 9, 10, 2
"""Cycles from a word that comes to one that goes of a unit and the FIFO behind it, about."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a layer goes along an image, whatever its folding; each is a part of one.

    Attributes:
        head: of the image, what has come when the layer begins.
        needs: of the image, what has come when the result begins.
        until: of the image, what has come with the last element that the layer needs.
        burst: of the result, what goes behind that, as quickly as the layer can.
    """

    head: float
    needs: float
    until: float
    burst: float


@dataclass(frozen=True, slots=True)
class Cycles:
    """What a folding makes of a layer, of an image that comes alone.

    Attributes:
        first: from the beginning of the layer to the first word of its result.
        delay: from a word that comes to the one that goes because of it.
        work: from the beginning to the last word of the result, where no word is waited for.
        tail: of the burst.
    """

    first: int
    delay: int
    work: int
    tail: int


def course(layer: Layer) -> Course:
    """How a layer goes along an image."""
    if isinstance(layer, Whole):
        return Course(0.0, 1.0, 1.0, 1.0)
    if isinstance(layer, Join):
        return Course(0.0, 0.0, 1.0, 0.0)
    shape: Window | None = getattr(layer, "shape", None)
    places: int = getattr(layer, "places", 1)
    if shape is None:
        needs = 1 / places if isinstance(layer, Product | Signs) else layer.lag
        return Course(0.0, needs, 1.0, 1 / places)
    if isinstance(layer, Product) and prod(shape.kernel) == 1:
        return Course(0.0, 0.0, _last_kept(shape), 1 / places)
    head = shape.needed(0) / shape.image[0]
    return Course(head, head, 1.0, _behind(shape) / prod(shape.places))


def cycles(layer: Layer, fold: Fold, works: Mapping[str, int]) -> Cycles:
    """What a folding makes of a layer.

    Args:
        layer: the layer.
        fold: of it.
        works: cycles of the functions of layers on whole images, by name.
    """
    if isinstance(layer, Whole):
        work = works[layer.name] + _OTHER
        return Cycles(work, work, prod(layer.come_shape) + work + layer.elements, layer.elements)
    if isinstance(layer, Join):
        return Cycles(_SUM, _SUM, layer.elements // fold.lanes + _SUM, 0)
    if isinstance(layer, Border):
        place = prod(layer.shape.kernel) * (layer.shape.image[2] // fold.simd)
        first = prod(layer.shape.kernel) + _WINDOW + _PRODUCTS
        whole = place * layer.shape.places[0] * layer.shape.columns
        return Cycles(first, first, whole + first, _behind(layer.shape) * place)
    if isinstance(layer, Product | Signs):
        return _product(layer, fold)
    return Cycles(_ENDS, _ENDS, fold.cycles + _ENDS, ceil(layer.lag * fold.cycles))


def _product(layer: Product | Signs, fold: Fold) -> Cycles:
    """Windows, the rounds over each, and the ends."""
    rows, columns = layer.weights.shape
    shape, places = layer.shape, layer.places
    by_channel = isinstance(layer, Product) and layer.is_by_channel
    has_ends = isinstance(layer, Product) and (layer.rounding or layer.steps) is not None
    steps = columns if by_channel else columns // fold.simd
    vector = rows // (fold.simd if by_channel else fold.pe) * steps
    each = max(vector, ceil(rows / fold.lanes)) if has_ends else vector
    groups = layer.groups if isinstance(layer, Product) else 1
    last = fold.pe // fold.lanes if has_ends else 0
    rest = last if by_channel else vector // groups - steps + last
    delay = _PRODUCTS + (_ENDS if has_ends else 0)
    if shape is None or (has_ends and prod(shape.kernel) == 1):
        delay += 0 if shape is None else _OTHER
        taken = places * steps if shape is None else prod(shape.image) // fold.simd
        whole = max(places * each + last, taken + rest)
        return Cycles(steps + delay, delay, whole + delay, each // groups - steps + last)
    place = prod(shape.kernel) * (shape.image[2] // fold.simd)
    delay += _WINDOW
    whole = max(place * shape.places[0] * shape.columns + rest, places * each + last)
    left = _behind(shape)
    tail = max(left * place + rest, min(left, places) * each + last)
    return Cycles(steps + delay, delay, whole + delay, tail)


def _behind(shape: Window) -> int:
    """Places whose windows go once the last pixel of an image that comes alone is there."""
    amounts, columns = shape.final_amounts, shape.columns
    row = max((y for y, amount in enumerate(amounts) if amount), default=-1)
    if row < 0:
        return prod(shape.places)
    used = ceil(amounts[row] / ceil(amounts[row] / columns))
    rest = (shape.places[0] - 1 - row) * shape.places[1] + max(0, shape.places[1] - used)
    return min(rest + 1, prod(shape.places))


def _last_kept(shape: Window) -> float:
    """The part of an image up to the last pixel that windows of one pixel read."""
    height, width, _ = shape.image
    (down, across), (below, beside) = shape.places, shape.stride
    return ((down - 1) * below * width + (across - 1) * beside + 1) / (height * width)
