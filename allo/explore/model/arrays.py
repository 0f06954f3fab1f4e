"""The arrays of a kernel: one key for all names of an array across calls."""

from __future__ import annotations

from collections.abc import Mapping

from allo.dialects._mlir import ir
from allo.dialects.core.alias import AliasClasses
from allo.dialects.core.signature import functions_of
from allo.schedule import Schedule
from allo.schedule.resolve import buffers_of

from .kernel import Array


class Arrays:
    """The arrays of a module: one key for all names of one array."""

    def __init__(self, schedule: Schedule) -> None:
        self.found: dict[str, Array] = {}
        self._keys: dict[ir.Value, str] = {}
        self._classes = AliasClasses(schedule.module.operation)
        self._schedule = schedule
        top = schedule.top_func_name
        functions = functions_of(schedule.module)
        for name in (top, *(n for n in functions if n != top)):
            if not len(functions[name].regions[0].blocks):
                continue
            for buffer, value in buffers_of(functions[name]).items():
                if isinstance(value.type, ir.MemRefType) and ir.MemRefType(value.type).rank:
                    self._add(name, buffer, value, functions)

    def key(self, value: ir.Value) -> str | None:
        """The key of an array; None of a scalar, and of what has no name."""
        return self._keys.get(value)

    def _add(
        self, function: str, buffer: str, value: ir.Value, functions: Mapping[str, ir.Operation]
    ) -> None:
        if value in self._keys:
            return
        kind = ir.MemRefType(value.type)
        top = self._schedule.top_func_name
        handle = f"{function}:{buffer}"
        members = self._classes.members(value) or [value]
        for member in members:
            self._keys[member] = handle
        arguments = functions[top].regions[0].blocks[0].arguments
        local = not any(member == argument for member in members for argument in arguments)
        obstacle = (
            "parts of it are used by another name" if self._classes.taken_views(value) else ""
        )
        shape = tuple(
            -1 if kind.is_dynamic_dim(d) else kind.get_dim_size(d) for d in range(kind.rank)
        )
        banked: dict[int, int] = {}
        given = self._schedule.partitioned_arrays
        for name, calls in given.items():
            if name == f"{function}:{buffer}":
                banked |= {dim - 1: factor for dim, _, factor in calls}
        copies = sum(_is_memory(member) for member in members)
        self.found[handle] = Array(
            handle, handle, shape, _bits(kind), local, banked, obstacle, copies
        )


def _bits(kind: ir.MemRefType) -> int:
    element = kind.element_type
    width = getattr(element, "width", None)
    return int(width) if width else 64


def _is_memory(value: ir.Value) -> bool:
    """Whether a name of an array is where it is made: no argument, and nothing that its function returns."""
    if isinstance(value.owner, ir.Block):
        return False
    return all(use.owner.name != "func.return" for use in value.uses)
