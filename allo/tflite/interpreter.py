"""A TFLite file run by LiteRT's interpreter, with the reference kernels."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from allo.dialects.processes.extras import load_extra
from allo.models.integers.arithmetic import Array


def interpreter(model: str | PathLike[str] | bytes | bytearray) -> Callable[..., list[Array]]:
    """A function that runs a network on arrays.

    Args:
        model: the path of a ``.tflite`` file, or its bytes.

    Raises:
        ToolMissingError: ``ai-edge-litert`` is not installed.
    """
    litert = load_extra(
        "ai_edge_litert.interpreter",
        "The package ai-edge-litert cannot be imported, which interprets TFLite files.",
        "run `pip install ai-edge-litert`; a checkout gets it by `scripts/setup`.",
    )
    content = bytes(model) if isinstance(model, (bytes, bytearray)) else Path(model).read_bytes()
    made: Any = litert.Interpreter(
        model_content=content,
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
    )
    made.allocate_tensors()
    inputs = [detail["index"] for detail in made.get_input_details()]
    outputs = [detail["index"] for detail in made.get_output_details()]

    def run(*arrays: Array) -> list[Array]:
        for index, array in zip(inputs, arrays, strict=True):
            made.set_tensor(index, array)
        made.invoke()
        return [made.get_tensor(index) for index in outputs]

    return run
