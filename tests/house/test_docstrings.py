"""Every public function, class and method of the library and the designs says what it does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.tree import Tree

type Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(body: list[ast.stmt]) -> Iterator[Definition]:
    """The public functions and classes of a module, and the public methods of these classes."""
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body)


def is_overload(node: Definition) -> bool:
    """Whether it only declares one of several signatures."""
    return any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list)


def undocumented(tree: ast.Module) -> list[str]:
    """``line: name`` of every public definition of a module without a docstring."""
    return [
        f"{node.lineno}: {node.name}"
        for node in definitions(tree.body)
        if not ast.get_docstring(node) and not is_overload(node)
    ]


def test_what_is_public_says_what_it_does(tree: Tree) -> None:
    silent = [f"{file.name}:{found}" for file in tree.library for found in undocumented(file.tree)]
    assert not silent, "each needs a docstring: a whole sentence that says what it does"


def test_a_definition_without_a_docstring_is_seen() -> None:
    text = (
        "def told():\n    '''Tell.'''\n\n"
        "def silent():\n    return 1\n\n"
        "def _private():\n    return 2\n\n"
        "class Silent:\n    def method(self):\n        return 3\n\n"
        "    def __len__(self):\n        return 4\n\n"
        "class _Hidden:\n    def method(self):\n        return 5\n\n"
        "@overload\ndef either(x: int): ...\n"
    )
    assert undocumented(ast.parse(text)) == ["4: silent", "10: Silent", "11: method"]
