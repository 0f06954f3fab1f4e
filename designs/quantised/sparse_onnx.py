"""Sparse perceptrons as files of QONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graphs import Graph
from .sparse import WEIGHT_UNIT, Sparse


def exported(net: Sparse, bits: int = 6, unit: float = 1 / 8) -> Any:
    """A network as an ``onnx.ModelProto``: quantisers, products and biases, and sums of groups at the end.

    Args:
        bits, unit: of the input, which has a sign.
    """
    graph = Graph()
    value = graph.quant("features", "sample", unit, bits, signed=True, narrow=False)
    for layer, shape in enumerate(net.shapes):
        weight, bias = net.quantised(layer)
        levels = graph.quant(
            f"weights_{layer}", graph.constant(weight), WEIGHT_UNIT, 8, signed=True, narrow=True
        )
        value = graph.node("MatMul", f"product_{layer}", value, levels)
        value = graph.node("Add", f"biased_{layer}", value, graph.constant(bias))
        value = graph.quant(
            f"layer_{layer}", value, shape.unit, shape.bits, signed=shape.signed, narrow=False
        )
    members = net.shapes[-1].outputs // net.groups
    belongs = np.repeat(np.eye(net.groups), members, 0)
    groups = graph.quant("groups", graph.constant(belongs), 1.0, 2, signed=True, narrow=False)
    value = graph.node("MatMul", "sums", value, groups)
    return graph.model("sparse", "sample", (1, net.inputs), value, net.groups)
