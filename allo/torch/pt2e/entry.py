"""A converted model as a graph of integers and as what its schedules are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from allo.models.graph import Model, Operator
from allo.models.integers.reference import Reference
from allo.models.origin import ReferenceOrigin

from ..origin import JUDGE, arrays_of, kinds_of
from ..running import run_operator
from ..wheel import load_torch
from .convert import convert, is_converted

__all__ = ["integers_of", "is_converted", "reference_of"]


def integers_of(
    exported: Model, model: Any, example_inputs: Sequence[Any]
) -> tuple[Model, ReferenceOrigin]:
    """The integer graph of an exported model, and what a verified schedule of it is compared with."""
    graph = convert(load_torch(), exported).graph
    origin = ReferenceOrigin(
        graph, reference_of(graph), arrays_of(example_inputs), kinds_of(model), JUDGE
    )
    return graph, origin


def reference_of(graph: Model) -> Callable[..., list[Any]]:
    """A function that computes the results in NumPy; PyTorch computes the floats that have no exact form."""
    torch = load_torch()

    def by_torch(op: Operator, values: dict[str, Any]) -> Any:
        given = {
            name: [torch.from_numpy(np.array(v)) for v in values[name]]
            if isinstance(values[name], (list, tuple))
            else torch.from_numpy(np.array(values[name]))
            for name in op.refs()
        }
        with torch.no_grad():
            result = run_operator(torch, op, given)
        if isinstance(result, (list, tuple)):
            return [part.numpy() for part in result]
        return result.numpy()

    reference = Reference(graph, by_torch)
    return lambda *inputs: reference(*(np.asarray(x) for x in inputs))
