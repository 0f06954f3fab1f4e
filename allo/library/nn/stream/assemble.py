"""A network of layers: units, forks, words of the widths that each layer takes, and FIFOs between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, gcd, lcm, prod
from typing import Any

from .foldings.latency import piled
from .layers import Fold, Join, Layer, Whole
from .network import Network
from .shapes import INT8, Element
from .words import fork, resize, source

_MORE = 1.1
"""What a FIFO beside other layers holds more than what these have taken before they give."""
_FEW = 32
_WIDEST = 1024
"""Bits of a word, at most."""


def assemble(
    name: str,
    layers: Sequence[Layer],
    image: tuple[str, tuple[int, int, int]],
    folds: Mapping[str, Fold],
    samples: int,
    end: Callable[[int, Element], Any],
    *,
    element: Element = INT8,
    channels_first: bool = False,
) -> Network:
    """Join layers by streams, from the array ``image`` to the array ``result``.

    Args:
        name: of the region.
        layers: in an order in which each reads earlier ones; the last one makes the result.
        image: the name that layers read it by, and height, width and channels.
        folds: of the layers.
        samples: images of a call.
        end: makes the unit that fills the array of results, of a number of images and their element.
        element: of images.
        channels_first: whether images lie as ``[channels, height, width]``.
    """
    made = Network(name)
    readers: dict[str, list[tuple[Layer, int]]] = {}
    for layer in layers:
        for position, read in enumerate(layer.reads):
            readers.setdefault(read, []).append((layer, position))
    sizes = {image[0]: prod(image[1]), **{layer.name: layer.elements for layer in layers}}
    kinds = {image[0]: element, **{layer.name: layer.element for layer in layers}}
    bits = {name: kind.bits for name, kind in kinds.items()}
    lags = _lags(layers, image[0])
    waiting = piled(layers, (image[0], prod(image[1])), folds)
    slowest = max(fold.cycles for fold in folds.values())
    ends: dict[tuple[str, int], str] = {}

    def spread(value: str, stream: str, simd: int) -> None:
        """Lead a stream to all that read it, in the words that they take."""
        elements = samples * sizes[value]
        open_ = readers.get(value, [])
        for number, (layer, position) in enumerate(open_):
            mine = stream
            if number < len(open_) - 1:
                mine, rest = f"{value}_to_{layer.name}", f"{value}_{number + 1}"
                unit = fork(
                    elements // simd, bits=bits[value] * simd, name=f"{value}_fork_{number}"
                )
                made.add(unit, come=stream, go=mine, aside=rest)
                stream = rest
            depth = layer.holds(folds[layer.name])
            if isinstance(layer, Join):
                behind = max(lags[read] for read in layer.reads) - lags[value]
                more = behind * sizes[value] * _MORE + layer.waits(position)
                depth = ceil(more / simd) + _FEW
            elif isinstance(layer, Whole):
                idle = layer.work + layer.elements  # cycles in which it takes nothing
                depth = ceil(idle / slowest * sizes[value] * _MORE / simd) + _FEW
            made.depths[mine] = depth
            wanted = folds[layer.name].simd
            if wanted != simd:
                made.depths[mine] = depth if isinstance(layer, Join | Whole) else 2
                mine = _resized(made, mine, (elements, bits[value]), simd, wanted)
                made.depths[mine] = layer.holds(folds[layer.name])
            ends[layer.name, position] = mine

    first = gcd(_width(readers[image[0]], folds), image[1][2])
    start = source(samples, image[1], first, channels_first=channels_first, element=element)
    pixels = f"{image[0]}_pixels"  # the input may have the name of an array
    made.add(start, image="image", go=pixels)
    spread(image[0], pixels, first)
    for layer in layers:
        fold = folds[layer.name]
        wanted = _width(readers.get(layer.name, []), folds)
        simd = lcm(wanted, fold.lanes)
        if not layer.widths(simd):
            simd = fold.lanes
        comes = [ends[layer.name, position] for position in range(len(layer.reads))]
        layer.add_to(made, fold, samples, comes, layer.name, simd)
        queue, count = layer.queue(fold, comes[0])
        made.depths[queue] = made.depths.get(queue, 2) + ceil(waiting.get(layer.name, 0) * count)
        if layer is not layers[-1]:
            spread(layer.name, layer.name, simd)
            continue
        result = layer.name
        if simd > 1:
            result = _resized(made, result, (samples * layer.elements, layer.element.bits), simd, 1)
        made.add(end(samples, layer.element), come=result, result="result")
    return made


def _resized(
    network: Network, stream: str, elements: tuple[int, int], given: int, wanted: int
) -> str:
    """Put units into a network that give words of another width; the stream of these.

    Args:
        network: the network.
        stream: that comes.
        elements: how many come in all, and the bits of one.
        given, wanted: elements of a word. Where neither divides the other, words between are
            wide ones, which go as quickly, or narrow ones.
    """
    both = lcm(given, wanted)
    if elements[0] % both or both * elements[1] > _WIDEST:
        both = gcd(given, wanted)
    for number, width in enumerate(dict.fromkeys((both, wanted))):
        if width == given:
            continue
        name = f"{stream}_words" if width == wanted else f"{stream}_wide"
        unit = resize(elements[0], given, width, bits=elements[1], name=f"{stream}_resize_{number}")
        network.add(unit, come=stream, go=name)
        stream, given = name, width
    return stream


def _width(readers: Sequence[tuple[Layer, int]], folds: Mapping[str, Fold]) -> int:
    """Elements of a word that all readers take."""
    return gcd(*(folds[layer.name].simd for layer, _ in readers)) if readers else 1


def _lags(layers: Sequence[Layer], image: str) -> dict[str, float]:
    """The part of an image that has come before each result begins."""
    lags = {image: 0.0}
    for layer in layers:
        lags[layer.name] = max(lags[read] for read in layer.reads) + layer.lag
    return lags
