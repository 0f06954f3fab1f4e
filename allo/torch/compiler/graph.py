"""One graph of ``torch.compile``: built for each shape of its inputs when it is first called so."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allo.dialects.diagnostics import (
    AlloError,
    EagerWarning,
    SourcePlace,
    UnsupportedOperatorError,
)

from ..entry import from_pytorch
from ..places import place_of_trace
from ..wheel import load_torch
from .settings import Settings
from .tensors import array_of, tensor_of

_SHOWN = 6
"""Operators that a message lists."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a graph for inputs of some shapes.

    Attributes:
        operators: the operators of the graph, as the program calls them.
        run: computes the results from the inputs; None where PyTorch does.
        reason: why PyTorch does; ``""`` otherwise.
        place: the line of the program that the reason is about.
        like: the results as PyTorch gives them, for their shapes and types.
    """

    operators: tuple[str, ...]
    run: Callable[..., Any] | None
    reason: str
    place: SourcePlace | None
    like: tuple[Any, ...]

    @property
    def listed(self) -> str:
        """The operators in short, each once."""
        names = list(dict.fromkeys(self.operators))
        return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


class CompiledGraph:
    """A graph that ``torch.compile`` found.

    Args:
        module: the graph, as a ``torch.fx.GraphModule``.
        settings: how to build it.
        told: called with each outcome.
    """

    def __init__(self, module: Any, settings: Settings, told: Callable[[Outcome], None]) -> None:
        self._torch = load_torch()
        self._module = module
        self._settings = settings
        self._told = told
        self._outcomes: dict[Any, Outcome] = {}

    def __call__(self, *args: Any) -> Any:
        """Compute the results, with a gradient where PyTorch would give one."""
        torch = self._torch
        key = tuple(_described(torch, value) for value in args)
        if key not in self._outcomes:
            self._outcomes[key] = self._compiled(args)
            self._told(self._outcomes[key])
        outcome = self._outcomes[key]
        if outcome.run is None:
            return self._module(*args)
        if torch.is_grad_enabled() and any(_needs_gradient(torch, value) for value in args):
            return self._differentiable(outcome)(*args)
        return self._run(outcome, args)

    def _run(self, outcome: Outcome, args: Sequence[Any]) -> tuple[Any, ...]:
        torch = self._torch
        arrays = [array_of(torch, value) for value in args if isinstance(value, torch.Tensor)]
        made = outcome.run(*arrays) if outcome.run else ()
        results = made if isinstance(made, (list, tuple)) else [made]
        pairs = zip(results, outcome.like, strict=True)
        return tuple(tensor_of(torch, array, like) for array, like in pairs)

    # --- compiling -----------------------------------------------------------------------------

    def _compiled(self, args: Sequence[Any]) -> Outcome:
        """Build the graph for inputs like these."""
        operators = tuple(_spelled(node) for node in self._module.graph.nodes if _is_call(node))
        like: tuple[Any, ...] = ()
        try:
            like = self._results(args)
            run = self._built(args)
        except Exception as error:
            reason, place = self._why(error)
            return Outcome(operators, None, reason, place, like)
        return Outcome(operators, run, "", None, like)

    def _results(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """What PyTorch gives for copies of the inputs.

        Raises:
            UnsupportedOperatorError: results that are no tensors of the CPU, or views of an input.
        """
        torch = self._torch
        tensors = [value for value in args if isinstance(value, torch.Tensor)]
        if any(value.device.type != "cpu" for value in tensors):
            raise UnsupportedOperatorError("An input is not in the memory of the CPU.")
        copies = [
            value.detach().clone() if isinstance(value, torch.Tensor) else value for value in args
        ]
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            results = self._module(*copies)
        known = {v.untyped_storage().data_ptr() for v in copies if isinstance(v, torch.Tensor)}
        for number, result in enumerate(results):
            if not isinstance(result, torch.Tensor):
                raise UnsupportedOperatorError(f"Result {number} of the graph is no tensor.")
            if result.untyped_storage().data_ptr() in known:
                raise UnsupportedOperatorError(
                    f"Result {number} of the graph is an input or a view of one, and not a tensor of its own."
                )
        return tuple(torch.empty_like(result) for result in results)

    def _built(self, args: Sequence[Any]) -> Callable[..., Any]:
        """The graph built, with its inputs that are no tensors as they are now."""
        torch = self._torch
        graph = self._module

        class Fixed(torch.nn.Module):  # type: ignore[name-defined]
            """The graph as a function of tensors only."""

            def forward(self, *tensors: Any) -> Any:
                """Fill in what is no tensor."""
                rest = iter(tensors)
                return graph(*[next(rest) if isinstance(v, torch.Tensor) else v for v in args])

        inputs = [torch.zeros_like(v).detach() for v in args if isinstance(v, torch.Tensor)]
        with torch.no_grad():
            s = from_pytorch(Fixed(), inputs, target="mlir", op_dtypes=self._settings.op_dtypes)
        built: Callable[..., Any] = self._settings.built(s)
        return built

    def _why(self, error: Exception) -> tuple[str, SourcePlace | None]:
        """The reason in one sentence, and the line of the program that it is about."""
        if not isinstance(error, AlloError):
            lines = str(error).splitlines() or [""]
            return f"{type(error).__name__}: {lines[0]}", None
        sentence = str(error.args[0]) if error.args else str(error)
        lines = [line for line in sentence.splitlines() if line]
        place = error.place
        own = str(Path(__file__).parent)
        if place is not None and (place.file.startswith((own, "<"))):
            place = None
        return lines[0], place or self._place_of(sentence)

    def _place_of(self, sentence: str) -> SourcePlace | None:
        """The program's line of the operator that a sentence names."""
        package = str(Path(self._torch.__file__).parent)
        for node in self._module.graph.nodes:
            if _is_call(node) and f"aten.{_spelled(node)}." in sentence:
                return place_of_trace(node.meta.get("stack_trace"), package)
        return None

    # --- gradients -----------------------------------------------------------------------------

    def _differentiable(self, outcome: Outcome) -> Callable[..., Any]:
        """The graph with a gradient, which PyTorch computes from its own run of the graph."""
        torch, graph = self._torch, self

        class Differentiable(torch.autograd.Function):  # type: ignore[name-defined]
            """Forward on Allo's build, backward in PyTorch."""

            @staticmethod
            def forward(ctx: Any, *args: Any) -> Any:
                """Run the build."""
                ctx.tensors = [isinstance(value, torch.Tensor) for value in args]
                ctx.rest = [
                    None if is_tensor else v for v, is_tensor in zip(args, ctx.tensors, strict=True)
                ]
                ctx.save_for_backward(*(v for v in args if isinstance(v, torch.Tensor)))
                results = graph._run(outcome, args)
                whole = [r for r in results if not r.is_floating_point()]
                ctx.mark_non_differentiable(*whole)
                return results

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                """Run PyTorch's graph and go back through it."""
                saved = iter(ctx.saved_tensors)
                args = [
                    next(saved).detach().requires_grad_(needs) if is_tensor else value
                    for value, is_tensor, needs in zip(
                        ctx.rest, ctx.tensors, ctx.needs_input_grad, strict=True
                    )
                ]
                with torch.enable_grad():
                    results = graph._module(*args)
                pairs = [(r, g) for r, g in zip(results, gradients, strict=True) if r.requires_grad]
                wanted = [v for v, n in zip(args, ctx.needs_input_grad, strict=True) if n]
                found = iter(
                    torch.autograd.grad(
                        [r for r, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True
                    )
                )
                return tuple(next(found) if needs else None for needs in ctx.needs_input_grad)

        run: Callable[..., Any] = Differentiable.apply
        return run


def warn(outcome: Outcome) -> None:
    """Tell the user that a graph runs in PyTorch."""
    if outcome.run is None:
        at = f"{outcome.place}: " if outcome.place else ""
        warnings.warn(
            f"{at}A graph of torch.compile ({outcome.listed}) runs in PyTorch: {outcome.reason}",
            EagerWarning,
            stacklevel=2,
        )


def _described(torch: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.dtype, value.device.type
    return value


def _needs_gradient(torch: Any, value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _is_call(node: Any) -> bool:
    return node.op in ("call_function", "call_method", "call_module")


def _spelled(node: Any) -> str:
    """An operator as the program calls it: ``"relu"``."""
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    return str(name).strip("_") or str(node.target)
