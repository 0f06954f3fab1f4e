"""An integer graph as what its schedules are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..graph import Model
from ..origin import Origin


@dataclass(frozen=True, slots=True)
class ReferenceOrigin(Origin):
    """A model of integers and the function that computes its results.

    Attributes:
        graph: the integer graph.
        reference: the results of inputs.
    """

    graph: Model
    reference: Callable[..., Any]

    def weights(self, path: str) -> dict[str, Any]:
        """The integer weights of a module and of those in it, by name."""
        start = f"{path}." if path else ""
        weights = self.graph.weights.values()
        return {p[len(start) :]: array for p, array in weights if p.startswith(start)}

    def expected(self) -> list[Any]:
        """The reference's results."""
        found = self.reference(*self.example_inputs)
        return list(found) if isinstance(found, (list, tuple)) else [found]
