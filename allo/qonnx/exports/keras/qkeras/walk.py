"""From the layers of a network of Keras 2 to a QONNX graph."""

from __future__ import annotations

from allo.dialects.diagnostics import ModelError
from allo.dialects.text.near import did_you_mean

from .layers import LAYERS
from .network import Call, Network, Tensor
from .shapes import Shape, shape_of
from .writing import QWriter

_NEAREST = {
    "QAdaptiveActivation": "QActivation with the integer bits that it has found",
    "QConv2DTranspose": "UpSampling and QConv2D, or from_qonnx, which takes ConvTranspose",
    "QLSTM": "from_qonnx, which takes LSTM",
    "QGRU": "from_qonnx, which takes LSTM",
    "Functional": "the layers of the inner model in the outer one",
    "Sequential": "the layers of the inner model in the outer one",
    "Lambda": "layers of Keras in its place",
}
"""What to write in place of layers that are not supported."""
_HGQ_1 = ("HDense", "HConv", "HQuantize", "HActivation", "HAdd", "FixedPointQuantizer", "UnaryLUT")
"""How the names of HGQ's layers of version 1 begin."""


def written(network: Network) -> QWriter:
    """A network as the nodes of a QONNX graph.

    Raises:
        ModelError: a network without a quantiser, or an input of no fixed shape.
        UnsupportedOperatorError: a layer or a quantiser that is not supported.
    """
    writer = QWriter()
    names: dict[Tensor, str] = {}
    shapes: dict[Tensor, Shape] = {}
    for call in network.calls:
        if call.layer.kind != "InputLayer":
            continue
        given = call.layer.config.get("batch_input_shape") or call.layer.config["batch_shape"]
        names[call.tensor] = writer.input(call.layer.name, given[1:])
        shapes[call.tensor] = (1, *given[1:])
    for call in network.calls:
        if call.layer.kind != "InputLayer":
            _call(writer, call, names, shapes)
    if not writer.quantisers:
        raise ModelError(
            f"The model {network.name!r} has no quantiser.",
            help="layers of qkeras have them: QDense with kernel_quantizer= in place of Dense.",
        )
    writer.outputs = [names[tensor] for tensor in network.outputs]
    return writer


def _call(
    writer: QWriter, call: Call, names: dict[Tensor, str], shapes: dict[Tensor, Shape]
) -> None:
    layer = call.layer
    write = LAYERS.get(layer.kind)
    if write is None:
        known = ", ".join(sorted(LAYERS))
        if layer.kind.startswith(_HGQ_1):
            raise writer.refusal(
                layer,
                "of HGQ's first version (tf.keras), whose files are not read",
                "build the network of HGQ2's layers on Keras 3, which from_keras takes.",
            )
        near = _NEAREST.get(layer.kind)
        hint = f"write {near}; " if near else did_you_mean(layer.kind, LAYERS)
        raise writer.refusal(
            layer, "which is not supported", f"{hint}supported layers are {known}."
        )
    writer.layer = layer
    writer.shapes = [shapes[tensor] for tensor in call.inputs]
    writer.shape = shapes[call.tensor] = shape_of(layer, writer.shapes)
    names[call.tensor] = write(writer, layer, [names[tensor] for tensor in call.inputs])
