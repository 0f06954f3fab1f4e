"""A QONNX file run by qonnx's executor, and the same network with its activations left in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .packages import load
from .reading import Array, read

_QUANTISERS = ("Quant", "IntQuant", "BipolarQuant", "FloatQuant", "Trunc")

Run = Callable[..., list[Array]]


def executor(model: Any) -> Run:
    """A function that runs a network on arrays, one node after the other, in float32.

    Args:
        model: what :func:`~allo.frontend.from_qonnx` takes.

    Raises:
        ToolMissingError: ``qonnx`` is not installed.
        ModelError: no such file, or a shape that depends on the input.
    """
    graph, wrapper = read(model)
    return _runner(wrapper, list(graph.inputs), graph.outputs)


def float_activations(model: Any) -> Run | None:
    """As :func:`executor`, with no activation quantised; weights are as the file says.

    None where activations are quantised to one bit or by thresholds, which stand for functions that a network
    cannot be without.
    """
    graph, wrapper = read(model)
    ops = {node.op for node in graph.nodes if node.inputs[0] not in graph.constants}
    if ops & {"BipolarQuant", "MultiThreshold", "XnorPopcountMatMul"}:
        return None
    for proto in wrapper.graph.node:
        if proto.op_type in _QUANTISERS and proto.input[0] not in graph.constants:
            proto.op_type, proto.domain = "Identity", ""
            del proto.input[1:]
            del proto.attribute[:]
    return _runner(wrapper, list(graph.inputs), graph.outputs)


def _runner(wrapper: Any, inputs: list[str], outputs: list[str]) -> Run:
    execute = load("qonnx.core.onnx_exec").execute_onnx

    def run(*arrays: Array) -> list[Array]:
        given = {
            name: np.asarray(array, np.float32) for name, array in zip(inputs, arrays, strict=True)
        }
        with np.errstate(all="ignore"):
            found = execute(wrapper, given)
        return [np.asarray(found[name]) for name in outputs]

    return run
