"""A device family is named in its own file and nowhere else: what differs is a field of its record."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from allo.backend import devices
from tests.house.tree import Tree

HOME = "backend/devices/"
EVERYWHERE = {"generic"}
"""A name that is a word of other things too, such as an argument of a vendor's script."""


def names_in(nodes: list[ast.AST], names: set[str]) -> Iterator[ast.Constant]:
    """The texts of a program that are one of the names."""
    for node in nodes:
        if isinstance(node, ast.Constant) and node.value in names:
            yield node


def test_no_family_is_named_outside_its_file(tree: Tree) -> None:
    families = set(devices.families()) - EVERYWHERE
    found = [
        f"{file.name}:{node.lineno}: {node.value!r}"
        for file in [*tree.library, *tree.files("benchmarks", "scripts")]
        if not file.name.startswith(HOME)
        for node in names_in(file.nodes, families)
    ]
    assert not found, "\n".join(found)


def test_a_name_is_seen() -> None:
    program = ast.parse("def f(device):\n    return 'xcup' if device == 1 else 'xcup of old'\n")
    assert [node.value for node in names_in(list(ast.walk(program)), {"xcup"})] == ["xcup"]
