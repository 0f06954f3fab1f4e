"""A QONNX graph in the making, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError, UnsupportedOperatorError

from ...packages import load as load_onnx
from ...reading import Array
from ...rewrites.spelling import CUSTOM, GENERAL

CURVES = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softplus": "Softplus",
    "elu": "Elu",
}
"""Activations of Keras that are one operator."""


class Writer:
    """The nodes of a graph.

    Attributes:
        nodes, constants, inputs: of the graph.
        outputs: the names of its results.
        layer, shape, shapes: which layer is written, the shape of its result and those of its inputs.
        quantisers: how many there are.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[str] = []
        self.layer: Any = None
        self.shape: tuple[Any, ...] = ()
        self.shapes: list[tuple[Any, ...]] = []
        self.quantisers = 0

    def __call__(self, op: str, *inputs: str | Array | float, **attributes: Any) -> str:
        """A node of the layer, and the name of its result; arrays and numbers become constants."""
        helper = load_onnx("onnx").helper
        given = [name if isinstance(name, str) else self.constant(name) for name in inputs]
        number = sum(node.name.startswith(f"{self.layer.name}/") for node in self.nodes)
        name = f"{self.layer.name}/{op}" + (f"_{number}" if number else "")
        domain = GENERAL if op in CUSTOM else ""
        made = f"{name}_made"
        self.nodes.append(
            helper.make_node(op, given, [made], name=name, domain=domain, **attributes)
        )
        return made

    def constant(self, value: Array | float) -> str:
        """A constant in float32, or of int64 where it is of integers."""
        held = np.asarray(value)
        held = held if held.dtype == np.int64 else held.astype(np.float32)
        name = f"constant_{len(self.constants)}"
        self.constants.append(load_onnx("onnx").numpy_helper.from_array(held, name))
        return name

    def input(self, name: str, extents: Sequence[Any]) -> str:
        """An input of the model, of one sample, and its name.

        Args:
            name: of the input, as the user knows it.
            extents: of one sample.

        Raises:
            ModelError: an extent that is not fixed.
        """
        onnx = load_onnx("onnx")
        free = [k for k, n in enumerate(extents) if n is None]
        if free:
            raise ModelError(
                f"The input {name!r} has no fixed extent in dimension {free[0] + 1}.",
                help="hardware has fixed shapes: begin with keras.Input((height, width, channels)).",
            )
        made = f"input_{len(self.inputs)}"
        shape = (1, *extents)
        self.inputs.append(onnx.helper.make_tensor_value_info(made, onnx.TensorProto.FLOAT, shape))
        return made

    # --- what stands around a layer ---------------------------------------------------------------

    def begun(self, layer: Any, name: str, place: int = 0) -> str:
        """An input of a layer behind the quantiser that the layer has for it."""
        return name

    def ended(self, layer: Any, name: str) -> str:
        """The result of a layer behind its activation and its quantiser of results."""
        return name

    def bent(self, layer: Any, name: str, activation: Any) -> str:
        """A tensor behind a function of Keras, by its name or as an object that has one."""
        kind = activation if isinstance(activation, str) else getattr(activation, "__name__", "")
        if kind in ("", "linear"):
            return name
        if kind not in CURVES:
            raise self.refusal(
                layer,
                f"with the activation {kind!r}",
                f"linear, {', '.join(CURVES)} are supported.",
            )
        return self(CURVES[kind], name)

    # --- the graph --------------------------------------------------------------------------------

    def model(self) -> Any:
        """The graph as an ``onnx.ModelProto``."""
        onnx = load_onnx("onnx")
        helper = onnx.helper
        results = [
            helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in self.outputs
        ]
        graph = helper.make_graph(self.nodes, "keras", self.inputs, results, self.constants)
        sets = [helper.make_opsetid("", 13), helper.make_opsetid(GENERAL, 1)]
        model = helper.make_model(graph, opset_imports=sets, ir_version=8)
        for output in model.graph.output:  # shapes are inferred
            output.type.tensor_type.ClearField("shape")
        return model

    def refusal(self, layer: Any, why: str, help: str) -> UnsupportedOperatorError:
        """The error for a layer that is not supported, or not in this form."""
        return UnsupportedOperatorError(
            f"Layer {layer.name!r} is {self.kind(layer)} {why}.", help=help
        )

    def kind(self, layer: Any) -> str:
        """The class of a layer."""
        return type(layer).__name__

    def weights(self, values: Array) -> str:
        """Weights as integers and their unit, which is a power of two; as they are where none fits."""
        for fracs in range(-8, 32):
            levels = values.astype(np.float64) * 2.0**fracs
            if np.array_equal(levels, np.rint(levels)):
                bits = float(int(np.abs(levels).max(initial=0)).bit_length() + 1)
                named = {"signed": 1, "narrow": 0, "rounding_mode": "ROUND"}
                return self("Quant", values, 2.0**-fracs, 0.0, bits, **named)
        return self.constant(values)
