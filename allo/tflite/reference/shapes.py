"""Operators that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allo.models.integers.arithmetic import Array

from ..network import Network, Node
from .family import Compute


def _same(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    found: Array = operands[0]
    return found


COMPUTE: dict[str, Compute] = {"RESHAPE": _same, "SQUEEZE": _same, "EXPAND_DIMS": _same}
