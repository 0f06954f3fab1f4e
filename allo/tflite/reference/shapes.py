"""Operators that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..network import Network, Node
from ..operators.shapes import nearest_places
from .family import Compute


def _same(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    found: Array = operands[0]
    return found


def _concatenated(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    return np.concatenate(list(operands), node.options.Axis())


def _padded(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    value = network.result(node).zero
    if len(operands) > 2 and operands[2] is not None:
        value = int(operands[2].reshape(-1)[0])
    return np.pad(operands[0], operands[1].reshape(-1, 2).tolist(), constant_values=value)


def _transposed(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    return np.transpose(operands[0], operands[1].tolist())


def _sliced(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    source, begin, size = operands
    cut = tuple(
        slice(b, None if n == -1 else b + n)
        for b, n in zip(begin.tolist(), size.tolist(), strict=True)
    )
    return np.asarray(source[cut])


def _strided(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    source, begin, end, strides = operands
    options = node.options
    cut: list[Any] = []
    for d, (b, e, s) in enumerate(zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True)):
        if options.ShrinkAxisMask() >> d & 1:
            cut.append(b)
        else:
            first, last = options.BeginMask() >> d & 1, options.EndMask() >> d & 1
            cut.append(slice(None if first else b, None if last else e, s))
    return np.asarray(source[tuple(cut)])


def _split(network: Network, node: Node, operands: Sequence[Any]) -> list[Array]:
    return np.split(operands[1], len(node.outputs), int(operands[0].reshape(-1)[0]))


def _nearest(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    source, result = operands[0], network.result(node)
    rows, columns = (nearest_places(node, source.shape[d], result.shape[d]) for d in (1, 2))
    return np.asarray(source[:, rows][:, :, columns])


COMPUTE: dict[str, Compute] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _same),
    "CONCATENATION": _concatenated,
    "PAD": _padded,
    "PADV2": _padded,
    "TRANSPOSE": _transposed,
    "SLICE": _sliced,
    "STRIDED_SLICE": _strided,
    "SPLIT": _split,
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
}
