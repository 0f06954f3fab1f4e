"""Look-ups in a module: functions, and loops in bands."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from allo.dialects.diagnostics import UnknownHandleError

if TYPE_CHECKING:
    from allo.dialects._mlir import ir


def find_func_in_module(module: ir.Module, name: str) -> Any:
    """The ``func.func`` called ``name``, or None."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.attributes["sym_name"].value == name:
            return op
    return None


def get_affine_loop_nests(func: Any) -> Any:
    """The loop bands of a function."""
    bands = importlib.import_module("allo.schedule.bands")
    return bands.bands_of(getattr(func, "operation", func))


def find_loop_in_bands(func: Any, axis: Any) -> tuple[str, str]:
    """(band name, loop name) of a loop given by name or handle.

    Raises:
        UnknownHandleError: when no band holds it, or several do.
    """
    wanted = axis if isinstance(axis, str) else axis.name.rsplit(".", 1)[-1]
    wanted = wanted.rsplit(":", 1)[-1]
    found = [
        band.name
        for band in get_affine_loop_nests(func)
        if any(name == wanted for name, _ in band.loops)
    ]
    if len(found) == 1:
        return found[0], wanted
    if not found:
        raise UnknownHandleError(
            f"No such loop {wanted!r}.", help="s.get_loops() lists the loops by their bands."
        )
    raise UnknownHandleError(
        f"Find multiple bands containing loop {wanted!r}: {found}.",
        help="give each loop a name of its own.",
    )
