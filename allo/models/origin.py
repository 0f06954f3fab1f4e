"""What a schedule of a model was made of, and what its results are compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError

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


@dataclass(frozen=True, slots=True)
class EachSample(Origin):
    """A model that is run on several samples, one after the other.

    Attributes:
        one: the model, of one sample.
        count: how many samples a call takes.
        judge: who computes the results.
    """

    one: ReferenceOrigin
    count: int
    judge: str

    def kinds(self) -> dict[str, str]:
        """The class of each module by its path."""
        return self.one.kinds()

    def weights(self, path: str) -> dict[str, Any]:
        """The weights of a module and of those in it, by name."""
        return self.one.weights(path)

    def inputs(self) -> list[Any]:
        """The example inputs, rolled along for each sample: all samples differ where elements do."""
        return [
            np.stack([np.roll(array, k) for k in range(self.count)]) for array in self.one.inputs()
        ]

    def expected(self) -> list[Any]:
        """The results of all samples."""
        inputs = self.inputs()
        each = [
            replace(self.one, examples=[array[k] for array in inputs]).expected()
            for k in range(self.count)
        ]
        return [np.stack(results) for results in zip(*each, strict=True)]


def each_sample(origin: Origin, count: int) -> EachSample:
    """A model of one sample as one of several.

    Raises:
        ModelError: no number of samples, or a model that only PyTorch runs.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ModelError(
            f"samples is {count!r}, which is no number of samples.",
            help="give how many samples one call takes: 1 or more.",
        )
    if not isinstance(origin, ReferenceOrigin):
        raise ModelError(
            "This model has no reference that runs one sample.",
            help="give the batch as the first dimension of its example inputs.",
        )
    return EachSample(origin, count, origin.judge)
