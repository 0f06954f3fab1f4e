"""Fully connected layers of int8 side by side, each with as many multipliers as keep all equally busy.

A layer of ``n`` inputs and ``m`` outputs adds up ``lanes`` outputs at once, so it takes
``n * ceil(m / lanes)`` cycles for its products, and some before and behind them. With samples one behind
the other and each layer at another sample, a sample takes as long as the slowest layer.
:func:`folds_for` finds the shortest such time for a number of multipliers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allo import Partition

STARTS = 16
"""Sums that a layer sets to their biases at once, at most."""
ENDS = (1, 2, 4, 8)
"""Sums that a layer may bring to eight bits at once: powers of two, as the banks of its sums."""
BLOCKS = 13 / 10
"""Multiplier blocks of a step to eight bits, as estimated for the networks of MLPerf Tiny."""


@dataclass(frozen=True, slots=True)
class Fold:
    """A layer.

    Attributes:
        inputs, outputs: of the layer.
        lanes: outputs whose products are added up at once.
        ends: outputs that are brought to eight bits at once.
    """

    inputs: int
    outputs: int
    lanes: int = 1
    ends: int = 1

    @property
    def starts(self) -> int:
        """Outputs that are set to their biases at once."""
        return min(STARTS, self.lanes)

    @property
    def cycles(self) -> int:
        """Of a sample, about."""
        before, behind = -(-self.outputs // self.starts), -(-self.outputs // self.ends)
        return self.inputs * -(-self.outputs // self.lanes) + before + behind

    @property
    def blocks(self) -> float:
        """Multiplier blocks, about."""
        return self.lanes + self.ends * BLOCKS

    def within(self, cycles: int) -> Fold | None:
        """The cheapest fold of this layer that takes at most so many cycles."""
        found = [
            fold
            for ends in ENDS
            for turns in range(1, max(1, cycles // self.inputs) + 1)
            if (fold := Fold(self.inputs, self.outputs, -(-self.outputs // turns), ends)).cycles
            <= cycles
        ]
        return min(found, key=lambda fold: fold.blocks, default=None)


def folds_for(shapes: Mapping[str, tuple[int, int]], multipliers: int) -> dict[str, Fold]:
    """The folds of layers that make the slowest one quickest.

    Args:
        shapes: inputs and outputs of each layer, by its path.
        multipliers: blocks that all layers have together.

    Raises:
        ValueError: fewer multipliers than layers need.
    """
    plain = {path: Fold(*shape) for path, shape in shapes.items()}
    if sum(fold.blocks for fold in plain.values()) > multipliers:
        raise ValueError(f"{multipliers} multipliers are too few for {len(plain)} layers.")
    low, high = 0, max(fold.cycles for fold in plain.values())
    best = plain
    while high - low > 1:
        cycles = (low + high) // 2
        tried = {path: fold.within(cycles) for path, fold in plain.items()}
        folds = {path: fold for path, fold in tried.items() if fold is not None}
        if len(folds) == len(plain) and sum(f.blocks for f in folds.values()) <= multipliers:
            best, high = folds, cycles
        else:
            low = cycles
    return best


def shapes_of(s: Any) -> dict[str, tuple[int, int]]:
    """Inputs and outputs of the fully connected layers of a network of TFLite, by path."""
    found = {}
    for path, kind in s.origin.kinds().items():
        if kind == "FULLY_CONNECTED":
            outputs, inputs = s.origin.weights(path)["weight"].shape
            found[path] = inputs, outputs
    return found


def side_by_side(s: Any, folds: Mapping[str, Fold]) -> None:
    """Fold the layers of a network with samples, and let them work at once.

    Args:
        s: what ``from_tflite(…, target="mlir", samples=…)`` gives.
        folds: of each layer.
    """
    for path, fold in folds.items():
        for loop, count in (("j0", fold.starts), ("k1", fold.lanes), ("o0", fold.ends)):
            one_side(s, f"{path}:{loop}", count)
        s.partition(f"{path}:row", Partition.Cyclic, 1, fold.lanes)
        s.partition(f"{path}:g_{path}_weight", Partition.Cyclic, 1, fold.lanes)
        s.partition(f"{path}:g_{path}_bias", Partition.Cyclic, 1, fold.starts)
    band = dict(s.get_loops("forward"))["samples"]
    s.pipeline(band.i1)
    s.pipeline(band.o1)
    s.dataflow(band.n0)


def one_side(s: Any, loop: str, count: int) -> None:
    """So many iterations of a loop at once."""
    if count == 1:
        s.pipeline(loop)
        return
    s.split(loop, count)
    s.unroll(f"{loop}.inner")
    s.pipeline(f"{loop}.outer")
