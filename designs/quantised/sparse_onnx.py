"""Sparse perceptrons as files of QONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sparse import WEIGHT_UNIT, Sparse


def exported(net: Sparse, bits: int = 6, unit: float = 1 / 8) -> Any:
    """A network as an ``onnx.ModelProto``: quantisers, products and biases, and sums of groups at the end.

    Args:
        bits, unit: of the input, which has a sign.
    """
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(array: Any) -> str:
        name = f"constant_{len(constants)}"
        constants.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def node(kind: str, name: str, *inputs: str, **attributes: Any) -> str:
        domain = "qonnx.custom_op.general" if kind == "Quant" else ""
        made = helper.make_node(kind, list(inputs), [name], name=name, domain=domain, **attributes)
        nodes.append(made)
        return name

    def quant(name: str, source: str, step: float, width: int, signed: bool, narrow: bool) -> str:
        parts = [constant(x) for x in (step, 0.0, width)]
        shape = {"signed": int(signed), "narrow": int(narrow), "rounding_mode": "ROUND"}
        return node("Quant", name, source, *parts, **shape)

    value = quant("features", "sample", unit, bits, True, False)
    for layer, shape in enumerate(net.shapes):
        weight, bias = net.quantised(layer)
        levels = quant(f"weights_{layer}", constant(weight), WEIGHT_UNIT, 8, True, True)
        value = node("MatMul", f"product_{layer}", value, levels)
        value = node("Add", f"biased_{layer}", value, constant(bias))
        value = quant(f"layer_{layer}", value, shape.unit, shape.bits, shape.signed, False)
    members = net.shapes[-1].outputs // net.groups
    belongs = np.repeat(np.eye(net.groups), members, 0)
    value = node("MatMul", "sums", value, quant("groups", constant(belongs), 1.0, 2, True, False))
    graph = helper.make_graph(
        nodes,
        "sparse",
        [helper.make_tensor_value_info("sample", TensorProto.FLOAT, [1, net.inputs])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, net.groups])],
        constants,
    )
    sets = [helper.make_opsetid("", 13), helper.make_opsetid("qonnx.custom_op.general", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)
