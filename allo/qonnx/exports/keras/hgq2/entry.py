"""Networks of HGQ2 on Keras 3, layer by layer as their graph is traversed.

HGQ2 (Chang et al., *Gradient-based Automatic Mixed Precision Quantization for Neural Networks On-Chip*,
2024) quantises each element to a sign, ``i`` integer and ``f`` fraction bits of its own.
"""

from __future__ import annotations

from typing import Any

from allo.dialects.diagnostics import ModelError

from .layers import LAYERS
from .packages import load
from .writing import HgqWriter


def exported(model: Any) -> HgqWriter:
    """A model of Keras 3 as the nodes of a QONNX graph.

    Raises:
        ToolMissingError: Keras or HGQ2 is not installed.
        ModelError: a model that is not built, or without a quantiser.
        UnsupportedOperatorError: a layer or a quantiser that is not supported.
    """
    load("hgq.layers")
    graph = getattr(model, "_functional", None) or model
    if not model.built or not hasattr(graph, "_nodes_by_depth"):
        raise ModelError(
            f"The model {model.name!r} has no graph of layers.",
            help="build it: begin with keras.Input((16,)), or make a keras.Model of its inputs and outputs.",
        )
    writer = HgqWriter()
    for tensor in graph.inputs:
        writer.names[id(tensor)] = writer.input(tensor.name, tensor.shape[1:])
    for depth in sorted(graph._nodes_by_depth, reverse=True):
        for node in graph._nodes_by_depth[depth]:
            if not node.is_input:
                _layer(writer, node)
    if not writer.quantisers:
        raise ModelError(
            f"The model {model.name!r} has no quantiser.",
            help="layers of hgq.layers have them: QDense in place of Dense.",
        )
    writer.outputs = [writer.names[id(tensor)] for tensor in graph.outputs]
    return writer


def _layer(writer: HgqWriter, node: Any) -> None:
    layer = node.operation
    names = [base.__name__ for base in type(layer).__mro__]
    write = next((LAYERS[name] for name in names if name in LAYERS), None)
    if write is None:
        near = ", ".join(sorted(LAYERS))
        raise writer.refusal(layer, "which is not supported", f"supported layers are {near}.")
    writer.shapes = [tuple(t.shape) for t in node.arguments.keras_tensors]
    writer.shape = tuple(node.outputs[0].shape)
    inputs = [writer.names[id(tensor)] for tensor in node.arguments.keras_tensors]
    writer.layer = layer
    writer.names[id(node.outputs[0])] = write(writer, layer, inputs)
