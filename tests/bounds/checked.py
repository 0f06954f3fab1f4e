"""Arrays for kernels run as plain Python: a subscript outside raises, as no negative one wraps here."""

from __future__ import annotations

from typing import Any

import numpy as np

TARGETS: dict[str, dict[str, Any]] = {
    "cpu": {},
    "csim": {"target": "vhls"},
    "jit": {"target": "verilog", "simulator": "jit"},
    "verilator": {"target": "verilog"},
}


class Checked:
    """A NumPy array of integers that gives Python integers and refuses subscripts outside it."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values.copy()
        self.reads: list[tuple[int, ...]] = []

    def _inside(self, index: Any) -> tuple[int, ...]:
        places = index if isinstance(index, tuple) else (index,)
        for place, extent in zip(places, self.values.shape, strict=True):
            if not 0 <= place < extent:
                raise IndexError(places)
        return places

    def __getitem__(self, index: Any) -> int:
        self.reads.append(self._inside(index))
        return int(self.values[self.reads[-1]])

    def __setitem__(self, index: Any, value: int) -> None:
        self.values[self._inside(index)] = value


def in_python(kernel: Any, *args: Any) -> tuple[Any, list[np.ndarray]]:
    """What a kernel gives as plain Python, and its arrays afterwards."""
    given = [Checked(a) if isinstance(a, np.ndarray) else a for a in args]
    result = kernel(*given)
    return result, [g.values for g in given if isinstance(g, Checked)]


def on_target(module: Any, *args: Any) -> tuple[Any, list[np.ndarray]]:
    """The same of a built module."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    result = module(*given)
    return result, [g for g in given if isinstance(g, np.ndarray)]
