"""``get_equivalent_variables``: the names of one variable across calls and returns."""

from __future__ import annotations

from allo.dialects.core.alias import VariableClasses
from allo.dialects.core.signature import functions_of
from allo.dialects.diagnostics import UnknownHandleError
from allo.schedule.near import suggestion
from allo.schedule.resolve import buffers_of, find_function, split_name
from allo.schedule.state import ScheduleState


def get_equivalent_variables(s: ScheduleState, name: str) -> set[str]:
    """Every ``"func:name"`` that is the same array, or the same scalar, as ``name``.

    ::

        def top(A, n):                 s.get_equivalent_variables("top:A") == {"top:A", "inner:X"}
            inner(A, n)                s.get_equivalent_variables("inner:1") == {"top:n", "inner:m"}

    A scalar is passed by value. It is the same variable as the parameter it is passed for, and as a
    scalar that is assigned once, from it.

    Args:
        name: ``"func:buffer"`` or ``"func:argument number"``; the top function where none is named.

    Raises:
        UnknownHandleError: no such function or buffer.
    """
    func, wanted = split_name(name, s.top_func_name)
    function = find_function(s.module, func)
    buffers = buffers_of(function)
    if wanted.isdigit():
        arguments = list(function.regions[0].blocks[0].arguments)
        value = arguments[int(wanted)] if int(wanted) < len(arguments) else None
    else:
        value = buffers.get(wanted)
    if value is None:
        raise UnknownHandleError(
            f"Target {wanted} not found in function {func}.",
            help=suggestion(wanted, buffers, f"{func} has the buffers"),
        )
    members = VariableClasses(s.module.operation).members(value)
    return {
        f"{owner}:{label}"
        for owner, body in functions_of(s.module).items()
        for label, buffer in buffers_of(body).items()
        if buffer in members
    }
