"""No module keeps state that is filled as it is used: threads would see it half full."""

from __future__ import annotations

import ast

from tests.house.tree import LIBRARY, Tree

# Filled while their modules are imported, which is under Python's lock of imports.
ALLOWED = {"allo/library/_defaults.py: KERNEL_SCHEDULES"}
_EMPTY_CALLS = {"dict", "list", "set", "defaultdict", "OrderedDict", "deque", "Counter"}


def states(tree: ast.Module) -> list[str]:
    """Names of a module that start empty, and those a function declares ``global``."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and node.value is not None and _is_empty(node.value):
            found.append(ast.unparse(node.target))
        elif isinstance(node, ast.Assign) and _is_empty(node.value):
            found += [ast.unparse(target) for target in node.targets]
    found += [name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names]
    return found


def _is_empty(node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Set)):
        return not node.elts
    if isinstance(node, ast.Dict):
        return not node.keys
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return called and node.func.id in _EMPTY_CALLS and not node.args  # type: ignore[union-attr]


def test_no_module_of_the_library_is_filled_by_use(tree: Tree) -> None:
    found = {f"{file.name}: {name}" for file in tree.files(*LIBRARY) for name in states(file.tree)}
    assert found == ALLOWED


def test_such_state_is_found() -> None:
    text = "a: dict[str, int] = {}\nb = []\nc = dict()\nd = {'x': 1}\n\ndef f():\n    global e\n    e = 1\n"
    assert states(ast.parse(text)) == ["a", "b", "c", "e"]
