"""``ModelSchedule``: the schedule of a model, by module paths too."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects.diagnostics import ModelError
from allo.frontend.kernel_module import KernelModule
from allo.schedule.primitives.functions.compose import compose_on

from .graph import Model
from .lowering import Generated
from .modules.explain import Explanation, explained
from .modules.state import ModelState
from .modules.sub import ModuleSchedule
from .origin import Origin
from .places import place_of_caller


@dataclass(frozen=True, slots=True)
class Latency:
    """From a sample to its result, by the estimate of a design.

    Attributes:
        clock_mhz: for which the design is to be built.
        cycles: from the one in which a sample is taken to the one of its result.
        period_ns: of a cycle, as the estimate has the longest path.
    """

    clock_mhz: float
    cycles: int
    period_ns: float

    @property
    def ns(self) -> float:
        """Nanoseconds."""
        return self.cycles * self.period_ns


class ModelSchedule(ModelState):
    """The schedule of a model: one function for each call of a module.

    ``s["blocks.*.attn.qkv"]`` is the part that belongs to the modules of these paths.

    Attributes:
        source: the kernels, as they were written for the model.
        operators: the ATen operators that the exported model calls.
        latency: of a network with its weights in the logic that was made for one.
    """

    source: str
    operators: frozenset[str]
    latency: Latency | None = None

    def __init__(
        self, kernel: KernelModule, generated: Generated, exported: Model, origin: Origin
    ) -> None:
        super().__init__(kernel, generated, origin)
        self.source = "\n".join(line for line, _ in generated.lines)
        self.operators = frozenset(op.target for op in exported.operators)

    compose_on = compose_on

    def __getitem__(self, path: str) -> ModuleSchedule:
        """The schedule of the modules that a path names, such as ``"blocks.*.mlp"``.

        Raises:
            UnknownHandleError: there is none; near misses are listed.
        """
        return ModuleSchedule(self, path)

    def explain(self, path: str = "**") -> Explanation:
        """What became of each operator in the modules that a path names; of all by default.

        Raises:
            UnknownHandleError: there is no such module.
        """
        paths = [match.path for match in self.matched(path)]
        return explained(self, paths)


def check_latency(target_latency_ns: float | None) -> None:
    """Refuse a latency that is none.

    Raises:
        ModelError: it is not above 0.
    """
    if target_latency_ns is not None and not target_latency_ns > 0:
        raise ModelError(
            f"target_latency_ns is {target_latency_ns!r}, and no latency.",
            place_of_caller(),
            help="give nanoseconds, such as target_latency_ns=50_000.",
        )
