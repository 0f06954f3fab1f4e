"""Compile-time constructs. In plain Python they are context managers that do what they say where
they can: ``meta_for`` and untaken branches have no Python equivalent and refuse to run."""

from __future__ import annotations

from types import TracebackType
from typing import NoReturn


class _CompileTime:
    """A context manager that exists only for the compiler."""

    def __init__(self, *args: object) -> None:
        self._args = args

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(
            f"allo.{type(self).__name__} is decided while compiling; customise the kernel and "
            "build it, or use an ordinary if or for to run it as Python."
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None


class meta_if(_CompileTime):
    """``with allo.meta_if(condition):`` builds its body when the condition holds."""


class meta_elif(_CompileTime):
    """Follows a ``meta_if`` that did not hold."""


class meta_else(_CompileTime):
    """Follows branches that did not hold."""


class meta_for(_CompileTime):
    """``with allo.meta_for(n) as i:`` builds its body once for each i."""
