"""A decorator that holds a function's arguments against the table of options.

It is of use to functions that ``import allo`` loads: the table, which takes longer than the rest of
that import, is loaded by the first call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable


def checked[**P, R](group: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function hold its arguments against the table's rows for ``group``.

    Raises:
        OptionError: (from the function) an argument that is unknown, missing or not accepted.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            from .check import bind

            bound = bind(group, function, args, kwargs)
            return function(*bound.args, **bound.kwargs)

        return run

    return decorate
