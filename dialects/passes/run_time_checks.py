"""The checks that a build is asked for, which end a run: of subscripts and of asserted dependences."""

from __future__ import annotations

from dataclasses import dataclass

from .._mlir import ir
from .checks.bounds import check_bounds
from .checks.dependences import check_dependences


@dataclass(frozen=True, slots=True)
class Checks:
    """What is checked.

    Attributes:
        bounds: every subscript that may be out of range.
        dependences: every dependence that the schedule asserts.
    """

    bounds: bool = False
    dependences: bool = False

    def __bool__(self) -> bool:
        return self.bounds or self.dependences


NO_CHECKS = Checks()


def insert_checks(module: ir.Module, checks: Checks) -> None:
    """Insert the checks, in place; a subscript is checked before the arrays beside its array are read."""
    if checks.bounds:
        check_bounds(module)
    if checks.dependences:
        check_dependences(module)
