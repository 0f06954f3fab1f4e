"""Weights of layers on streams that come from outside: which, how, and the words that they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from allo.dialects.diagnostics import OptionError

from ..graph import Ref
from ..storage.choices import Storage

KEPT, STREAMED = "kept", "streamed"


@dataclass(frozen=True, slots=True)
class Outside:
    """Which weights come from outside.

    Attributes:
        storage: the weights that are arguments.
        streamed: whether they come anew for each vector, and are not kept.
    """

    storage: Storage = field(default_factory=Storage)
    streamed: bool = False

    def mode(self, path: str) -> str:
        """How the weights of a path come; "" for those that the layer holds."""
        if not self.storage.is_argument(path):
            return ""
        return STREAMED if self.streamed else KEPT


def outside_of(weights_as_args: bool | Sequence[str], weights: str) -> Outside:
    """What the options of the importers ask."""
    streamed = weights == STREAMED
    return Outside(Storage(weights_as_args or streamed, {}), streamed)


@dataclass(frozen=True, slots=True)
class Given:
    """Weights from outside.

    Attributes:
        path: of the weights.
        array: those of the file.
        rows: makes a matrix of an array of this shape.
    """

    path: str
    array: Any
    rows: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Packing:
    """The words that weights become.

    Attributes:
        given: the weights.
        layer: that takes them.
        fold: of the layer.
    """

    given: Given
    layer: Any
    fold: Any

    def __call__(self, library: Any, array: Any) -> Any:
        """The array of words of weights of the shape that the file has.

        Raises:
            OptionError: another shape, or a weight of more bits.
        """
        shape = np.shape(self.given.array)
        if np.shape(array) != shape:
            raise OptionError(
                f"The weights {self.given.path!r} have the shape {list(np.shape(array))}, and those of the "
                f"file {list(shape)}.",
                help="give an array of the file's shape: weight_data has those of the file.",
            )
        rows = self.given.rows(np.asarray(array))
        fold, weight = self.fold, self.layer.weight
        words = library.folded_words(rows, weight, fold.pe, fold.simd)
        bits = weight.bits * fold.pe * fold.simd
        sizes = [size for size in (8, 16, 32, 64) if size >= bits]
        return np.array(words, np.dtype(f"uint{sizes[0]}") if sizes else object)


def mode_of(reading: Any, ref: Any) -> tuple[str, str]:
    """The path of a product's weights, and how they come."""
    held = reading.model.weights.get(ref.name) if isinstance(ref, Ref) else None
    return (held[0], reading.outside.mode(held[0])) if held else ("", "")


def packings(reading: Any, folds: Mapping[str, Any]) -> Sequence[Packing]:
    """The packing of all weights from outside, in the order of the layers."""
    return [
        Packing(reading.given[layer.name], layer, folds[layer.name])
        for layer in reading.layers
        if layer.name in reading.given
    ]
