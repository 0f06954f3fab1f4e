"""The integers of every tensor of a file in NumPy, from code of its own: no kernel, no graph.

It computes from the file's tensors and options as TFLite's reference kernels are defined, and is compared
with the interpreter; kernels are compared with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..network import Network
from . import functions, pairs, pools, products, shapes, softmax
from .family import Compute

COMPUTE: dict[str, Compute] = {
    kind: compute
    for family in (products, pairs, pools, shapes, softmax, functions)
    for kind, compute in family.COMPUTE.items()
}


class Integers:
    """Runs a file on NumPy arrays.

    Args:
        network: the file.
    """

    def __init__(self, network: Network) -> None:
        self.network = network

    def __call__(self, *inputs: Any) -> list[Array]:
        """The results of one call."""
        values = self.tensors(*inputs)
        return [values[index] for index in self.network.outputs]

    def tensors(self, *inputs: Any) -> dict[int, Array]:
        """Every tensor of one call, by its number in the file."""
        network = self.network
        values = {t.index: t.data for t in network.tensors if t.data is not None}
        values |= dict(zip(network.inputs, map(np.asarray, inputs), strict=True))
        for node in network.nodes:
            operands = [values[i] if i >= 0 else None for i in node.inputs]
            found = COMPUTE[node.kind](network, node, operands)
            parts = found if isinstance(found, list) else [found]
            for index, part in zip(node.outputs, parts, strict=True):
                result = network.tensors[index]
                values[index] = np.asarray(part, result.dtype).reshape(result.shape)
        return values
