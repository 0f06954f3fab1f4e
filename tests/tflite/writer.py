"""Writes small TFLite files, and runs them in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

TYPES = {
    name.lower(): value for name, value in vars(schema.TensorType).items() if isinstance(value, int)
}


class Writer:
    """One graph, tensor after tensor and operator after operator."""

    def __init__(self) -> None:
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.graph.inputs, self.graph.outputs = [], []
        self.buffers = [schema.BufferT()]
        self.codes: list[int] = []

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: float | Sequence[float] | None = None,
        zero: int = 0,
        data: Any = None,
        axis: int = 0,
        signature: Sequence[int] | None = None,
    ) -> int:
        """A tensor; its number."""
        made = schema.TensorT()
        made.name = f"tensor{len(self.graph.tensors)}".encode()
        made.shape, made.type, made.buffer = list(shape), TYPES[dtype], 0
        if signature is not None:
            made.shapeSignature = list(signature)
        if scale is not None:
            scales = [scale] if isinstance(scale, (int, float)) else list(scale)
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale = np.array(scales, np.float32)
            made.quantization.zeroPoint = np.full(len(scales), zero, np.int64)
            made.quantization.quantizedDimension = axis
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            made.buffer = len(self.buffers)
            self.buffers.append(buffer)
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def input(self, *args: Any, **kwargs: Any) -> int:
        """A tensor that the network is called with."""
        self.graph.inputs.append(self.tensor(*args, **kwargs))
        return int(self.graph.inputs[-1])

    def node(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: str = "",
        **fields: Any,
    ) -> None:
        """An operator; ``options`` is the name of its table, ``fields`` what stands there."""
        code = getattr(schema.BuiltinOperator, kind)
        if code not in self.codes:
            self.codes.append(code)
        made = schema.OperatorT()
        made.opcodeIndex = self.codes.index(code)
        made.inputs, made.outputs = list(inputs), list(outputs)
        if options:
            made.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            made.builtinOptions = getattr(schema, f"{options}T")()
            for name, value in fields.items():
                if not hasattr(made.builtinOptions, name):
                    raise AttributeError(name)
                setattr(made.builtinOptions, name, value)
        self.graph.operators.append(made)

    def bytes(self, *outputs: int) -> bytes:
        """The file."""
        self.graph.outputs = list(outputs)
        model = schema.ModelT()
        model.version = 3
        model.operatorCodes = []
        for code in self.codes:
            made = schema.OperatorCodeT()
            made.builtinCode, made.deprecatedBuiltinCode, made.version = code, min(code, 127), 1
            model.operatorCodes.append(made)
        model.subgraphs, model.buffers = [self.graph], self.buffers
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def interpreter(model: bytes) -> Any:
    """The interpreter with TFLite's reference kernels, which keeps every tensor."""
    made = Interpreter(
        model_content=model,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    made.allocate_tensors()
    return made


def run(made: Any, inputs: Sequence[np.ndarray]) -> None:
    """One call."""
    for detail, array in zip(made.get_input_details(), inputs, strict=True):
        made.set_tensor(detail["index"], array)
    made.invoke()
