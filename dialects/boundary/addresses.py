"""Where the elements of a NumPy array lie, without the dictionary that NumPy makes to say so."""

from __future__ import annotations

from ctypes import c_char, c_size_t, sizeof

import numpy as np

_FIELD = object.__basicsize__
"""The first field of NumPy's ``PyArrayObject`` behind Python's header is the address."""
_at = c_size_t.from_address
_HEADER = c_char * (6 * sizeof(c_size_t) + 4)
"""That address, the number of dimensions, the places of extents and strides, base, type, flags."""


class _Subclass(np.ndarray):
    """Any: what NumPy adds to an array stands behind its fields."""


def _stated(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _read(array: np.ndarray) -> int:
    return _at(id(array) + _FIELD).value


def _is_readable() -> bool:
    whole = np.zeros((3, 4), np.float32)
    probes = (whole, whole[1:], whole[:, 1], np.zeros((), np.int8), whole.view(_Subclass))
    return all(_read(array) == _stated(array) for array in probes)


address_of = _read if _is_readable() else _stated
"""The address of an array's first element; twenty times faster where the field can be read."""


header_at = _HEADER.from_address
"""``header_at(id(array) + HEADER).raw`` are an array's fields: while these bytes, its class and its
shape stay, so do its elements' address and type, and whether it is contiguous, aligned and writable."""
HEADER = _FIELD


def _shows_changes() -> bool:
    array = np.zeros(4, np.float32)
    seen = {header_at(id(array) + HEADER).raw}
    array.setflags(write=False)
    seen.add(header_at(id(array) + HEADER).raw)
    views = (array[1:], array[::2], array.view(np.int32), array.reshape(2, 2))
    seen.update(header_at(id(view) + HEADER).raw for view in views)
    return len(seen) == len(views) + 2


headers_are_known = address_of is _read and _shows_changes()
"""Whether the fields lie there in this NumPy."""
