"""Folders are small, and no module imports itself by way of others."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.house.test_import_rules import (
    ALL_LIBRARY,
    ROOT,
    imports_of,
    module_name,
)

MOST_FILES = 15


def crowded(files: Iterable[Path]) -> list[str]:
    """Folders with more source files than one reads at a glance."""
    counts = Counter(file.parent for file in files)
    return [f"{folder}: {count}" for folder, count in counts.items() if count > MOST_FILES]


def import_graph(texts: Mapping[str, tuple[str, bool]]) -> dict[str, set[str]]:
    """Which modules each one imports, for types and inside functions too.

    Args:
        texts: a module's text, and whether it is a package, by its name.
    """
    graph: dict[str, set[str]] = {}
    for name, (text, is_package) in texts.items():
        found = set()
        for item in imports_of(ast.parse(text), name, is_package):
            inner = {f"{item.module}.{taken}" for taken in item.names} & texts.keys()
            found |= inner
            if item.module in texts and len(inner) < max(len(item.names), 1):
                found.add(item.module)
        graph[name] = found - {name}
    return graph


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """One cycle of imports, or an empty list."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_no_folder_is_crowded() -> None:
    assert not crowded(path.relative_to(ROOT) for path in ALL_LIBRARY)


def test_a_crowded_folder_is_seen() -> None:
    assert crowded(Path(f"a/{k}.py") for k in range(15)) == []
    assert crowded(Path(f"a/{k}.py") for k in range(16)) == ["a: 16"]


def test_no_module_imports_itself_by_way_of_others() -> None:
    texts = {
        module_name(path): (path.read_text(), path.name == "__init__.py") for path in ALL_LIBRARY
    }
    found = cycle(import_graph(texts))
    assert not found, " -> ".join(found)


def test_cycles_are_seen() -> None:
    texts = {
        "p": ("", True),
        "p.a": ("from . import b", False),
        "p.b": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .c import x", False),
        "p.c": ("def f():\n    from p.a import y", False),
    }
    assert set(cycle(import_graph(texts))) == {"p.a", "p.b", "p.c"}
    assert cycle(import_graph({**texts, "p.c": ("import q", False)})) == []
