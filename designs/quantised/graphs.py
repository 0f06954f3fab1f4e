"""Graphs of QONNX in the making, node by node: what the networks of this folder are exported as."""

from __future__ import annotations

from typing import Any

import numpy as np

_QUANTISERS = ("Quant", "BipolarQuant")
_DOMAIN = "qonnx.custom_op.general"


class Graph:
    """Nodes one behind the other, each with one result of its own name.

    Attributes:
        nodes: so far.
        constants: so far, of float32.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, array: Any) -> str:
        """A constant of float32; its name."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def node(self, kind: str, name: str, *inputs: str, **attributes: Any) -> str:
        """A node that gives one tensor of its own name."""
        from onnx import helper

        domain = _DOMAIN if kind in _QUANTISERS else ""
        made = helper.make_node(kind, list(inputs), [name], name=name, domain=domain, **attributes)
        self.nodes.append(made)
        return name

    def quant(
        self, name: str, source: str, unit: float, bits: int, *, signed: bool, narrow: bool
    ) -> str:
        """A quantiser to whole multiples of ``unit``, of so many bits."""
        parts = [self.constant(x) for x in (unit, 0.0, bits)]
        shape = {"signed": int(signed), "narrow": int(narrow), "rounding_mode": "ROUND"}
        return self.node("Quant", name, source, *parts, **shape)

    def model(self, name: str, source: str, shape: tuple[int, ...], result: str, count: int) -> Any:
        """The graph as an ``onnx.ModelProto``.

        Args:
            name: of the graph.
            source, shape: its input.
            result, count: its output, ``[1, count]``.
        """
        from onnx import TensorProto, helper

        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info(source, TensorProto.FLOAT, list(shape))],
            [helper.make_tensor_value_info(result, TensorProto.FLOAT, [1, count])],
            self.constants,
        )
        sets = [helper.make_opsetid("", 13), helper.make_opsetid(_DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8)
