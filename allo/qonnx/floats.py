"""Nodes that stay in float32."""

from __future__ import annotations

from allo.models.graph import Meta, Ref

from .convert import Converter
from .reading import Node
from .values import Floats, Function


def softmax(converter: Converter, node: Node) -> None:
    """Softmax over one dimension."""
    shape = converter.graph.shapes[node.outputs[0]]
    axis = int(node.attributes.get("axis", 1 if node.version < 13 else -1)) % len(shape)
    if node.version < 13 and axis != len(shape) - 1:
        raise node.refusal(
            f"over all dimensions from {axis} on", "operator set 13 has softmax over one dimension."
        )
    args = {"self": Ref(converter.as_floats(node.inputs[0], node)), "dim": axis, "dtype": None}
    name = converter.emit(node, "aten.softmax.int", args, Meta(shape, "float32"))
    converter.values[node.outputs[0]] = Function(Floats(name, shape))
