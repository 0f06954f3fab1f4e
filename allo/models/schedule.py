"""``ModelSchedule``: the schedule of a model, by module paths too."""

from __future__ import annotations

from allo.frontend.kernel_module import KernelModule
from allo.schedule.primitives.functions.compose import compose_on

from .graph import Model
from .latency import Latency
from .lowering import Generated
from .modules.explain import Explanation, explained
from .modules.state import ModelState
from .modules.sub import ModuleSchedule
from .origin import Origin


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
