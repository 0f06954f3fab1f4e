"""A QONNX file as nodes, constants and shapes, cleaned by qonnx's own transformations."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError, UnsupportedOperatorError
from allo.dialects.text.free_name import free_name

from .packages import load
from .rewrites.recurrent import spelled_out
from .rewrites.spelling import CUSTOM, respelled

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the graph.

    Attributes:
        path: its name as a module path.
        op: the operator, ``"MatMul"``.
        inputs, outputs: the names of tensors; ``""`` for an input that is left out.
        attributes: by name.
        version: of its operator set.
        proto: the node itself, which the executor runs.
    """

    path: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    version: int
    proto: Any

    def refusal(self, why: str, help: str | None = None) -> UnsupportedOperatorError:
        """The error for a node that is not supported, or not in this form."""
        return UnsupportedOperatorError(f"Node {self.path!r} is {self.op} {why}.", help=help)


@dataclass(slots=True)
class Graph:
    """A graph in an order in which it can run.

    Attributes:
        inputs: the tensors it is called with, and their shapes.
        outputs: the names of its results that depend on an input.
        nodes: in order.
        constants: tensors that depend on no input.
        shapes: of all tensors that are known.
    """

    inputs: dict[str, tuple[int, ...]] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)


def read(model: Any) -> tuple[Graph, Any]:
    """The graph of a file or a model, and the cleaned model as a ``qonnx`` wrapper, which is executed.

    Args:
        model: a path, an ``onnx.ModelProto`` or a ``qonnx`` ``ModelWrapper``.

    Raises:
        ModelError: no such file, or a shape that depends on the input.
        ToolMissingError: ``qonnx`` is not installed.
    """
    cleaned = _cleaned(_opened(model))
    graph = cleaned.graph
    names = {value.name for value in graph.initializer}
    found = Graph(outputs=[value.name for value in graph.output])
    for value in graph.input:
        if value.name not in names:
            found.inputs[value.name] = _static(value)
    numpy_helper = load("onnx").numpy_helper
    for value in graph.initializer:
        found.constants[value.name] = numpy_helper.to_array(value)
    versions = {entry.domain: entry.version for entry in cleaned.model.opset_import}
    paths: set[str] = set()
    for proto in graph.node:
        found.nodes.append(_node(proto, versions, paths))
    for tensor in cleaned.get_all_tensor_names():
        shape = cleaned.get_tensor_shape(tensor)
        if shape is not None:
            found.shapes[tensor] = tuple(int(n) for n in shape)
    return found, cleaned


def _opened(model: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on the older names of domains, which are read too
        return _wrapped(model, load("qonnx.core.modelwrapper").ModelWrapper)


def _wrapped(model: Any, wrapper: Any) -> Any:
    if isinstance(model, (str, Path)):
        if not Path(model).is_file():
            raise ModelError(
                f"There is no QONNX file {str(model)!r}.",
                help="give the path of a .onnx file, an onnx.ModelProto or a qonnx ModelWrapper.",
            )
        return wrapper(str(model))
    if isinstance(model, wrapper):
        return wrapper(model.model, make_deepcopy=True)
    if isinstance(model, load("onnx").ModelProto):
        return wrapper(model, make_deepcopy=True)
    raise ModelError(
        f"A {type(model).__name__} is no QONNX model.",
        help="give the path of a .onnx file, an onnx.ModelProto or a qonnx ModelWrapper.",
    )


def _cleaned(wrapper: Any) -> Any:
    """Shapes known, constants folded but for quantisers, nodes in order."""
    respelled(wrapper)
    names = {value.name for value in wrapper.graph.initializer}
    for value in wrapper.graph.input:
        if value.name not in names:
            _static(value)
    wrapper = spelled_out(wrapper)
    general = load("qonnx.transformation.general")
    shapes = load("qonnx.transformation.infer_shapes").InferShapes
    fold = load("qonnx.transformation.fold_constants").FoldConstants
    steps = [
        general.SortGraph(),
        shapes(),
        fold(exclude_op_types=sorted(CUSTOM)),
        shapes(),
        general.RemoveStaticGraphInputs(),
    ]
    for step in steps:
        wrapper = wrapper.transform(step)
    _without_constant_results(wrapper.graph)
    return wrapper.transform(general.RemoveUnusedTensors())


def _without_constant_results(graph: Any) -> None:
    """Leave out what is the same in each call, as the scale that Brevitas returns beside a tensor."""
    made = {name for node in graph.node for name in node.output}
    made |= {value.name for value in graph.input} - {value.name for value in graph.initializer}
    kept = [value for value in graph.output if value.name in made]
    if not kept:
        raise ModelError(
            "No result of this file depends on an input.",
            help="export the network itself: parameters alone need no hardware.",
        )
    if len(kept) < len(graph.output):
        del graph.output[:]
        graph.output.extend(kept)


def _static(value: Any) -> tuple[int, ...]:
    """The shape of an input."""
    dims = value.type.tensor_type.shape.dim
    free = [k for k, dim in enumerate(dims) if dim.dim_param or dim.dim_value < 1]
    if free:
        raise ModelError(
            f"The input {value.name!r} has no fixed extent in dimension {free[0]}.",
            help="hardware has fixed shapes: export with them, or run "
            "qonnx.util.cleanup.cleanup_model(model, override_inpsize=1) before.",
        )
    return tuple(dim.dim_value for dim in dims)


def _node(proto: Any, versions: dict[str, int], paths: set[str]) -> Node:
    onnx = load("onnx")
    wanted = proto.name.strip("/").replace("/", ".") or proto.op_type
    path = free_name(wanted, paths)
    paths.add(path)
    version = versions.get(proto.domain, 1)
    if proto.op_type == "Trunc":  # told apart by their inputs, whatever the file's version says
        version = 2 if len(proto.input) == 6 else 1
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
    attributes = {
        name: value.decode() if isinstance(value, bytes) else value
        for name, value in attributes.items()
    }
    return Node(
        path, proto.op_type, tuple(proto.input), tuple(proto.output), attributes, version, proto
    )
