"""Quantised tensors of PyTorch (``torch.quantize_per_tensor``), as tensors of integers.

Such a tensor knows its scale and zero point, and ``dequantize`` takes no other operand. In a graph
they become operands of both operators, as they are of the operators that PT2E writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allo.models.graph import Meta, Ref, named_in

_STORED = {"quint8": ("uint8", 0, 255), "qint8": ("int8", -128, 127)}
_QUANTIZE = {"aten.quantize_per_tensor.default", "aten.quantize_per_tensor.tensor_qparams"}
_DEQUANTIZE = "aten.dequantize.self"
_KEEP = {
    f"aten.{name}"
    for name in (
        "view.default",
        "reshape.default",
        "permute.default",
        "transpose.int",
        "t.default",
        "clone.default",
        "unsqueeze.default",
        "squeeze.default",
        "squeeze.dim",
        "squeeze.dims",
        "slice.Tensor",
        "select.int",
    )
}
"""Operators of one tensor whose result has its scale and zero point."""


Operands = dict[str, Any]


class QuantisedTensors:
    """The quantised tensors of one graph, by name, with the operands that they were made with."""

    def __init__(self) -> None:
        self._known: dict[str, Operands] = {}

    def misused(self, target: str, args: Operands) -> bool:
        """Whether an operator would compute with the integers of such a tensor as if they were floats."""
        return self._source(args) is not None and target not in {_DEQUANTIZE, *_KEEP}

    def converted(
        self, name: str, target: str, args: Operands, metas: Sequence[Meta | None]
    ) -> tuple[Operands, Sequence[Meta | None]] | None:
        """Operands and results of an operator on integers, or None where it takes no such tensor."""
        if target in _QUANTIZE and args["dtype"] in _STORED:
            dtype, low, high = _STORED[args["dtype"]]
            args = {
                "input": args["self"],
                "scale": args["scale"],
                "zero_point": args["zero_point"],
                "quant_min": low,
                "quant_max": high,
                "dtype": dtype,
            }
            self._known[name] = args
            return args, _of_type(metas, dtype)
        source = self._source(args)
        if source is None:
            return None
        quantised = self._known[source]
        if target == _DEQUANTIZE:
            return {**quantised, "input": Ref(source)}, metas
        self._known[name] = quantised
        return args, _of_type(metas, quantised["dtype"])

    def _source(self, args: Operands) -> str | None:
        """The quantised tensor among the operands."""
        return next((name for name in named_in(list(args.values())) if name in self._known), None)


def _of_type(metas: Sequence[Meta | None], dtype: str) -> list[Meta | None]:
    return [None if meta is None else Meta(meta.shape, dtype) for meta in metas]
