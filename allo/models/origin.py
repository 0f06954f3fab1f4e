"""What a schedule of a model was made of, and what its results are compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .graph import Model


class Origin(ABC):
    """A model in the form that its user has, with example inputs.

    Attributes:
        judge: who computes the results, as messages call it: ``"PyTorch"``.
    """

    judge: str

    @abstractmethod
    def kinds(self) -> dict[str, str]:
        """The class of each module by its path, without the model itself."""

    @abstractmethod
    def weights(self, path: str) -> dict[str, Any]:
        """The weights of a module and of those in it, as arrays by name."""

    @abstractmethod
    def inputs(self) -> list[Any]:
        """The example inputs as arrays."""

    @abstractmethod
    def expected(self) -> list[Any]:
        """The results of the example inputs, as arrays."""


@dataclass(frozen=True, slots=True)
class ReferenceOrigin(Origin):
    """A graph and the function that computes its results.

    Attributes:
        graph: the graph, of integers for example.
        reference: the results of inputs.
        examples: the example inputs, as arrays.
        modules: the class of each module by its path.
        judge: who computes the results, as messages call it.
    """

    graph: Model
    reference: Callable[..., Any]
    examples: Sequence[Any]
    modules: Mapping[str, str]
    judge: str

    def kinds(self) -> dict[str, str]:
        """The class of each module by its path, without the model itself."""
        return dict(self.modules)

    def weights(self, path: str) -> dict[str, Any]:
        """The weights of a module and of those in it, by name."""
        start = f"{path}." if path else ""
        weights = self.graph.weights.values()
        return {p[len(start) :]: array for p, array in weights if p.startswith(start)}

    def inputs(self) -> list[Any]:
        """The example inputs."""
        return list(self.examples)

    def expected(self) -> list[Any]:
        """The reference's results."""
        found = self.reference(*self.examples)
        return list(found) if isinstance(found, (list, tuple)) else [found]
