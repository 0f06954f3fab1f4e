"""``allo.torch.explain``: which graphs of a program run on Allo, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from allo.models.modules.explain import Explained, Explanation

from ..places import place_of_trace
from ..wheel import load_torch
from .graph import CompiledGraph, Outcome
from .settings import Settings, settings_of


def explain(program: Any, *inputs: Any, options: Mapping[str, Any] | None = None) -> Explanation:
    """Compile a program as ``torch.compile(program, backend="allo")`` does, and tell what became of it.

    The program runs once on the inputs. Programs that were compiled before are compiled again when they
    are next called.

    Args:
        program: a model or a function; one that ``torch.compile`` returned counts as what it was made of.
        inputs: what to call it with.
        options: as ``torch.compile`` takes them.

    Returns:
        A row for each graph: its operators, where it runs or why it runs in PyTorch, and the line; and a row
        for each place where PyTorch ends a graph.

    Raises:
        ToolMissingError: PyTorch is not installed.
        OptionError: an option that there is not.
    """
    torch = load_torch()
    recorder = _Recorder(settings_of(options), str(Path(torch.__file__).parent))
    original = getattr(program, "_orig_mod", program)
    original = getattr(original, "_torchdynamo_orig_callable", original)
    torch._dynamo.reset()
    try:
        torch.compile(original, backend=recorder.compiled, dynamic=False)(*inputs)
    finally:
        torch._dynamo.reset()
    return Explanation(recorder.rows)


class _Recorder:
    """A backend that keeps what became of each graph."""

    def __init__(self, settings: Settings, package: str) -> None:
        self.rows: list[Explained] = []
        self._settings = settings
        self._package = package
        self._graphs = 0

    def compiled(self, graph: Any, example_inputs: Any) -> Callable[..., Any]:
        """Compile a graph, and write a row when it has run."""
        self._graphs += 1
        name = f"graph {self._graphs}"
        end = getattr(graph, "compile_subgraph_reason", None)

        def told(outcome: Outcome) -> None:
            place = outcome.place or self._first_place(graph)
            where = f"{place.file}:{place.line}" if place else ""
            became = f"runs on {self._settings.where}"
            if outcome.run is None:
                became = f"runs in PyTorch: {outcome.reason}"
            self.rows.append(Explained(name, outcome.listed, became, where))
            if end is not None and end.graph_break:
                frame = end.user_stack[-1] if end.user_stack else None
                line = f"{frame.filename}:{frame.lineno}" if frame else ""
                first = (str(end.reason).strip().splitlines() or [""])[0]
                self.rows.append(Explained(name, "", f"PyTorch ends the graph: {first}", line))

        return CompiledGraph(graph, self._settings, told)

    def _first_place(self, graph: Any) -> Any:
        traces = [node.meta.get("stack_trace") for node in graph.graph.nodes]
        return next((place_of_trace(t, self._package) for t in traces if t), None)
