"""``AutoschedulerConfig``: what published programs ask of the automatic scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from allo.dialects.diagnostics import AutoscheduleError

Kind = Literal["graph", "node", "combined"]
DebugPoint = Literal["mlir_preprocess", "dataflow_canonicalization", "outline_loops", "loop_opts"]
KINDS = ("graph", "node", "combined")
DEBUG_POINTS = ("mlir_preprocess", "dataflow_canonicalization", "outline_loops", "loop_opts")


@dataclass
class AutoschedulerConfig:
    """What is asked for. Each ``with_…`` method changes the configuration and returns it.

    Attributes:
        dsp_factors: multiplier blocks of an operation, by its name (``"mulf"``), for the model; limits are
            held against the report of the design, which counts its own.
        dsp_limit: multiplier blocks at most.
        tiling_limit: iterations of a loop side by side, at most.
        mem_w_ports, mem_r_ports: accepted; banks have the ports of the device's memories.
        kind: ``"graph"``, orders of loops and tasks at the same time; ``"node"``, tiles of each nest;
            ``"combined"`` or None, both together.
        debug_point: the step after which the schedule is returned as it is then; all but the last are
            before anything is chosen.
        debug_lp: print the model's answer.
        verify: accepted; every result is checked.
        verbose: print the account of the search.
    """

    dsp_factors: Mapping[str, int] | None = None
    dsp_limit: int = 2560
    tiling_limit: int = 4
    mem_w_ports: int | None = None
    mem_r_ports: int | None = None
    kind: Kind | None = None
    debug_point: DebugPoint | None = None
    debug_lp: bool = False
    verify: bool = False
    verbose: bool = True

    @staticmethod
    def builder() -> AutoschedulerConfig:
        """A configuration to which the ``with_…`` methods are applied."""
        return AutoschedulerConfig()

    def with_dsp_factors(self, dsp_factors: Mapping[str, int]) -> AutoschedulerConfig:
        """Set the multiplier blocks of operations."""
        self.dsp_factors = dict(dsp_factors)
        return self

    def with_dsp_limit(self, dsp_limit: int) -> AutoschedulerConfig:
        """Set the limit of multiplier blocks."""
        self.dsp_limit = dsp_limit
        return self

    def with_tiling_limit(self, tiling_limit: int) -> AutoschedulerConfig:
        """Set the largest factor of a loop."""
        self.tiling_limit = tiling_limit
        return self

    def with_mem_w_ports(self, ports: int | None) -> AutoschedulerConfig:
        """Accept a number of write ports."""
        self.mem_w_ports = ports
        return self

    def with_mem_r_ports(self, ports: int | None) -> AutoschedulerConfig:
        """Accept a number of read ports."""
        self.mem_r_ports = ports
        return self

    def with_kind(self, kind: Kind | None) -> AutoschedulerConfig:
        """Set what is chosen.

        Raises:
            AutoscheduleError: there is no such kind.
        """
        _one_of("kind", kind, KINDS)
        self.kind = kind
        return self

    def with_debug_point(self, debug_point: DebugPoint | None) -> AutoschedulerConfig:
        """Set the step after which to stop.

        Raises:
            AutoscheduleError: there is no such step.
        """
        _one_of("debug point", debug_point, DEBUG_POINTS)
        self.debug_point = debug_point
        return self

    def enable_debug_lp(self) -> AutoschedulerConfig:
        """Print the model's answer."""
        self.debug_lp = True
        return self

    def disable_debug_lp(self) -> AutoschedulerConfig:
        """Print no answer of the model."""
        self.debug_lp = False
        return self

    def enable_verify(self) -> AutoschedulerConfig:
        """Accept that results shall be checked."""
        self.verify = True
        return self

    def disable_verify(self) -> AutoschedulerConfig:
        """Accept that results need no check; they are checked all the same."""
        self.verify = False
        return self

    def with_verbose(self, verbose: bool = True) -> AutoschedulerConfig:
        """Set whether the account of the search is printed."""
        self.verbose = verbose
        return self


def _one_of(what: str, value: object, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise AutoscheduleError(
            f"AutoschedulerConfig: there is no {what} {value!r}.",
            help=f"it is one of {', '.join(known)}, or None.",
        )
