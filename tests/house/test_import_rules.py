"""What every file keeps to: no ``import *``, no assert and no print in the library, lengths, a line in docs.

The layers are in test_layers.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tests.house.tree import LIBRARY, ROOT, Source, Tree

MOST_LINES = 800
MOST_LIBRARY_LINES = 450


def test_the_library_is_found(tree: Tree) -> None:
    names = {file.module for file in tree.library}
    assert {"allo", "allo.dialects.types", "allo.backend.rtl", "allo.designs"} <= names


def test_no_star_imports(tree: Tree) -> None:
    stars = [
        f"{file.name}:{item.line}"
        for file in tree.files()
        if re.search(r"import\s*\*", file.text)
        for item in file.imports
        if "*" in item.names
    ]
    assert not stars, f"star imports: {stars}"


def too_long(files: Iterable[Source], most: int) -> list[str]:
    """Files with more lines than ``most``."""
    return [
        f"{file.name}: {lines} lines, and {most} is the most"
        for file in files
        if (lines := len(file.text.splitlines())) > most
    ]


def test_no_file_is_too_long(tree: Tree) -> None:
    found = too_long(tree.library, MOST_LIBRARY_LINES) + too_long(tree.files(), MOST_LINES)
    assert not found, "\n".join(found)


def _narrows(test: ast.expr) -> bool:
    """Whether an assertion only tells the type checker what the code already knows."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return all(_narrows(value) for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _narrows(test.operand)
    if isinstance(test, ast.Call):
        return ast.unparse(test.func) == "isinstance"
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot)


def library_faults(nodes: Iterable[ast.AST]) -> list[str]:
    """Statements a library must not hold: checks by assert, print, and ending the process."""
    faults = []
    for node in nodes:
        if isinstance(node, ast.Assert) and not _narrows(node.test):
            faults.append(f"line {node.lineno}: assert")
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "sys.exit", "exit", "quit", "os._exit", "os.system"):
                faults.append(f"line {node.lineno}: {called}()")
    return faults


def test_the_library_raises_and_does_not_print(tree: Tree) -> None:
    found = [
        f"{file.name}: {fault}"
        for file in tree.files(*LIBRARY)
        for fault in library_faults(file.nodes)
    ]
    assert not found, "\n".join(found)


class Planted(Source):
    """A file of the tree with another text."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(ROOT / name)
        self.text = text  # type: ignore[misc]


def test_every_long_file_is_told() -> None:
    files = [
        Planted(
            "dialects/types/__init__.py", "from allo import target\nfrom ...backend import cpu"
        ),
        Planted("allo/frontend/emit.py", "import pycde"),
        Planted("designs/torch/mlp.py", "import torch\nimport torch_mlir"),
    ]
    assert too_long(files, 1) == [
        "dialects/types/__init__.py: 2 lines, and 1 is the most",
        "designs/torch/mlp.py: 2 lines, and 1 is the most",
    ]


def test_library_faults_are_seen() -> None:
    text = "import sys\nassert x\nprint(1)\nsys.exit(2)\nassert x is not None\n"
    assert library_faults(ast.walk(ast.parse(text))) == [
        "line 2: assert",
        "line 3: print()",
        "line 4: sys.exit()",
    ]


def named_folders(text: str) -> set[str]:
    """The folders that a page's section of folders gives a line."""
    section = text.split("## Folders")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([\w/]+)` \|", section, re.M))


def test_the_architecture_names_every_folder(tree: Tree) -> None:
    folders = {str(file.path.parent.relative_to(ROOT)) for file in tree.files(*LIBRARY)}
    named = named_folders((ROOT / "docs" / "internals" / "architecture.md").read_text())
    assert folders <= named, f"docs/internals/architecture.md needs a line for {folders - named}"
    assert all((ROOT / folder).is_dir() for folder in named)


def test_only_the_section_of_folders_counts() -> None:
    text = "# Page\n\n| `a` | no |\n\n## Folders\n\n| `a/b` | yes |\n\n## Next\n\n| `a/c` | no |\n"
    assert named_folders(text) == {"a/b"}
