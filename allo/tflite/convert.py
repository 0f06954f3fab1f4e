"""From the graph of a file to the graph that becomes kernels."""

from __future__ import annotations

from allo.dialects.diagnostics import ModelError, SourcePlace, UnsupportedOperatorError
from allo.dialects.text.near import did_you_mean
from allo.models.graph import Model

from .building import Building
from .network import Network, Node
from .operators import CONVERSIONS

_FLOATS = ("float16", "float32", "float64", "bfloat16")
_FORMS = {
    "SPLIT": "SLICE or STRIDED_SLICE gives each part",
    "PRELU": "LEAKY_RELU has one slope for all channels",
    "GELU": "HARD_SWISH and LOGISTIC are near it",
    "L2_POOL_2D": "AVERAGE_POOL_2D and MAX_POOL_2D are supported",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "unroll it into FULLY_CONNECTED, LOGISTIC, TANH, MUL and ADD",
    "WHILE": "unroll the loop before the model is converted",
    "IF": "compute both results and choose by multiplication",
}


def graph_of(network: Network, place: SourcePlace | None) -> Model:
    """The graph of a file.

    Args:
        network: the file.
        place: the line that asked for it.

    Raises:
        UnsupportedOperatorError: an operator, or a form of one, that is not supported.
        ModelError: a result that nothing makes.
    """
    building = Building(network, place)
    for node in network.nodes:
        convert = CONVERSIONS.get(node.kind)
        if convert is None:
            raise _unknown(building, node)
        convert(building, node)
    made = {op.name for op in building.made.operators}
    for index in network.outputs:
        name = building.value(network.tensors[index]).name
        if name not in made and name not in building.made.inputs:
            raise ModelError(
                f"No operator makes the result {network.tensors[index].name!r} of the TFLite file.",
                place,
                help="a result that is constant needs no hardware: leave it out.",
            )
        building.made.outputs.append(name)
    return building.made


def _unknown(building: Building, node: Node) -> UnsupportedOperatorError:
    tensors = [t for t in building.network.operands(node) if t] + [building.network.result(node)]
    floats = [info for info in tensors if info.dtype in _FLOATS]
    form = _FORMS.get(node.kind)
    if floats and form is None and node.kind in ("DIV", "EXP", "SQRT", "RSQRT"):
        form = "quantise the whole network: floats are supported at QUANTIZE and DEQUANTIZE only"
    near = f"the nearest supported form: {form}." if form else did_you_mean(node.kind, CONVERSIONS)
    return building.refusal(
        node,
        "is not supported",
        near or f"operators that are: {', '.join(sorted(CONVERSIONS))}.",
    )
