"""``register_primitive``: a primitive of another package becomes a method of every schedule."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate

from allo.dialects.diagnostics import VerificationError
from allo.dialects.verify import verify

from .parameters import refusal
from .primitive import primitive
from .schedule import Schedule
from .state import ScheduleState


def register_primitive[**P, R](
    function: Callable[Concatenate[ScheduleState, P], R],
) -> Callable[Concatenate[ScheduleState, P], R]:
    """Make a function of your own a primitive, ``s.<its name>(…)``; use it as a decorator.

    ::

        @allo.schedule.register_primitive
        def tile(s: ScheduleState, axis: Axis, factor: int) -> None:
            \"\"\"Split a loop and unroll the inner part.\"\"\"

    It is a transaction, recorded for ``compose``, like the primitives of Allo. The module that it
    leaves is verified after each call. Registering the same function again replaces it.

    Raises:
        PrimitiveError: its name is taken, it has no docstring, or a parameter is of no known kind.
    """
    _check_name(function)
    if not function.__doc__:
        raise refusal(function, "it has a docstring, which says what it does.")
    run = primitive(_verified(function))
    setattr(Schedule, function.__name__, run)
    return run


def _check_name(function: Callable[..., Any]) -> None:
    name = function.__name__
    if name.startswith("_") or not name.isidentifier():
        raise refusal(function, f"its name is that of a method, and {name} is not.")
    taken = getattr(Schedule, name, None)
    if taken is not None and _origin(taken) == _origin(function) != ("", ""):
        return
    if taken is not None or name in ScheduleState.__annotations__:
        raise refusal(
            function,
            f"a schedule has an attribute {name} already.",
            "give it another name; primitives of Allo cannot be replaced.",
        )


def _origin(function: object) -> tuple[str, str]:
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", "")


def _verified[**P, R](
    function: Callable[Concatenate[ScheduleState, P], R],
) -> Callable[Concatenate[ScheduleState, P], R]:
    """The function with the module verified after it."""

    @functools.wraps(function)
    def run(s: ScheduleState, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result = function(s, *args, **kwargs)
        try:
            verify(s.module, top=s.top_func_name)
        except VerificationError as error:
            error.notes = (*error.notes, f"the primitive {function.__name__} left this module.")
            raise
        return result

    return run
