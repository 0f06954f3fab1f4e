"""Makes a program's functions from its source, so that ``inspect`` finds the text."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from ..generator.program import Program

_numbers = itertools.count()


@contextmanager
def namespace(program: Program) -> Iterator[dict[str, Any]]:
    """The names that the program's module defines; a program to be edited is imported from a file."""
    if program.edited:
        with tempfile.TemporaryDirectory(prefix="allo_fuzz_") as folder:
            yield _imported(program, Path(folder))
        return
    name = f"<fuzz {program.seed}.{next(_numbers)}>"
    text = program.source
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"__name__": "fuzz_program"}
    try:
        exec(compile(text, name, "exec"), space)
        yield space
    finally:
        linecache.cache.pop(name, None)


def _imported(program: Program, folder: Path) -> dict[str, Any]:
    """The names of a module that Python imported, and wrote nothing about."""
    file = folder / f"fuzz_{program.seed}_{next(_numbers)}.py"
    file.write_text(program.source)
    loader = SourceFileLoader(file.stem, str(file))
    spec = importlib.util.spec_from_loader(file.stem, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return vars(module)


def template_arguments(program: Program, space: dict[str, Any]) -> list[Any]:
    return [eval(text, space) for text in program.instantiate]
