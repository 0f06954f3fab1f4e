"""Schedules from memory to memory of the kernels of PolyBench that have no design of their own here.

Each array lies in a channel of its own. Three kernels that memory could bound take a line of the bus at a
time. Of the others, nothing says what is kept on chip: what the kernel takes in order passes while it runs,
and the rest is copied, by whole words of the bus.
"""

from __future__ import annotations

import inspect

from allo.customize import Schedule

from ...kernels import NAMES as EVERY
from ...kernels import load
from .. import NAMES as DESIGNED
from . import doitgen, gemver, trisolv

NAMES = tuple(name for name in EVERY if name not in DESIGNED)
OWN = {"doitgen": doitgen.schedule, "gemver": gemver.schedule, "trisolv": trisolv.schedule}
"""Kernels that are written for a line of the bus at a time."""


def arrays_of(name: str) -> tuple[str, ...]:
    """The arguments of a kernel, all of them arrays.

    Raises:
        KeyError: when there is no such kernel.
    """
    kernel = getattr(load(name), name)
    return tuple(inspect.signature(kernel).parameters)


def schedule(name: str, size: tuple[int, ...]) -> Schedule:
    """A kernel's schedule, with each array in a channel of HBM: the n-th one in ``hbm[n]``.

    Raises:
        KeyError: when there is no such kernel.
    """
    s = OWN.get(name, load(name).schedule)(size)
    for number, array in enumerate(arrays_of(name)):
        s.place(f"{name}:{array}", f"hbm[{number}]")
    return s


__all__ = ["NAMES", "OWN", "arrays_of", "schedule"]
