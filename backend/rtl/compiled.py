"""One function as hardware, and what was learnt making it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from allo.dialects.reports.figures import FunctionReport

from .graph.nodes import Body
from .graph.regions import Function
from .plan.bind import Binding, Interface
from .regions.graph import RegionGraph
from .waiting import ModuleWaits


@dataclass(slots=True)
class CompiledModule:
    """One hardware module and what was learnt making it.

    Attributes:
        instances: the modules inside it, each with how often it is there.
        static: the body of what is computed from values that are stable, of a function.
        callees: of a function, those that it calls, by name.
        graph: of a region, what it joins.
    """

    function: Function
    interface: Interface
    binding: Binding
    report: FunctionReport
    instances: Counter[str]
    debug: dict[str, str]
    waits: ModuleWaits
    owns_units: bool = True
    static: Body | None = None
    callees: dict[str, str] = field(default_factory=dict)
    graph: RegionGraph | None = None
