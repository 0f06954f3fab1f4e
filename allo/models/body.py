"""What an operator's emitter has at hand: the operands, the text, and the common nests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from allo.dialects.diagnostics import UnsupportedOperatorError

from .graph import Meta, Operator
from .tensors import Tensor, groups, strided
from .text import FunctionText
from .types import FLOATS, Types

Result = Tensor | list[Tensor | None]
Emitter = Callable[["Call"], Result]


@dataclass(slots=True)
class Call:
    """One operator while it is lowered.

    Attributes:
        op: the operator.
        args: its arguments; tensors are :class:`Tensor`.
        text: the function it is written into.
        types: the element types.
        derive: makes a constant out of weights: a name and a function of the NumPy arrays.
    """

    op: Operator
    args: dict[str, Any]
    text: FunctionText
    types: Types
    derive: Callable[[str, Callable[..., Any], Sequence[str]], Tensor]

    def __getitem__(self, name: str) -> Any:
        return self.args[name]

    def tensor(self, name: str) -> Tensor:
        """An argument that is a tensor."""
        value = self.args[name]
        if not isinstance(value, Tensor):
            raise self.refusal(f"with {name} = {value!r}, where a tensor is expected")
        return value

    def optional(self, name: str) -> Tensor | None:
        """An argument that is a tensor or None."""
        return None if self.args.get(name) is None else self.tensor(name)

    def ints(self, name: str, count: int) -> list[int]:
        """A list of ``count`` integers; one stands for all."""
        value = self.args[name]
        listed = list(value) if isinstance(value, (list, tuple)) else [value]
        return listed * count if len(listed) == 1 else listed

    def meta(self, number: int = 0) -> Meta:
        """Shape and type of a result."""
        meta = self.op.metas[number]
        if meta is None:
            raise self.refusal("whose result is no tensor")
        return meta

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the first result."""
        return self.meta().shape

    @property
    def dtype(self) -> str:
        """The spelling of the type of the first result."""
        return self.types.result(self.op, self.meta().dtype)

    @property
    def is_float(self) -> bool:
        """Whether PyTorch's result is a float."""
        return self.meta().dtype in FLOATS

    def refusal(self, why: str, help: str | None = None) -> UnsupportedOperatorError:
        """The error for a form of the operator that is not supported."""
        where = f"Module {self.op.path!r}" if self.op.path else "The model"
        return UnsupportedOperatorError(
            f"{where} uses {self.op.target} {why}.", self.op.place, help=help
        )

    # --- text -----------------------------------------------------------------------------------

    def array(self, shape: Sequence[int] | None = None, dtype: str | None = None) -> Tensor:
        """Declare an array, by default for the first result."""
        wanted = self.shape if shape is None else shape
        return self.text.array(self.op.kind, wanted, dtype or self.dtype)

    def copied(self, source: Tensor, target: Tensor, band: str = "copy") -> None:
        """Copy all elements."""
        with self.text.loops(target.shape, band) as at:
            self.text.line(f"{target.at(*at)} = {source.at(*at)}")

    def operand(self, name: str) -> Tensor:
        """A tensor, in the type that ``op_dtypes`` wants for this operator's input."""
        source = self.tensor(name)
        wanted = self.types.operand(self.op, source.dtype)
        if wanted is None or wanted == source.dtype:
            return source
        target = self.text.array(f"{self.op.kind}_input", source.shape, wanted)
        self.copied(source, target, f"{self.op.kind}_input")
        return target

    def reshaped(self, source: Tensor, shape: Sequence[int]) -> Tensor:
        """A view where possible, else a copy."""
        view = source.reshaped(shape)
        if view is not None:
            return view
        target = self.text.array(self.op.kind, shape, source.dtype)
        extents: list[int] = []
        olds: list[list[str]] = [[] for _ in source.shape]
        news: list[list[str]] = [[] for _ in shape]
        for old, new in groups(source.shape, shape):
            parts = _refined([source.shape[d] for d in old], [shape[d] for d in new])
            names = [f"i{len(extents) + k}" for k in range(len(parts))]
            extents += parts
            _subscripts(old, source.shape, parts, names, olds)
            _subscripts(new, shape, parts, names, news)
        with self.text.loops(extents, self.op.kind):
            left = target.at(*(" + ".join(terms) or "0" for terms in news))
            right = source.at(*(" + ".join(terms) or "0" for terms in olds))
            self.text.line(f"{left} = {right}")
        return target


def _refined(old: Sequence[int], new: Sequence[int]) -> list[int]:
    """Extents of which both shapes are made: [4, 6] and [24] of [4, 6]; else one flat extent."""
    total = prod(old)
    ends = {prod(old[k:]) for k in range(len(old))} | {prod(new[k:]) for k in range(len(new))}
    steps = sorted(ends | {1, total})
    parts = [b // a for a, b in zip(steps, steps[1:], strict=False)]
    if any(b % a for a, b in zip(steps, steps[1:], strict=False)):
        return [total]
    return list(reversed(parts))


def _subscripts(
    dims: Sequence[int],
    shape: Sequence[int],
    parts: Sequence[int],
    names: Sequence[str],
    into: list[list[str]],
) -> None:
    """Write each dimension as a sum over the refined indices, or as a quotient of the flat one."""
    weights = dict(strided(range(len(parts)), parts))
    for d, step in strided(dims, shape):
        end = step * shape[d]
        inside = [k for k, w in weights.items() if step <= w < end and w * parts[k] <= end]
        if prod(parts[k] for k in inside) == shape[d]:
            into[d] = [_scaled(names[k], weights[k] // step) for k in inside]
        else:
            into[d] = [f"{names[0]} // {step} % {shape[d]}"]


def _scaled(name: str, factor: int) -> str:
    return name if factor == 1 else f"{name} * {factor}"
