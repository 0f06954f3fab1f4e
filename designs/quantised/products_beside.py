"""Products and thresholds of a perceptron in QONNX side by side, each on another sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allo import Partition

from .perceptrons_beside import STARTS, one_side


def products_beside(s: Any, lanes: Mapping[str, int], innermost: Sequence[str]) -> None:
    """Schedule a perceptron with samples, so that its layers work at once.

    A bank of weights has two ports, and serves two lanes.

    Args:
        s: what ``from_qonnx(…, target="mlir", samples=…)`` gives.
        lanes: of each product, how many sums it adds to at once, by its path: even numbers.
        innermost: the loops that take a sample and give its results.
    """
    for path, count in lanes.items():
        for loop, side in (("j0", min(STARTS, count)), ("k1", count), ("o0", 1)):
            one_side(s, f"{path}:{loop}", side)
        s.partition(f"{path}:row", Partition.Cyclic, 1, count)
        s.partition(f"{path}:g_{path}_other", Partition.Cyclic, 2, count // 2)
    for path, kind in s.origin.kinds().items():
        if kind == "Quant" and path in s.functions:
            s[path].pipeline()
    s[list(lanes)[-1]].pipeline("i1")
    band = dict(s.get_loops("forward"))["samples"]
    for loop in innermost:
        s.pipeline(f"forward:{loop}")
    s.dataflow(band.n0)
