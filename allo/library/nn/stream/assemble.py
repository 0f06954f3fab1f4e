"""A network of layers: units, forks, words of the widths that each layer takes, and FIFOs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, gcd, lcm, prod
from typing import Any

from .layers import Fold, Layer, Sum, Whole
from .network import Network
from .words import fork, lookup, resize, sink, source

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
    *,
    channels_first: bool = False,
    table: Any = None,
) -> Network:
    """Join layers by streams, from the array ``image`` to the array ``result``.

    Args:
        name: of the region.
        layers: in an order in which each reads earlier ones; the last one makes the result.
        image: the name that layers read it by, and height, width and channels.
        folds: of the layers.
        samples: images of a call.
        channels_first: whether images lie as ``[channels, height, width]``.
        table: of float32, what each level of the result becomes; None for a result of int8.
    """
    made = Network(name)
    readers: dict[str, list[tuple[Layer, int]]] = {}
    for layer in layers:
        for position, read in enumerate(layer.reads):
            readers.setdefault(read, []).append((layer, position))
    sizes = {image[0]: prod(image[1]), **{layer.name: layer.elements for layer in layers}}
    bits = {image[0]: 8, **{layer.name: layer.bits for layer in layers}}
    lags = _lags(layers, image[0])
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
            if isinstance(layer, Sum):
                behind = max(lags[read] for read in layer.reads) - lags[value]
                depth = ceil(behind * sizes[value] * _MORE / simd) + _FEW
            elif isinstance(layer, Whole):
                idle = layer.work + layer.elements  # cycles in which it takes nothing
                depth = ceil(idle / slowest * sizes[value] * _MORE / simd) + _FEW
            made.depths[mine] = depth
            wanted = folds[layer.name].simd
            between = _between(simd, wanted, elements, bits[value])
            if between is not None:
                unit = resize(elements, simd, between, bits=bits[value], name=f"{mine}_part")
                made.add(unit, come=mine, go=f"{mine}_parts")
                made.depths[mine] = depth if isinstance(layer, Sum | Whole) else 2
                mine = f"{mine}_parts"
            if wanted != simd:
                narrow = f"{mine}_words"
                come_simd = between or simd
                unit = resize(elements, come_simd, wanted, bits=bits[value], name=f"{mine}_resize")
                made.add(unit, come=mine, go=narrow)
                made.depths[narrow] = layer.holds(folds[layer.name])
                if between is None:
                    made.depths[mine] = depth if isinstance(layer, Sum | Whole) else 2
                mine = narrow
            ends[layer.name, position] = mine

    first = _width(readers[image[0]], folds)
    start = source(samples, image[1], first, channels_first=channels_first)
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
        if layer is not layers[-1]:
            spread(layer.name, layer.name, simd)
            continue
        result = layer.name
        if simd > 1:
            result = f"{result}_words"
            elements = samples * layer.elements
            unit = resize(elements, simd, 1, bits=layer.bits, name=f"{layer.name}_resize")
            made.add(unit, come=layer.name, go=result)
        end = sink(samples, layer.elements)
        if table is not None:
            end = lookup(samples, layer.elements, table, bits=layer.bits)
        made.add(end, come=result, result="result")
    return made


def _between(simd: int, wanted: int, elements: int, bits: int) -> int | None:
    """The words between two whose widths do not divide each other: wide ones, which go as quickly."""
    if simd % wanted == 0 or wanted % simd == 0:
        return None
    wide = lcm(simd, wanted)
    return wide if elements % wide == 0 and wide * bits <= _WIDEST else gcd(simd, wanted)


def _width(readers: Sequence[tuple[Layer, int]], folds: Mapping[str, Fold]) -> int:
    """Elements of a word that all readers take."""
    return gcd(*(folds[layer.name].simd for layer, _ in readers)) if readers else 1


def _lags(layers: Sequence[Layer], image: str) -> dict[str, float]:
    """The part of an image that has come before each result begins."""
    lags = {image: 0.0}
    for layer in layers:
        lags[layer.name] = max(lags[read] for read in layer.reads) + layer.lag
    return lags
