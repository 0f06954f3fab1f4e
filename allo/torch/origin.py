"""What a schedule was made of: the PyTorch model and its example inputs, or a graph that is there already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .exporting import elements, evaluating
from .graph import Model
from .wheel import load_torch


@dataclass(frozen=True, slots=True)
class Origin:
    """A PyTorch model and the inputs it was exported with.

    Attributes:
        model: the ``torch.nn.Module``.
        example_inputs: its inputs.
    """

    model: Any
    example_inputs: Sequence[Any]

    def kinds(self) -> dict[str, str]:
        """The class of each module by its path, without the model itself."""
        return {path: type(m).__name__ for path, m in self.model.named_modules() if path}

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
        torch = load_torch()
        return [elements(torch, tensor) for tensor in self.example_inputs]

    def expected(self) -> list[Any]:
        """What PyTorch computes from the example inputs, as arrays."""
        torch = load_torch()
        with evaluating(self.model), torch.no_grad():
            result = self.model(*self.example_inputs)
        leaves = torch.utils._pytree.tree_leaves(result)
        return [elements(torch, leaf) for leaf in leaves]


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
