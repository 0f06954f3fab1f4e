"""The packed argument list of the entry function: a ``void **`` to the words of a call.

An array passes as its descriptor (address twice, offset, extents, strides), a scalar
argument as the address of its cell. The order is: the top's arguments, array results, scalar results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from allo.dialects.boundary.arguments import Parameter, Signature

_HEAD = 3
"""Words of a descriptor before the extents: two addresses and the offset."""


class EntryLayout:
    """Where each value of a call goes; computed once for a module."""

    def __init__(self, signature: Signature) -> None:
        results = signature.results
        count = len(signature.arguments)
        self._order = sorted(range(len(results)), key=lambda i: results[i].shape is None)
        self._parameters = (*signature.arguments, *(results[i] for i in self._order))
        words: list[int] = []
        slots: list[int] = []
        self._arrays: list[tuple[int, int]] = []
        self._scalars: list[tuple[int, int]] = []
        self._open: list[tuple[int, int]] = []
        for position, parameter in enumerate(self._parameters):
            if parameter.shape is None and position < count:
                self._scalars.append((position, len(slots)))
                slots.append(0)
                continue
            self._arrays.append((position, len(words)))
            if None in (parameter.shape or ()):
                self._open.append((position, len(words)))
            start = len(words)
            words += [0, 0, 0, *_extents_and_strides(_closed(parameter))]
            slots += [8 * word for word in range(start, len(words))]
        self._words = np.array(words or [0], np.int64)
        self._slots = np.array(slots or [0], np.int64)

    def pack(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(pointers, words) of a call; both must stay alive during it."""
        cells = [*inputs, *(outputs[i] for i in self._order)]
        words = self._words.copy()
        for position, word in self._arrays:
            words[word] = words[word + 1] = _address(cells[position])
        for position, word in self._open:
            shape = cells[position].shape[: len(self._parameters[position].shape or ())]
            tail = _extents_and_strides(shape)
            words[word + _HEAD : word + _HEAD + len(tail)] = tail
        pointers = self._slots + _address(words)
        for position, slot in self._scalars:
            pointers[slot] = _address(cells[position])
        return pointers, words


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _closed(parameter: Parameter) -> tuple[int, ...]:
    return tuple(extent or 0 for extent in parameter.shape or ())


def _extents_and_strides(shape: Sequence[int]) -> list[int]:
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return [*shape, *reversed(strides)]
