"""A TFLite file as it is read: tensors with their scales, and operators in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

INTEGERS = ("int8", "int16")
"""The element types of activations that are supported."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor of a file.

    An integer ``q`` of channel ``c`` stands for ``scales[c] * (q - zeros[c])``.

    Attributes:
        index: its number in the file.
        name: as the file says.
        shape: its extents.
        dtype: NumPy's name of the element type; ``"int4"`` for weights of four bits.
        scales: float32, one or one for each channel; empty where it is not quantised.
        zeros: the zero points, as many as scales.
        axis: the dimension of the channels, where there are several scales.
        data: its elements where the file holds them; four bits come as int8.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    scales: Array
    zeros: Array
    axis: int
    data: Array | None

    @property
    def scale(self) -> float:
        """The one scale, a float32."""
        return float(self.scales[0])

    @property
    def zero(self) -> int:
        """The one zero point."""
        return int(self.zeros[0])

    @property
    def per_channel(self) -> bool:
        """Whether channels have scales of their own."""
        return len(self.scales) > 1

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest integer of its type."""
        kind = np.iinfo(self.dtype)
        return int(kind.min), int(kind.max)


@dataclass(frozen=True, slots=True)
class Node:
    """One operator of a file.

    Attributes:
        number: its place among the operators.
        kind: the schema's name, ``"CONV_2D"``.
        inputs: the numbers of the tensors it reads; -1 for one that is left out.
        outputs: the numbers of its results.
        options: the table of its options; None where it has none.
    """

    number: int
    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Any

    @property
    def word(self) -> str:
        """The kind as it stands in paths: ``"conv2d"``."""
        return self.kind.lower().replace("_2d", "2d")

    @property
    def path(self) -> str:
        """Its name in a schedule: ``"conv2d_3"``, with its number in the file."""
        return f"{self.word}_{self.number}"


@dataclass(slots=True)
class Network:
    """The graph of a file.

    Attributes:
        tensors: all, by number.
        nodes: the operators, in the order in which they run.
        inputs: the numbers of the tensors it is called with.
        outputs: the numbers of its results.
    """

    tensors: list[TensorInfo] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def operands(self, node: Node) -> list[TensorInfo | None]:
        """The tensors that an operator reads; None for one that is left out."""
        return [self.tensors[i] if i >= 0 else None for i in node.inputs]

    def operand(self, node: Node, number: int) -> TensorInfo:
        """One tensor that an operator reads."""
        return self.tensors[node.inputs[number]]

    def optional(self, node: Node, number: int) -> TensorInfo | None:
        """A tensor that may be left out."""
        there = number < len(node.inputs) and node.inputs[number] >= 0
        return self.tensors[node.inputs[number]] if there else None

    def result(self, node: Node, number: int = 0) -> TensorInfo:
        """A result of an operator."""
        return self.tensors[node.outputs[number]]
