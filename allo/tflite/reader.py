"""Reads TFLite files: FlatBuffers of the schema that the package ``tflite`` knows."""

from __future__ import annotations

import struct
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError
from allo.models.integers.arithmetic import Array
from allo.models.places import place_of_caller

from .network import Network, Node, TensorInfo
from .package import load_schema

_IDENTIFIER = b"TFL3"
_ELEMENTS = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32")


def read_network(model: str | PathLike[str] | bytes | bytearray) -> Network:
    """The graph of a TFLite file.

    Args:
        model: its path, or its bytes.

    Raises:
        ToolMissingError: the package ``tflite`` is not installed.
        ModelError: there is no such file, it is no TFLite file, it has several graphs, or a shape that is
            known only when it runs.
    """
    schema = load_schema()
    data, name = _bytes_of(model)
    if data[4:8] != _IDENTIFIER:
        raise ModelError(
            f"{name} is no TFLite file: bytes 4 to 8 are {data[4:8]!r}.",
            place_of_caller(),
            help=f"such a file has {_IDENTIFIER!r} there; give its path, or its bytes.",
        )
    try:
        return _Reader(schema, schema.Model.GetRootAs(data, 0)).network()
    except (struct.error, IndexError, TypeError, UnicodeDecodeError) as error:
        raise ModelError(
            f"{name} cannot be read as a TFLite file: it ends early or is damaged.",
            place_of_caller(),
            help="write the file again.",
            notes=(f"{type(error).__name__}: {error}",),
        ) from error


def _bytes_of(model: str | PathLike[str] | bytes | bytearray) -> tuple[bytes, str]:
    if isinstance(model, (bytes, bytearray)):
        return bytes(model), "What was given"
    try:
        return Path(model).read_bytes(), str(model)
    except (OSError, TypeError) as error:
        raise ModelError(
            f"The TFLite file {model!r} cannot be read.",
            place_of_caller(),
            help="give the path of a file, or its bytes.",
            notes=(str(error),),
        ) from error


class _Reader:
    def __init__(self, schema: Any, model: Any) -> None:
        self.schema, self.model = schema, model
        self.types = _names(schema.TensorType)
        self.operators = _names(schema.BuiltinOperator)
        self.options = _names(schema.BuiltinOptions)

    def network(self) -> Network:
        if self.model.SubgraphsLength() != 1:
            raise ModelError(
                f"The TFLite file has {self.model.SubgraphsLength()} graphs.",
                place_of_caller(),
                help="one graph is supported: convert the model without loops and branches.",
            )
        graph = self.model.Subgraphs(0)
        tensors = [self._tensor(graph.Tensors(i), i) for i in range(graph.TensorsLength())]
        nodes = [self._node(graph.Operators(i), i) for i in range(graph.OperatorsLength())]
        inputs = [graph.Inputs(i) for i in range(graph.InputsLength())]
        outputs = [graph.Outputs(i) for i in range(graph.OutputsLength())]
        return Network(tensors, nodes, inputs, outputs)

    def _tensor(self, tensor: Any, index: int) -> TensorInfo:
        name = (tensor.Name() or b"").decode()
        shape = tuple(tensor.Shape(i) for i in range(tensor.ShapeLength()))
        signature = [tensor.ShapeSignature(i) for i in range(tensor.ShapeSignatureLength())]
        # A batch that is left open is 1, as the interpreter runs it.
        if any(n < 0 for n in (*shape, *signature[1:])):
            raise ModelError(
                f"Tensor {name!r} of the TFLite file has the dynamic shape {signature or list(shape)}.",
                place_of_caller(),
                help="convert the model with fixed shapes, such as input_shape=(1, 32, 32, 3).",
            )
        dtype = self.types[tensor.Type()].lower()
        scales, zeros, axis = _quantisation(tensor.Quantization())
        data = self._elements(tensor, dtype, shape)
        return TensorInfo(index, name, shape, dtype, scales, zeros, axis, data)

    def _elements(self, tensor: Any, dtype: str, shape: tuple[int, ...]) -> Array | None:
        buffer = self.model.Buffers(tensor.Buffer())
        if tensor.Buffer() == 0 or not buffer.DataLength():
            return None
        raw: Array = buffer.DataAsNumpy()
        if dtype == "int4":  # two in a byte, the lower four bits first
            pairs = np.stack([raw << 4, raw], -1).astype(np.uint8).view(np.int8) >> 4
            return np.asarray(pairs.reshape(-1)[: int(np.prod(shape))].reshape(shape))
        if dtype not in _ELEMENTS:
            return None
        return np.frombuffer(raw.tobytes(), dtype).reshape(shape)

    def _node(self, op: Any, number: int) -> Node:
        code = self.model.OperatorCodes(op.OpcodeIndex())
        kind = self.operators.get(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()), "unknown")
        if kind == "CUSTOM":
            kind = f"CUSTOM {(code.CustomCode() or b'').decode()}"
        name, table, options = (
            self.options.get(op.BuiltinOptionsType(), ""),
            op.BuiltinOptions(),
            None,
        )
        if table is not None and hasattr(self.schema, name):
            options = getattr(self.schema, name)()
            options.Init(table.Bytes, table.Pos)
        inputs = tuple(op.Inputs(i) for i in range(op.InputsLength()))
        outputs = tuple(op.Outputs(i) for i in range(op.OutputsLength()))
        return Node(number, kind, inputs, outputs, options)


def _names(enumeration: Any) -> dict[int, str]:
    return {v: k for k, v in vars(enumeration).items() if isinstance(v, int)}


def _quantisation(of: Any) -> tuple[Array, Array, int]:
    """Scales, zero points and the dimension of the channels."""
    if of is None or not of.ScaleLength():
        return np.zeros(0, np.float32), np.zeros(0, np.int64), 0
    scales = np.array(of.ScaleAsNumpy(), np.float32)
    zeros = (
        np.array(of.ZeroPointAsNumpy(), np.int64) if of.ZeroPointLength() else np.zeros(1, np.int64)
    )
    return scales, np.broadcast_to(zeros, scales.shape), of.QuantizedDimension()
