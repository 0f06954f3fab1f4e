"""The PyTorch model and its example inputs that a schedule was made of, or a model exported already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from allo.models.graph import Model
from allo.models.origin import Origin

from .exporting import elements, evaluating
from .wheel import load_torch

JUDGE = "PyTorch"


@dataclass(frozen=True, slots=True)
class TorchOrigin(Origin):
    """A PyTorch model and the inputs it was exported with.

    Attributes:
        model: the ``torch.nn.Module``.
        example_inputs: its inputs.
        judge: who computes the results, as messages call it.
    """

    model: Any
    example_inputs: Sequence[Any]
    judge: str = JUDGE

    def kinds(self) -> dict[str, str]:
        """The class of each module by its path, without the model itself."""
        return kinds_of(self.model)

    def weights(self, path: str) -> dict[str, Any]:
        """The parameters of a module and of those in it, then the buffers, as arrays by name."""
        torch = load_torch()
        module = self.model.get_submodule(path)
        named = [
            *module.named_parameters(remove_duplicate=False),
            *module.named_buffers(remove_duplicate=False),
        ]
        return {name: elements(torch, tensor) for name, tensor in named}

    def inputs(self) -> list[Any]:
        """The example inputs as arrays."""
        return arrays_of(self.example_inputs)

    def expected(self) -> list[Any]:
        """What PyTorch computes from the example inputs, as arrays."""
        torch = load_torch()
        with evaluating(self.model), torch.no_grad():
            result = self.model(*self.example_inputs)
        leaves = torch.utils._pytree.tree_leaves(result)
        return [elements(torch, leaf) for leaf in leaves]


def kinds_of(model: Any) -> dict[str, str]:
    """The class of each module of a PyTorch model by its path, without the model itself."""
    return {path: type(module).__name__ for path, module in model.named_modules() if path}


def arrays_of(tensors: Sequence[Any]) -> list[Any]:
    """The elements of tensors, as arrays."""
    torch = load_torch()
    return [elements(torch, tensor) for tensor in tensors]


class Prepared(ABC):
    """A model that has been exported and rewritten already, such as a quantised one."""

    @abstractmethod
    def exported(self, example_inputs: Sequence[Any]) -> Model:
        """The graph.

        Raises:
            ModelError: example inputs that are not those for which it was made.
        """

    @abstractmethod
    def origin(self, example_inputs: Sequence[Any]) -> Origin:
        """What a verified schedule is compared with."""
