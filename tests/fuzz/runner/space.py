"""Makes a program's functions from its source, so that ``inspect`` finds the text."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..generator.program import Program

_numbers = itertools.count()


@contextmanager
def namespace(program: Program) -> Iterator[dict[str, Any]]:
    """The names that the program's module defines."""
    name = f"<fuzz {program.seed}.{next(_numbers)}>"
    text = program.source
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"__name__": "fuzz_program"}
    try:
        exec(compile(text, name, "exec"), space)
        yield space
    finally:
        linecache.cache.pop(name, None)


def template_arguments(program: Program, space: dict[str, Any]) -> list[Any]:
    return [eval(text, space) for text in program.instantiate]
