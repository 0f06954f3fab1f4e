"""What every streaming unit has: a name of its own, and a default schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import allo
from allo.customize import Schedule

Unit = Callable[..., Any]


def unit(
    kernel: Any, name: str, schedule: Callable[[Schedule], None], names: Mapping[str, Any]
) -> Unit:
    """A kernel under a name of its own, with the schedule that ``s.compose(unit)`` applies.

    Args:
        kernel: the function.
        name: its name.
        schedule: applies primitives to the schedule of the kernel alone.
        names: what its annotations refer to; Python's closure has only what its statements do.
    """
    known = {**kernel.__globals__, **names}
    made = FunctionType(kernel.__code__, known, name, kernel.__defaults__, kernel.__closure__)
    made.__annotations__ = kernel.__annotations__
    made.__qualname__ = kernel.__qualname__
    made.__module__ = kernel.__module__
    made.__doc__ = kernel.__doc__

    def default_schedule(instantiate: Sequence[Any] | None = None) -> Schedule:
        found = allo.customize(made, instantiate=list(instantiate or []) or None)
        schedule(found)
        return found

    kinds = dict(made.__annotations__)
    made.ports = {  # type: ignore[attr-defined]
        port: eval(kind, known) if isinstance(kind, str) else kind  # our own annotations
        for port, kind in kinds.items()
    }
    made.default_schedule = default_schedule  # type: ignore[attr-defined]
    return made
