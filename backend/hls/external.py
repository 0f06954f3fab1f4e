"""C++ functions of the user's that kernels call: printed as an include and a call.

An external function is a private declaration in the module and, beside it, an object with ``top``
(the C++ function), ``impl`` (its file) and, if need be, ``include_paths``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import BuildError
from allo.dialects.text.quoting import include, portable_name


@dataclass(frozen=True, slots=True)
class External:
    """One file of C++.

    Attributes:
        top: the function called.
        path: the file, absolute.
        name: of its copy in a project, which every tool takes unquoted.
        include_paths: folders its includes are looked for in, its own first.
    """

    top: str
    path: Path
    name: str
    include_paths: tuple[Path, ...]

    @property
    def files(self) -> list[Path]:
        """The file and the headers in its include folders that lie beside one another."""
        headers = (p for folder in self.include_paths for p in sorted(folder.glob("*.h*")))
        return [self.path, *headers]


def read_externals(libraries: Iterable[Any]) -> tuple[External, ...]:
    """The files behind ``ext_libs``.

    Raises:
        BuildError: a file does not exist, or C++ cannot include a file of its name.
    """
    found: list[External] = []
    names: dict[str, Path] = {}
    for library in libraries:
        path = Path(library.impl).expanduser().absolute()
        if not path.is_file():
            raise BuildError(f"The external C++ file {path} does not exist.")
        include(path)
        given = getattr(library, "include_paths", None) or ()
        folders = (path.parent, *(Path(folder).expanduser().absolute() for folder in given))
        found.append(External(library.top, path, _name(path, names), folders))
    return tuple(found)


def _name(path: Path, names: dict[str, Path]) -> str:
    """A name for the copy of a file that no other file has."""
    stem, suffix = os.path.splitext(portable_name(path.name))
    name, count = f"{stem}{suffix}", 0
    while names.setdefault(name, path) != path:
        count += 1
        name = f"{stem}_{count}{suffix}"
    return name


def external_functions(
    externals: Sequence[External], functions: Mapping[str, ir.Operation]
) -> dict[str, str]:
    """The C++ name of every function of the module that has no body.

    Raises:
        BuildError: no library has it.
    """
    names = {}
    for symbol, op in functions.items():
        if len(op.regions[0].blocks):
            continue
        tops = [e.top for e in externals if symbol == e.top or symbol.startswith(f"{e.top}_")]
        if not tops:
            raise BuildError(
                f"Function {symbol} is external, and no external library has it.",
                place_of(op),
                help="pass an IPModule of that name in ext_libs.",
            )
        names[symbol] = max(tops, key=len)
    return names
