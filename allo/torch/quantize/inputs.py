"""Inputs as people give them: lists of calls, tensors, arrays; what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError
from allo.models.integers.arithmetic import Array


def samples_of(torch: Any, data: Any, what: str) -> list[tuple[Any, ...]]:
    """The inputs of each call as tensors.

    Args:
        torch: the module.
        data: a list whose items are a tensor or a tuple of tensors, each the inputs of one call; or one
            tensor or array, whose first dimension counts calls with a batch of one.
        what: ``"calibration"`` or ``"data"``, for messages.

    Raises:
        ModelError: nothing there, something that is no tensor, or items of different shapes.
    """
    if isinstance(data, (torch.Tensor, np.ndarray)):
        whole = torch.as_tensor(data)
        calls = [(whole[k : k + 1],) for k in range(len(whole))] if whole.dim() else []
    elif isinstance(data, (list, tuple)):
        calls = [
            tuple(torch.as_tensor(part) for part in _parts(torch, item, number, what))
            for number, item in enumerate(data)
        ]
    else:
        raise ModelError(
            f"The {what} is of type {type(data).__name__}, and no list of inputs.",
            help="give a list whose items are the inputs of one call, or a tensor of samples.",
        )
    if not calls:
        raise ModelError(
            f"The {what} is empty.",
            help="give at least one input; a hundred typical ones are good.",
        )
    first = [(tuple(t.shape), t.dtype) for t in calls[0]]
    for number, call in enumerate(calls):
        found = [(tuple(t.shape), t.dtype) for t in call]
        if found != first:
            raise ModelError(
                f"Item {number} of the {what} has inputs of {_kinds_text(found)}, and item 0 of"
                f" {_kinds_text(first)}.",
                help="all items have the shapes and types that the design shall take.",
            )
    return calls


def _parts(torch: Any, item: Any, number: int, what: str) -> Sequence[Any]:
    parts = item if isinstance(item, (list, tuple)) else [item]
    for part in parts:
        if not isinstance(part, (torch.Tensor, np.ndarray)):
            raise ModelError(
                f"Item {number} of the {what} holds a {type(part).__name__}, which is no tensor.",
                help="each item is a tensor, or a tuple of the tensors of one call.",
            )
    return parts


def arrays_of(inputs: Sequence[Any]) -> list[Array]:
    """NumPy arrays of tensors or arrays."""
    return [np.asarray(x.detach() if hasattr(x, "detach") else x) for x in inputs]


def shapes_text(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes for a message."""
    return ", ".join("×".join(map(str, shape)) or "scalar" for shape in shapes) or "nothing"


def _kinds_text(kinds: Sequence[tuple[Sequence[int], Any]]) -> str:
    return ", ".join(f"{shapes_text([shape])} {str(dtype)[6:]}" for shape, dtype in kinds)
