"""What the families of conversions share."""

from __future__ import annotations

from collections.abc import Callable

from ..building import Building
from ..network import Node

Conversion = Callable[[Building, Node], None]
"""Adds what an operator becomes to the graph."""


def window_padding(size: int, stride: int, dilation: int, extent: int, results: int) -> int:
    """What stands before an image in one dimension, where it is padded to be covered."""
    covered = (results - 1) * stride + (size - 1) * dilation + 1
    return max(covered - extent, 0) // 2
