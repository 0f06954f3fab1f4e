"""What the networks have in common: random arguments, a reference in NumPy, and the work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Network:
    """A network of one size.

    Attributes:
        kernel: the kernel, without a schedule.
        shapes: of its arguments, in their order: the input, then the weights.
        reference: the same in NumPy, on arrays of these shapes.
        multiplications: of products and convolutions in one run.
        kind: of its elements: ``"float32"`` or ``"int8"``, then int32 where a shape has one dimension.
    """

    kernel: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    reference: Callable[..., np.ndarray]
    multiplications: int
    kind: str = "float32"

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random arguments, with weights by which float32 activations keep their size from layer to layer."""
        if self.kind == "int8":
            return [_integers(rng, shape) for shape in self.shapes]
        found = [rng.standard_normal(self.shapes[0])]
        for shape in self.shapes[1:]:
            summed = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
            scale = 0.1 if len(shape) == 1 else 1.0 / np.sqrt(summed)
            found.append(rng.standard_normal(shape) * scale)
        return [array.astype(np.float32) for array in found]


def _integers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Weights and images of int8, or the biases that a one-dimensional array has."""
    if len(shape) == 1:
        return rng.integers(-1000, 1001, shape).astype(np.int32)
    return rng.integers(-127, 128, shape).astype(np.int8)
