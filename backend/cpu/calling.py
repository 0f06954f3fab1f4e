"""The packed argument list of the entry function: a ``void **`` to the words of a call.

An array passes as its descriptor (address twice, offset, extents, strides), a scalar
argument as the address of its cell. The order is: the top's arguments, array results, scalar results.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from allo.dialects.boundary.addresses import HEADER, address_of, header_at, headers_are_known
from allo.dialects.boundary.arguments import Parameter, Signature
from allo.dialects.boundary.storage import is_native, natural_dtype

_HEAD = 3
"""Words of a descriptor before the extents: two addresses and the offset."""


class Frame:
    """The memory of one call's packed arguments: the words, and the address of each argument.

    ``known`` are the arrays whose addresses the words hold, where they may be passed as they are: the
    shape and NumPy's fields (:data:`header_at`) of each.
    """

    __slots__ = ("address", "known", "slots", "words")

    def __init__(self, words: array[int], slots: array[int]) -> None:
        self.words = words[:]
        start = self.words.buffer_info()[0]
        self.slots = array("q", [start + slot for slot in slots])
        self.address = self.slots.buffer_info()[0]
        self.known: list[tuple[tuple[int, ...], bytes]] = []


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
            words += [0, 0, 0, *_extents_and_strides(parameter.extents)]
            slots += [8 * word for word in range(start, len(words))]
        self._words = array("q", words or [0])
        self._slots = array("q", slots or [0])
        self._spare: list[Frame] = []

    def pack(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> Frame:
        """The packed arguments of a call; the cells must stay alive during it."""
        cells = [*inputs, *(outputs[i] for i in self._order)]
        frame = self.take()
        frame.known = []
        words = frame.words
        for position, word in self._arrays:
            words[word] = words[word + 1] = address_of(cells[position])
        for position, word in self._open:
            shape = cells[position].shape[: len(self._parameters[position].shape or ())]
            for offset, value in enumerate(_extents_and_strides(shape)):
                words[word + _HEAD + offset] = value
        for position, slot in self._scalars:
            frame.slots[slot] = address_of(cells[position])
        return frame

    def give_back(self, frame: Frame) -> None:
        """The call is over: another one may use its memory."""
        self._spare.append(frame)

    def words_of(self, position: int) -> int:
        """Where the descriptor begins of an array, an argument or, behind those, a result."""
        return dict(self._arrays)[position]

    def take(self) -> Frame:
        """A frame that no other call has: threads may call a module at once."""
        try:
            return self._spare.pop()
        except IndexError:
            return Frame(self._words, self._slots)


class _Plain(NamedTuple):
    """What an array must be to be passed as it is: ``size`` in bytes, ``word`` its place in a frame."""

    shape: tuple[int, ...]
    dtype: np.dtype
    size: int
    written: bool
    word: int


class DirectArguments:
    """Arrays of a call that are what the kernel takes: nothing is converted, nothing refused.

    This decides in a microsecond what :meth:`Signature.bind` decides for every case. It knows only
    "as declared"; whatever else an argument may be, and every error, is left to that method.
    """

    def __init__(self, signature: Signature, layout: EntryLayout) -> None:
        self._layout = layout
        count = len(signature.arguments)
        rules = _plain_rules((*signature.arguments, *signature.results), layout)
        self._rules = None if rules is None else rules[:count]
        self._results = [] if rules is None else rules[count:]
        self._ordered = any(p.written for p in signature.arguments) and count > 1

    def pack(self, values: Sequence[Any]) -> Frame | None:
        """The packed arguments of a call; None where one may not be passed as it is."""
        rules = self._rules
        if rules is None or len(values) != len(rules):
            return None
        frame = self._layout.take()
        if frame.known and _are_known(values, frame.known):
            return frame
        frame.known = []
        words = frame.words
        spans = []
        for value, (shape, dtype, size, written, word) in zip(values, rules, strict=True):
            if type(value) is not np.ndarray or value.shape != shape or value.dtype is not dtype:
                return None
            flags = value.flags
            if not (flags.carray if written else flags.c_contiguous and flags.aligned):
                return None
            address = words[word] = words[word + 1] = address_of(value)
            spans.append((address, address + size))
        if self._ordered:
            spans.sort()
            end = 0
            for begin, following in spans:
                if begin < end:
                    return None
                end = following
        if headers_are_known:
            frame.known = [
                (rule.shape, header_at(id(value) + HEADER).raw)
                for value, rule in zip(values, rules, strict=True)
            ]
        return frame

    def outputs(self, frame: Frame) -> list[np.ndarray]:
        """Memory for the results of a call, all zeros."""
        made = []
        for shape, dtype, _, _, word in self._results:
            cells = np.zeros(shape, dtype)
            frame.words[word] = frame.words[word + 1] = address_of(cells)
            made.append(cells)
        return made


def _are_known(values: Sequence[Any], known: list[tuple[tuple[int, ...], bytes]]) -> bool:
    """Whether these are the arrays of the frame's last call, or others in their place, unchanged."""
    for value, (shape, header) in zip(values, known, strict=True):
        if type(value) is not np.ndarray or value.shape != shape:
            return False
        if header_at(id(value) + HEADER).raw != header:
            return False
    return True


def _plain_rules(parameters: Sequence[Parameter], layout: EntryLayout) -> list[_Plain] | None:
    rules = []
    for position, parameter in enumerate(parameters):
        shape = parameter.shape
        if not shape or not is_native(parameter.dtype) or parameter.layout is not None:
            return None
        extents = tuple(extent or 0 for extent in shape)
        dtype = natural_dtype(parameter.dtype)
        size = int(np.prod(extents)) * dtype.itemsize
        if not size:
            return None
        rules.append(_Plain(extents, dtype, size, parameter.written, layout.words_of(position)))
    return rules


def _extents_and_strides(shape: Sequence[int]) -> list[int]:
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return [*shape, *reversed(strides)]
