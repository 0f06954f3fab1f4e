"""A part of a design: the functions, or the modules of a model, that a search may change."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from allo.dialects.affine.loops import walk
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.diagnostics import AutoscheduleError
from allo.dialects.text.near import did_you_mean
from allo.schedule import Schedule

from ..model.kernel import OUTSIDE, Kernel


def functions_in(schedule: Schedule, part: str) -> set[str]:
    """The functions that a pattern names, and all that these call.

    Args:
        part: a function, or the path of a module of a model, where ``*``, ``?`` and ``[…]`` stand for
            characters: ``"blocks.*"`` is all that is in ``blocks``.

    Raises:
        AutoscheduleError: it names none.
    """
    paths: Mapping[str, str] = getattr(schedule, "module_paths", {})
    with schedule.context:
        functions = functions_of(schedule.module)
        calls = {
            name: {callee_of(op) for op in walk(function) if op.name == "func.call"}
            for name, function in functions.items()
        }
    found = {
        name
        for name in functions
        if fnmatchcase(name, part) or (name in paths and fnmatchcase(paths[name], part))
    }
    if not found:
        known = sorted({*functions, *(path for path in paths.values() if path)})
        raise AutoscheduleError(
            f"No function of {schedule.top_func_name} is called {part!r}.",
            help=f"{did_you_mean(part, known)}there are {', '.join(known)}.",
        )
    pending = list(found)
    while pending:
        for name in calls.get(pending.pop(), set()) - found:
            found.add(name)
            pending.append(name)
    return found


def leave_outside(kernel: Kernel, functions: set[str]) -> None:
    """Have all nests of other functions stay as they are."""
    for nest in kernel.nests:
        if nest.function not in functions:
            nest.obstacle = OUTSIDE
