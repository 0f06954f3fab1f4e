"""Public names in the reference: where the object behind one is defined, whatever it is called.

mkdocstrings reads source files and asks for the place of a definition. The reference names what users
import; ``::: allo.verify`` becomes a directive for the defining file under the heading ``allo.verify``.
"""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType
from typing import Any

from allo.customize import Schedule

_DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def with_definitions(markdown: str) -> str:
    """A page of the reference, its directives naming the files in which things are defined."""
    return _DIRECTIVE.sub(lambda match: _directive(match[1]), markdown)


def _directive(name: str) -> str:
    found = find(name)
    if isinstance(found, ModuleType):
        return f"::: {name}"
    place = f"{found.__module__}.{found.__qualname__}"
    return f"::: {place}\n    options:\n      heading: {name}"


def find(name: str) -> Any:
    """What a dotted name means when imported. An attribute counts before a module of its name."""
    head, _, last = name.rpartition(".")
    if not head:
        return importlib.import_module(name)
    holder = importlib.import_module(head)
    return getattr(holder, last) if hasattr(holder, last) else importlib.import_module(name)


def primitives() -> dict[str, Any]:
    """The primitives of a schedule: the functions of the class that stand in files of their own."""
    return {
        name: member
        for name, member in sorted(vars(Schedule).items())
        if inspect.isfunction(member)
        and member.__module__ != Schedule.__module__
        and name[0] != "_"
    }


def primitives_page() -> str:
    """The reference page of the primitives, in alphabetical order."""
    parts = [
        "# Primitives",
        'Each is a method of the schedule: `s.reorder("k", "j")`. The guide '
        "[The schedule](../schedule.md) says when each is refused.",
    ]
    for name, member in primitives().items():
        place = f"{member.__module__}.{member.__qualname__}"
        parts.append(f"::: {place}\n    options:\n      heading: {name}")
    return "\n\n".join(parts) + "\n"
