"""One function as hardware, and what was learnt making it."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects.reports.figures import FunctionReport

from .graph.regions import Function
from .plan.bind import Binding, Interface
from .waiting import ModuleWaits


@dataclass(slots=True)
class CompiledModule:
    """One hardware module and what was learnt making it; ``instances`` are modules inside it."""

    function: Function
    interface: Interface
    binding: Binding
    report: FunctionReport
    instances: list[str]
    debug: dict[str, str]
    waits: ModuleWaits
    owns_units: bool = True
