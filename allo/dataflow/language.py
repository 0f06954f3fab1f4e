"""The names a dataflow program uses. Regions are read by the compiler, never run."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any, NoReturn, TypeVar

from allo.dialects.diagnostics import DataflowError, SourcePlace
from allo.dialects.text.shown import shown
from allo.dsl import get_pid
from allo.template import meta_elif, meta_else, meta_for, meta_if

_F = TypeVar("_F", bound=Callable[..., Any])
_BODIES: weakref.WeakSet[CodeType] = weakref.WeakSet()
"""What Python would run where a region or a part is called."""


def region(*given: object) -> Callable[[_F], _F]:
    """Mark a function as a dataflow region: ``@df.region()``.

    Raises:
        DataflowError: anything is given, or it stands before no function.
    """
    _require_nothing(given, "region")

    def mark(function: _F) -> _F:
        _require_function(function, "df.region()")
        function.__allo_region__ = True  # type: ignore[attr-defined]
        _BODIES.add(function.__code__)
        return function

    return mark


def part(*given: object) -> Callable[[_F], _F]:
    """Mark a function as a part of a region: ``@df.part()``; :class:`Composition` puts parts together.

    Raises:
        DataflowError: anything is given, or it stands before no function.
    """
    _require_nothing(given, "part")

    def mark(function: _F) -> _F:
        _require_function(function, "df.part()")
        function.__allo_part__ = True  # type: ignore[attr-defined]
        _BODIES.add(function.__code__)
        return function

    return mark


def kernel(
    mapping: Sequence[int] | None = None, args: Sequence[Any] | None = None
) -> Callable[[_F], _F]:
    """Mark a function of a region as a kernel.

    Args:
        mapping: instances along 1 to 3 axes, for example ``[2, 4]``.
        args: the region's arrays that the kernel's parameters stand for, in order.

    Raises:
        DataflowError: it has no mapping, or its region is called as a Python function.
    """
    _refuse_running(sys._getframe(1))
    if isinstance(mapping, FunctionType):
        names = ", ".join(mapping.__annotations__)
        raise DataflowError(
            f"The kernel {mapping.__name__} has no mapping, and stands in no region.",
            help=f"write @df.kernel(mapping=[1], args=[{names}]) above it, inside a function with "
            "@df.region() that has these arrays.",
        )

    def mark(function: _F) -> _F:
        _require_function(function, "df.kernel(…)")
        function.__allo_kernel__ = (mapping, args)  # type: ignore[attr-defined]
        return function

    return mark


def _refuse_running(body: FrameType) -> None:
    """A region's body that runs makes processes of which none would run: nothing would be computed."""
    name, caller = body.f_code.co_name, body.f_back
    if body.f_code not in _BODIES:
        return
    raise DataflowError(
        f"{name} is a region, which is compiled and not called as a Python function.",
        SourcePlace(caller.f_code.co_filename, caller.f_lineno) if caller else None,
        help=f'build it first: df.build({name}, target="simulator")(…), or allo.interpret({name})(…).',
    )


def _require_nothing(given: tuple[object, ...], decorator: str) -> None:
    if given:
        raise DataflowError(
            f"df.{decorator} takes nothing, and was given {shown(given[0])}.",
            help=f"write @df.{decorator}() above the def, with parentheses.",
        )


def _require_function(given: Any, decorator: str) -> None:
    if not isinstance(given, FunctionType):
        raise DataflowError(
            f"@{decorator} stands before a function, not {shown(given)}.",
            help="write it above a def.",
        )


def gather(pipes: Any) -> NoReturn:
    """One element of each stream, stacked on a new leading axis."""
    raise NotImplementedError("gather() has a value only in a compiled df.kernel.")


def scatter(buffer: Any, pipes: Any) -> NoReturn:
    """The leading axis of ``buffer``, one part to each stream."""
    raise NotImplementedError("scatter() works only in a compiled df.kernel.")


gather.__allo_stream__ = True  # type: ignore[attr-defined]
scatter.__allo_stream__ = True  # type: ignore[attr-defined]

__all__ = [
    "gather",
    "get_pid",
    "kernel",
    "meta_elif",
    "meta_else",
    "meta_for",
    "meta_if",
    "part",
    "region",
    "scatter",
]
