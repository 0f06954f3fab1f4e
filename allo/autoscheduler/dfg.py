"""``DFG``: the nests of a kernel as a graph, and what the model chooses for them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from allo.backend.devices import DEFAULT_DEVICE, resources_of
from allo.dialects.diagnostics import AutoscheduleError
from allo.explore.greedy import choosing
from allo.explore.model.kernel import Kernel, Nest
from allo.explore.model.read import read_kernel
from allo.explore.model.rows import Limits, Space, space_of
from allo.explore.model.units import Units
from allo.explore.solve import Corrections, Problem
from allo.schedule import Schedule

CLOCK = 200.0
SECONDS = 60.0
"""Of one solution of the model, at most."""


@dataclass(frozen=True, slots=True)
class DFGAnalysisResult:
    """What the model chooses.

    Attributes:
        loop_permutations: of each nest its number and the places of its loops, outermost first.
        tiling_factors: of each nest its number and the iterations of each loop side by side.
    """

    loop_permutations: list[tuple[int, list[int]]]
    tiling_factors: list[tuple[int, list[int]]]


class DFG:
    """The nests of a kernel, and which of them wait for which.

    Attributes:
        kernel: the nests, arrays and tasks.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @classmethod
    def from_module(cls, module: object) -> DFG:
        """The graph of a module of core IR, or of its text."""
        return cls.from_schedule(Schedule.from_text(str(module)))

    @classmethod
    def from_schedule(cls, schedule: Schedule) -> DFG:
        """The graph of a schedule's module."""
        return cls(read_kernel(schedule))

    def create_performance_model(
        self,
        pinned_permutations: Sequence[tuple[int, Sequence[int]]] | None = None,
        enable_tile: bool = True,
        debug_output: str | None = None,
        verbose: bool = False,
        dsp_limit: int = 2560,
        tiling_limit: int = 4,
    ) -> DFGAnalysisResult:
        """Solve the model: an order of loops and factors for every nest.

        Args:
            pinned_permutations: orders of nests that are given, as ``loop_permutations`` has them.
            enable_tile: whether factors other than 1 may be chosen.
            debug_output: a file to write the answer to.
            verbose: print the answer.

        Raises:
            AutoscheduleError: the model has no answer; it is a RuntimeError.
        """
        units = Units(DEFAULT_DEVICE, CLOCK, "keep")
        limits = Limits(dsp_limit, resources_of(DEFAULT_DEVICE).get("lut"))
        most = tiling_limit if enable_tile else 1
        space = space_of(self.kernel, units, limits, reassociate=False, most_factor=most)
        space = self._pinned(space, dict(pinned_permutations or ()))
        problem = Problem(self.kernel, space, units, limits)
        choice = problem.solve(Corrections(), dataflow=len(self.kernel.tasks) > 1, seconds=SECONDS)
        if choice is None or any(not space.rows.get(n.number) for n in self._open()):
            raise AutoscheduleError(
                "Optimization failed with status INFEASIBLE: no choice of the nests is within the limits.",
                help="give a larger dsp_limit, or pin fewer permutations.",
            )
        found = DFGAnalysisResult([], [])
        for number in choosing(self.kernel, space):
            row = choice.rows.get(number)
            if row is None:
                continue
            names = [loop.name for loop in self.kernel.nests[number].chain]
            found.loop_permutations.append((number, [names.index(n) for n in row.order]))
            found.tiling_factors.append((number, [row.factors[n] for n in names]))
        if verbose:
            sys.stdout.write(f"{found}\n")
        if debug_output is not None:
            Path(debug_output).write_text(f"{found}\n")
        return found

    def _pinned(self, space: Space, pinned: Mapping[int, Sequence[int]]) -> Space:
        """The space with the rows of the given orders alone."""
        rows = dict(space.rows)
        for number, places in pinned.items():
            names = [loop.name for loop in self.kernel.nests[number].chain]
            order = tuple(names[place] for place in places)
            rows[number] = [row for row in rows.get(number, []) if row.order == order]
        return Space(rows, space.units, space.looked_at)

    def _open(self) -> list[Nest]:
        """The innermost nests of which something can be chosen, outside of others that can."""
        free = [n for n in self.kernel.leaves() if not n.obstacle]
        return [n for n in free if n.parent is None]

    def dot(self) -> str:
        """The graph in Graphviz's language."""
        lines = ["digraph dfg {"]
        for number, task in enumerate(self.kernel.tasks):
            names = "\\n".join(self.kernel.nests[n].name for n in task) or f"task {number}"
            lines.append(f'  t{number} [shape=box, label="{names}"];')
        lines += [f"  t{a} -> t{b};" for a, b in self.kernel.waits]
        return "\n".join([*lines, "}"])

    def print_as_dot(self) -> None:
        """Print the graph in Graphviz's language."""
        sys.stdout.write(f"{self.dot()}\n")
