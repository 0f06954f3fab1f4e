"""One node, run by qonnx's executor on arrays of other extents than those in the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .packages import load
from .reading import Array, Node
from .rewrites.spelling import CUSTOM


def run_node(node: Node, arrays: Sequence[Array | None]) -> Array:
    """The first result of a node.

    Args:
        node: the node.
        arrays: one for each input; None for one that is left out.
    """
    context: dict[str, Any] = {}
    names = []
    for number, (name, array) in enumerate(zip(node.inputs, arrays, strict=True)):
        names.append(f"input_{number}" if name else "")
        if name:
            context[names[-1]] = np.asarray(array)
    proto = type(node.proto)()
    proto.CopyFrom(node.proto)
    del proto.input[:]
    proto.input.extend(names)
    del proto.output[:]
    proto.output.extend(f"output_{k}" if name else "" for k, name in enumerate(node.outputs))
    if node.op in CUSTOM:
        registry = load("qonnx.custom_op.registry")
        with np.errstate(all="ignore"):
            instance = registry.getCustomOp(proto, onnx_opset_version=node.version)
            instance.execute_node(context, None)
        return np.asarray(context["output_0"])
    return _by_runtime(proto, node.version, context)


def _by_runtime(proto: Any, version: int, context: dict[str, Any]) -> Array:
    onnx, runtime = load("onnx"), load("onnxruntime")
    helper = onnx.helper
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in context.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in proto.output if name]
    graph = helper.make_graph([proto], "node", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run([proto.output[0]], context)[0])
