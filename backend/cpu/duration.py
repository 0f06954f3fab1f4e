"""Whether a kernel is sure to end in no time, so that a call needs no way to be interrupted."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import is_affine_loop, spec_of
from allo.dialects.core.signature import callee_of

from .lowering.prepare import definitions_of

MANY = 1_000_000
"""Operations of core IR: a few milliseconds at most."""
_LARGE = 4_000
"""Operations of text that are worth looking at: a longer kernel counts as slow."""


class _SlowError(Exception):
    """The kernel has a loop that may run for long."""


def is_quick(module: ir.Module, top: str) -> bool:
    """Whether a call of ``top`` executes less than :data:`MANY` operations, as far as constants tell."""
    counter = _Counter({f.name.value: f.operation for f in definitions_of(module)})
    try:
        return counter.function(top) < MANY
    except _SlowError:
        return False


class _Counter:
    def __init__(self, functions: dict[str, ir.Operation]) -> None:
        self._functions = functions
        self._counts: dict[str, int] = {}
        self._seen = 0

    def function(self, name: str) -> int:
        """How many operations a call of the function executes; _SlowError if that is unknown."""
        if name not in self._counts:
            if name not in self._functions:  # external C++
                raise _SlowError
            self._counts[name] = self._region(self._functions[name])
        return self._counts[name]

    def _region(self, op: ir.Operation) -> int:
        return sum(
            self._operation(inner.operation)
            for region in op.regions
            for block in region.blocks
            for inner in block.operations
        )

    def _operation(self, op: ir.Operation) -> int:
        self._seen += 1
        if self._seen > _LARGE or op.name in ("scf.for", "scf.while"):
            raise _SlowError
        if op.name == "func.call":
            return self.function(callee_of(op))
        if not is_affine_loop(op):
            return 1 + self._region(op)
        trips = spec_of(op).trip_count()
        if trips is None:
            raise _SlowError
        return trips * self._region(op)
