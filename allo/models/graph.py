"""A model as the lowering reads it: operators in order, inputs, weights. No importer here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from allo.dialects.diagnostics import SourcePlace

_SHORT = {"native_batch_norm_legit_no_training": "batch_norm"}


@dataclass(frozen=True, slots=True)
class Meta:
    """Shape and element type (PyTorch's name of it) of a tensor."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Ref:
    """An operand that is the result of another operator, an input, a weight or a constant."""

    name: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A weight that is held in integers: floats of ``(levels - zero) * factors * scale``.

    Attributes:
        levels: the integers.
        scale: a number, or an array of channels.
        zero: an integer, or an array of channels.
        axis: the dimension of the channels; None where there are none.
        factors: integers of the groups of a channel, ``[channel, group]``; None where it is one group.
        size: weights in a group.
    """

    levels: Any
    scale: Any
    zero: Any = 0
    axis: int | None = None
    factors: Any = None
    size: int = 0


class ModuleCall(NamedTuple):
    """One call of a module: ``key`` differs between calls of one module, ``path`` does not."""

    key: str
    path: str
    kind: str


@dataclass(frozen=True, slots=True)
class Operator:
    """One call of an ATen operator.

    Attributes:
        name: of its result in the exported graph.
        target: the operator with its overload, ``"aten.add.Tensor"``.
        args: its arguments by their names in the operator's schema; tensors are :class:`Ref`.
        metas: its results; None for one that is no tensor.
        stack: the module calls it stands in, outermost first.
        place: the model's own line.
    """

    name: str
    target: str
    args: dict[str, Any]
    metas: tuple[Meta | None, ...]
    stack: tuple[ModuleCall, ...]
    place: SourcePlace | None

    @property
    def kind(self) -> str:
        """The operator without namespace, overload and mark of mutation: ``"add"``."""
        name = self.target.split(".")[:2][-1].strip("_")
        return _SHORT.get(name, name)

    @property
    def path(self) -> str:
        """The path of the module it stands in; ``""`` for the model itself."""
        return self.stack[-1].path if self.stack else ""

    def refs(self) -> Iterator[str]:
        """The names of the values it reads."""
        yield from named_in(list(self.args.values()))


@dataclass(slots=True)
class Model:
    """An exported model.

    Attributes:
        inputs: the tensors it is called with, by name, in order.
        weights: parameters and buffers by their name in the graph: path in the model, and elements.
        stored: of weights that PyTorch has quantised, the integers behind the floats.
        constants: tensors that depend on no input, by name.
        operators: in an order in which they can run.
        outputs: the names of the results, in order.
        narrow: weights whose element type is narrower than that of the array that holds them.
    """

    inputs: dict[str, Meta] = field(default_factory=dict)
    weights: dict[str, tuple[str, Any]] = field(default_factory=dict)
    stored: dict[str, Stored] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    operators: list[Operator] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    narrow: dict[str, str] = field(default_factory=dict)


def named_in(value: Any) -> Iterator[str]:
    """The names of the references in an argument."""
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from named_in(item)
