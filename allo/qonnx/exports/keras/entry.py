"""``from_keras``: networks of HGQ2 on Keras 3, written as QONNX and read from there.

HGQ2 (Chang et al., *Gradient-based Automatic Mixed Precision Quantization for Neural Networks On-Chip*,
2024) quantises each element to a sign, ``i`` integer and ``f`` fraction bits of its own.
"""

from __future__ import annotations

from typing import Any

from allo.dialects.diagnostics import ModelError

from ...entry import from_qonnx
from ...inputs import InputType
from .layers import LAYERS
from .packages import load
from .writing import Writer


def from_keras(model: Any, *, input_type: InputType | None = None, **options: Any) -> Any:
    """Compile a network of HGQ2's layers on Keras 3.

    Args:
        model: a built ``keras.Model``, after ``hgq.utils.trace_minmax`` where its quantisers wrap.
        input_type: the type of the inputs. Where it is left out, it is float32, or, where the first
            quantiser wraps, the fixed point that this quantiser gives.
        options: all other keyword arguments of :func:`from_qonnx`.

    Raises:
        ToolMissingError: Keras or HGQ2 is not installed; the extra ``keras`` brings them.
        ModelError: an object that is no built model, or without a quantiser.
        UnsupportedOperatorError: a layer or a quantiser that is not supported.
    """
    written = exported(model)
    return from_qonnx(written.model(), input_type=input_type or written.port, **options)


def exported(model: Any) -> Writer:
    """A model as the nodes of a QONNX graph.

    Raises:
        ToolMissingError: Keras or HGQ2 is not installed.
        ModelError: no built model, or one without a quantiser.
        UnsupportedOperatorError: a layer or a quantiser that is not supported.
    """
    keras = load("keras")
    load("hgq.layers")
    if not isinstance(model, keras.Model):
        raise ModelError(
            f"A {type(model).__name__} is no Keras model.",
            help="give a keras.Sequential or keras.Model of HGQ2's layers on Keras 3. A model of QKeras, "
            "which needs TensorFlow of Keras 2, is converted to QONNX there, and from_qonnx reads the file.",
        )
    graph = getattr(model, "_functional", None) or model
    if not model.built or not hasattr(graph, "_nodes_by_depth"):
        raise ModelError(
            f"The model {model.name!r} has no graph of layers.",
            help="build it: begin with keras.Input((16,)), or make a keras.Model of its inputs and outputs.",
        )
    writer = Writer()
    for tensor in graph.inputs:
        writer.input(tensor)
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


def _layer(writer: Writer, node: Any) -> None:
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
