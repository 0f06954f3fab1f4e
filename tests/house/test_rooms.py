"""Folders are small, and no module imports itself by way of others."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.house.tree import ROOT, Import, Tree, imports_of

MOST_FILES = 15


def crowded(files: Iterable[Path]) -> list[str]:
    """Folders with more source files than one reads at a glance."""
    counts = Counter(file.parent for file in files)
    return [f"{folder}: {count}" for folder, count in counts.items() if count > MOST_FILES]


def import_graph(imports: Mapping[str, Iterable[Import]]) -> dict[str, set[str]]:
    """Which modules of those given each one imports, for types and inside functions too."""
    graph: dict[str, set[str]] = {}
    for name, items in imports.items():
        found = set()
        for item in items:
            inner = {f"{item.module}.{taken}" for taken in item.names} & imports.keys()
            found |= inner
            if item.module in imports and len(inner) < max(len(item.names), 1):
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


def test_no_folder_is_crowded(tree: Tree) -> None:
    assert not crowded(file.path.relative_to(ROOT) for file in tree.library)


def test_a_crowded_folder_is_seen() -> None:
    assert crowded(Path(f"a/{k}.py") for k in range(15)) == []
    assert crowded(Path(f"a/{k}.py") for k in range(16)) == ["a: 16"]


def test_no_module_imports_itself_by_way_of_others(tree: Tree) -> None:
    found = cycle(import_graph({file.module: file.imports for file in tree.library}))
    assert not found, " -> ".join(found)


def imports_in(texts: Mapping[str, str]) -> dict[str, list[Import]]:
    """The imports of modules given by their text; ``p`` is the package."""
    return {
        name: list(imports_of(list(ast.walk(ast.parse(text))), name, name == "p"))
        for name, text in texts.items()
    }


def test_cycles_are_seen() -> None:
    texts = {
        "p": "",
        "p.a": "from . import b",
        "p.b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .c import x",
        "p.c": "def f():\n    from p.a import y",
    }
    assert set(cycle(import_graph(imports_in(texts)))) == {"p.a", "p.b", "p.c"}
    assert cycle(import_graph(imports_in({**texts, "p.c": "import q"}))) == []
