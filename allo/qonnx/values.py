"""What is known of a tensor: a constant, or a function of levels or of floats, element by element."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .reading import Array, Node


def type_of(low: int, high: int) -> str:
    """The narrowest integer type of ``low`` … ``high``."""
    if low >= 0:
        return f"uint{max(1, high.bit_length())}"
    return f"int{max((-low - 1).bit_length(), high.bit_length()) + 1}"


@dataclass(frozen=True, slots=True)
class Levels:
    """A tensor of integers in the graph that is made.

    Attributes:
        name: of the value.
        shape: its first dimension is that of the batch.
        low, high: bounds of its elements.
    """

    name: str
    shape: tuple[int, ...]
    low: int
    high: int

    @property
    def dtype(self) -> str:
        """The type that holds them."""
        return type_of(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Floats:
    """A float32 tensor in the graph that is made."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Affine:
    """``scale * level + offset``, in float64; arrays of the tensor's rank, 1 where nothing varies."""

    scale: Array
    offset: Array

    @staticmethod
    def of(scale: Array, offset: Array, rank: int) -> Affine:
        """Parameters in the shape that broadcasts with a tensor of this rank."""
        return Affine(aligned(scale, rank), aligned(offset, rank))

    def compressed(self) -> Affine:
        """The same, with an extent of 1 along each axis where nothing varies."""
        return Affine(compressed(self.scale), compressed(self.offset))

    def integers(self) -> tuple[Array, int, int] | None:
        """The unit, and factor and shift of ``unit * (factor * level + shift)``; None where there are none.

        The shift of all channels has to be the same.
        """
        shift = np.broadcast_to(self.offset / self.scale, self.scale.shape)
        for factor in (1, 2):  # two where the levels are the bits of signs
            whole = np.rint(shift * factor)
            if np.array_equal(self.scale * whole, self.offset * factor * np.ones_like(whole)):
                if np.unique(whole).size > 1:
                    return None
                return self.scale / factor, factor, int(whole.flat[0])
        return None


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a chain, element by element.

    Attributes:
        node: the node.
        place: of the data among its inputs.
        others: its other inputs, in their order; None at the place of the data. One may be a function of
            the same tensor, as in ``x * sigmoid(x)``.
        channel: the axis that parameters of one dimension belong to; None where they broadcast.
        rank: of the data.
    """

    node: Node
    place: int
    others: tuple[Array | Function | None, ...]
    channel: int | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Function:
    """A tensor each element of which depends on the element at the same place of another one.

    Attributes:
        of: that other tensor.
        start: what the levels stand for, before the first step; None of floats.
        steps: what the executor computes of it, one step behind the other.
        affine: the real value, where it is affine in the level; None where it is not.
        monotone: whether it is known to rise or fall throughout, in each channel.
    """

    of: Levels | Floats
    start: Affine | None = None
    steps: tuple[Step, ...] = ()
    affine: Affine | None = None
    monotone: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor."""
        return self.of.shape

    def then(self, step: Step, affine: Affine | None, *, monotone: bool) -> Function:
        """One step more."""
        return replace(
            self,
            steps=(*self.steps, step),
            affine=affine,
            monotone=self.monotone and monotone,
        )


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor that depends on no input.

    Attributes:
        array: its elements, as the executor has them.
        integers: those of a quantiser, so that ``array = integers * unit``; None where there are none.
        unit: of the array's rank, 1 where nothing varies.
    """

    array: Array
    integers: Array | None = None
    unit: Array | None = None


def aligned(array: Array, rank: int) -> Array:
    """An array in the rank of the tensor that it broadcasts with, in float64."""
    whole = np.asarray(array, np.float64)
    return whole.reshape((1,) * (rank - whole.ndim) + whole.shape)


def compressed(array: Array) -> Array:
    """An array with an extent of 1 along each axis where nothing varies."""
    for axis in range(array.ndim):
        first = array.take([0], axis)
        if array.shape[axis] > 1 and np.array_equal(array, np.broadcast_to(first, array.shape)):
            array = first
    return array
