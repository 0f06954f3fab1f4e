"""The backend ``"allo"`` of ``torch.compile``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from ..wheel import load_torch
from .graph import CompiledGraph, warn
from .settings import settings_of


def allo_backend(
    graph: Any, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Compile a graph of ``torch.compile``; see ``docs/torch.md``.

    A graph that cannot be built runs in PyTorch, with an ``EagerWarning`` that says why.

    Args:
        graph: a ``torch.fx.GraphModule``.
        example_inputs: its inputs; it is built for those that it is called with.
        options: ``target``, ``schedule`` and ``op_dtypes``.

    Raises:
        OptionError: an option that there is not, or a value that it does not take.
    """
    return CompiledGraph(graph, settings_of(options), warn)


def register_if_loaded() -> None:
    """Make ``backend="allo"`` known where PyTorch has been imported already.

    Otherwise PyTorch finds it by the entry point ``torch_dynamo_backends`` of the installed package.
    """
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "compile"):
        return
    register()


def register() -> None:
    """Make ``backend="allo"`` known to PyTorch.

    Raises:
        ToolMissingError: PyTorch is not installed.
    """
    load_torch()
    registry = import_module("torch._dynamo.backends.registry")
    if "allo" not in registry.list_backends():
        registry.register_backend(allo_backend, name="allo")
