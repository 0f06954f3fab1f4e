"""Kernels of the library with their arguments in external memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import allo
from allo.customize import Schedule

from ._defaults import KERNEL_SCHEDULES


def from_memory(
    kernel: Callable[..., Any],
    instantiate: Sequence[Any],
    places: Mapping[str, str],
    layouts: Mapping[str, str] | None = None,
) -> Schedule:
    """The default schedule of a kernel, with arrays in channels of memory: weights in HBM, for example.

    ::

        from_memory(nn.linear2d, [float32, float32, float32, 1, N, K], {"W": "hbm[0:4]"})

    What the kernel takes in order passes while it runs; an array that it takes otherwise, or several
    times, is copied in front of the run, by whole words of the bus. Results stay as they are.

    Args:
        kernel: a kernel of :mod:`allo.library`.
        instantiate: its template arguments.
        places: of each array that is not on chip, as ``Schedule.place`` names it.
        layouts: of arrays whose elements lie in another order, as ``Schedule.layout`` names it.

    Raises:
        PlacementError: there is no such memory, or the argument is no array.
        AttributeError: the kernel has no argument of a name.
    """
    s = allo.customize(kernel, instantiate=list(instantiate))
    for name, order in (layouts or {}).items():
        s.layout(getattr(s, name), order)
    if (default := KERNEL_SCHEDULES.get(kernel.__name__)) is not None:
        default(s)
    for name, where in places.items():
        s.place(f"{s.top_func_name}:{name}", where)
    return s


__all__ = ["from_memory"]
