"""What processes of a design take, as sums of a few terms that are fitted to estimates of small designs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sumprod
from typing import Any

import numpy as np

KINDS = ("lut", "ff", "dsp", "bram", "uram")


def least_squares(rows: Sequence[Sequence[float]], values: Sequence[float]) -> np.ndarray:
    """Factors of the columns with which the rows come nearest to the values."""
    matrix = np.array(rows, np.float64)
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-12)
    found, *_ = np.linalg.lstsq(matrix / scale, np.array(values), rcond=None)
    result: np.ndarray = found / scale
    return result


class Fits[S]:
    """What one instance of each process takes, as a function of the sizes of a design.

    Args:
        samples: of estimates, each with ``processes`` by their names.
        sizes: of each sample.
        terms: of a process; one that is not there takes the mean of the estimates.
    """

    def __init__(
        self,
        samples: Sequence[Mapping[str, Any]],
        sizes: Sequence[S],
        terms: Mapping[str, tuple[Callable[[S], float], ...]],
    ) -> None:
        self.names = sorted({name for sample in samples for name in sample["processes"]})
        self._terms = {name: (one, *terms.get(name, ())) for name in self.names}
        self._fits: dict[tuple[str, str], list[float]] = {}
        for name in self.names:
            found = [
                (sample["processes"][name], [term(size) for term in self._terms[name]])
                for sample, size in zip(samples, sizes, strict=True)
                if name in sample["processes"]
            ]
            rows = [row for _, row in found]
            for kind in KINDS:
                values = [float(taken.get(kind, 0)) for taken, _ in found]
                self._fits[name, kind] = least_squares(rows, values).tolist()

    def of(self, name: str, sizes: S) -> dict[str, float]:
        """What one instance takes."""
        row = [term(sizes) for term in self._terms[name]]
        return {kind: max(0.0, sumprod(self._fits[name, kind], row)) for kind in KINDS}


def one(sizes: object) -> float:
    """What a process takes whatever the sizes are."""
    return 1.0


def total(parts: Iterable[tuple[int, Mapping[str, float]]]) -> dict[str, float]:
    """The sum of so many of each."""
    found = dict.fromkeys(KINDS, 0.0)
    for count, taken in parts:
        for kind in KINDS:
            found[kind] += count * taken[kind]
    return found
