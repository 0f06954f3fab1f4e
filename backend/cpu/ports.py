"""Streams that are arguments of the top region: FIFOs in the memory of the caller's arrays.

A port that is fed starts full, and nobody puts into it; one that is filled starts empty. ``struct Fifo`` of
``backend/runtime/simulator.hpp`` says what the words of a FIFO are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from allo.dialects.boundary.addresses import address_of
from allo.dialects.boundary.arguments import Parameter
from allo.dialects.boundary.storage import cell_bytes
from allo.dialects.boundary.stream_arrays import passed_words

_WORDS = 12
_DATA, _COUNT, _PUT_LIMIT, _GET_FLOOR, _READ, _WRITE, _BYTES, _MOVED, _DEPTH, _STREAM = range(10)


@dataclass(frozen=True, slots=True)
class Port:
    """A stream argument while a run uses it.

    Attributes:
        fills: whether the design puts into it.
        fifo: the words of its FIFO.
    """

    name: str
    fills: bool
    fifo: np.ndarray

    @property
    def address(self) -> int:
        """Of the FIFO."""
        return address_of(self.fifo)

    @property
    def passed(self) -> int:
        """Elements that have passed."""
        left = int(self.fifo[_COUNT])
        return left if self.fills else int(self.fifo[_DEPTH]) - left

    @property
    def told(self) -> str:
        """What its outside has done, for messages."""
        return passed_words(self.fills, self.passed, int(self.fifo[_DEPTH]))


def connect(
    parameters: Sequence[Parameter],
    cells: list[np.ndarray],
    fills: Mapping[int, bool],
    numbers: Mapping[int, int],
) -> list[Port]:
    """Make FIFOs of the cells of stream arguments, whose addresses take their places.

    Args:
        numbers: which stream of the program each is.
    """
    ports = []
    for position, filled in fills.items():
        parameter, array = parameters[position], cells[position]
        size = prod(extent or 1 for extent in (parameter.shape or ())[1:])
        size *= cell_bytes(parameter.dtype)
        length = array.shape[0]
        fifo = np.zeros(_WORDS, np.int64)
        fifo[_DATA], fifo[_BYTES], fifo[_STREAM] = (
            address_of(array),
            length * size,
            numbers[position],
        )
        fifo[_DEPTH] = fifo[_PUT_LIMIT] = length
        fifo[_COUNT] = 0 if filled else length
        ports.append(Port(parameter.name, filled, fifo))
        cells[position] = np.array(ports[-1].address, np.int64)
    return ports
