"""A QONNX graph in the making, and HGQ2's quantisers as nodes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError, UnsupportedOperatorError
from allo.dialects.types import Fixed, UFixed

from ...packages import load as load_onnx
from ...reading import Array
from ...rewrites.spelling import GENERAL
from .packages import array

_PORTS = {"RND": "nearest", "RND_CONV": "convergent"}
"""Rounding modes of HGQ2 that a type of Allo has."""


class Writer:
    """The nodes of a graph.

    Attributes:
        nodes, constants, inputs: of the graph.
        outputs: the names of its results.
        names: of the tensors of Keras, by their identity.
        layer, shape, shapes: which layer is written, the shape of its result and those of its inputs.
        quantisers: how many there are.
        ports: sign, integer and fraction bits and rounding of each quantiser of an input that wraps.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[str] = []
        self.names: dict[int, str] = {}
        self.layer: Any = None
        self.shape: tuple[Any, ...] = ()
        self.shapes: list[tuple[Any, ...]] = []
        self.quantisers = 0
        self.ports: list[tuple[int, int, int, str]] = []

    def __call__(self, op: str, *inputs: str | Array | float, **attributes: Any) -> str:
        """A node of the layer, and the name of its result; arrays and numbers become constants."""
        helper = load_onnx("onnx").helper
        given = [name if isinstance(name, str) else self.constant(name) for name in inputs]
        number = sum(node.name.startswith(f"{self.layer.name}/") for node in self.nodes)
        name = f"{self.layer.name}/{op}" + (f"_{number}" if number else "")
        domain = GENERAL if op == "Quant" else ""
        made = f"{name}_made"
        self.nodes.append(
            helper.make_node(op, given, [made], name=name, domain=domain, **attributes)
        )
        return made

    def constant(self, value: Array | float) -> str:
        """A constant in float32, or of int64 where it is of integers."""
        held = np.asarray(value)
        held = held if held.dtype == np.int64 else held.astype(np.float32)
        name = f"constant_{len(self.constants)}"
        self.constants.append(load_onnx("onnx").numpy_helper.from_array(held, name))
        return name

    def input(self, tensor: Any) -> None:
        """An input of the model, of one sample."""
        onnx = load_onnx("onnx")
        free = [k for k, n in enumerate(tensor.shape[1:]) if n is None]
        if free:
            raise ModelError(
                f"The input {tensor.name!r} has no fixed extent in dimension {free[0] + 1}.",
                help="hardware has fixed shapes: begin with keras.Input((height, width, channels)).",
            )
        name = f"input_{len(self.inputs)}"
        shape = (1, *tensor.shape[1:])
        self.inputs.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
        self.names[id(tensor)] = name

    def model(self) -> Any:
        """The graph as an ``onnx.ModelProto``."""
        onnx = load_onnx("onnx")
        helper = onnx.helper
        results = [
            helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in self.outputs
        ]
        graph = helper.make_graph(self.nodes, "keras", self.inputs, results, self.constants)
        sets = [helper.make_opsetid("", 13), helper.make_opsetid(GENERAL, 1)]
        model = helper.make_model(graph, opset_imports=sets, ir_version=8)
        for output in model.graph.output:  # shapes are inferred
            output.type.tensor_type.ClearField("shape")
        return model

    def refusal(self, layer: Any, why: str, help: str) -> UnsupportedOperatorError:
        """The error for a layer that is not supported, or not in this form."""
        return UnsupportedOperatorError(
            f"Layer {layer.name!r} is {type(layer).__name__} {why}.", help=help
        )

    def weights(self, values: Array) -> str:
        """Weights as integers and their unit, which is a power of two; as they are where none fits."""
        for fracs in range(-8, 32):
            levels = values.astype(np.float64) * 2.0**fracs
            if np.array_equal(levels, np.rint(levels)):
                bits = float(int(np.abs(levels).max(initial=0)).bit_length() + 1)
                named = {"signed": 1, "narrow": 0, "rounding_mode": "ROUND"}
                return self("Quant", values, 2.0**-fracs, 0.0, bits, **named)
        return self.constant(values)

    # --- quantisers -----------------------------------------------------------------------------

    def quantised(self, name: str, quantiser: Any, shape: tuple[Any, ...]) -> str:
        """A tensor behind a quantiser of HGQ2.

        Args:
            name: of the tensor.
            quantiser: an ``hgq.quantizer.Quantizer``.
            shape: of the tensor.

        Raises:
            UnsupportedOperatorError: floats, a scaler, or a mode that is not supported.
        """
        self.quantisers += 1
        inner = quantiser.quantizer
        kind = type(inner).__name__
        if kind == "DummyQuantizer":
            return name
        if (
            not hasattr(inner, "kif")
            or quantiser.scaler is not None
            or quantiser.affine is not None
        ):
            raise self.refusal(
                self.layer,
                f"with a quantiser {kind}, or one that scales",
                "q_type='kif' or 'kbi' is supported.",
            )
        rounding, overflow = inner.round_mode.removeprefix("S_"), inner.overflow_mode
        k, i, f = self._bits(inner, shape)
        i = np.maximum(i, -f)
        live = k + i + f > 0
        if not live.any():
            return self("Mul", name, 0.0)
        self._port(name, (k, i, f), live, rounding, overflow)
        if overflow in ("SAT", "SAT_SYM"):
            most = 2.0**i - 2.0**-f
            least = -k * (most if overflow == "SAT_SYM" else 2.0**i)
            name = self("Min", self("Max", name, least), most)
        elif overflow != "WRAP":
            raise self.refusal(
                self.layer,
                f"with overflow_mode {overflow!r}",
                "WRAP, SAT and SAT_SYM are supported.",
            )
        name = self("Mul", self._rounded(self("Mul", name, 2.0**f), rounding), 2.0**-f)
        if overflow == "WRAP":
            name = self._wrapped(name, k, i)
        if not live.all():
            name = self("Mul", name, live.astype(np.float32))
        fine = float(f[live].max())
        width = int((i + k)[live].max() + fine)
        signed = int(k.max() > 0)
        return self(
            "Quant",
            name,
            2.0**-fine,
            0.0,
            float(width),
            signed=signed,
            narrow=0,
            rounding_mode="ROUND",
        )

    def _bits(self, inner: Any, shape: tuple[Any, ...]) -> tuple[Array, Array, Array]:
        """Sign, integer and fraction bits of each element, in as few elements as say it."""
        whole = (1, *shape[1:])
        found = []
        for bits in inner.kif:
            each = array(inner.bw_mapper.bw_to_x(bits, whole)).astype(np.float64)
            found.append(each if each.size > 1 else each.reshape((1,) * len(whole)))
        return found[0], found[1], found[2]

    def _rounded(self, name: str, rounding: str) -> str:
        if rounding == "RND":  # halves up
            return self("Floor", self("Add", name, 0.5))
        if rounding == "RND_CONV":
            return self("Round", name)
        if rounding == "TRN":
            return self("Floor", name)
        raise self.refusal(
            self.layer, f"with round_mode {rounding!r}", "RND, RND_CONV and TRN are supported."
        )

    def _wrapped(self, name: str, k: Array, i: Array) -> str:
        """``x`` less the multiples of ``2 ** (i + k)`` that are in ``x + bias``."""
        span = 2.0 ** (i + k)
        turns = self("Floor", self("Mul", self("Add", name, k * span / 2), 1 / span))
        return self("Sub", name, self("Mul", turns, span))

    def _port(
        self, name: str, kif: tuple[Array, Array, Array], live: Array, rounding: str, overflow: str
    ) -> None:
        """Note the fixed point of an input that wraps, and how its quantiser rounds."""
        if overflow != "WRAP" or name not in {value.name for value in self.inputs}:
            return
        k, i, f = (bits[live] for bits in np.broadcast_arrays(*kif)) if live.size > 1 else kif
        ranges = (int(k.max()), int(i.max()), int(f.max()))
        self.ports.append((*ranges, _PORTS.get(rounding, "truncate")))

    @property
    def port(self) -> Fixed | UFixed | None:
        """The type of the inputs, where a quantiser of theirs wraps: the widest of all of these."""
        if not self.ports:
            return None
        signs, wholes, parts, roundings = zip(*self.ports, strict=True)
        signed, whole, fracs = max(signs), max(wholes), max(parts)
        made = Fixed if signed else UFixed
        return made(signed + whole + fracs, fracs, rounding=roundings[0])
