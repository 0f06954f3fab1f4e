"""Which tests hold no assertion: ``python tests/house/assertions.py FOLDER`` lists them.

A test asserts when its body, or the body of a helper of the same tests that it calls by name, holds
an ``assert``, ``pytest.raises``, ``pytest.warns`` or ``pytest.fail``, a comparison of ``np.testing``
or a ``raise``. Fixtures count as helpers.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_CHECKS = {"raises", "warns", "fail", "deprecated_call"}
type Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(tree: ast.Module) -> Iterator[Function]:
    """The functions and methods of a file. Nested ones are kernels, whose assertions are not ours."""
    for node in tree.body:
        for member in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                yield member


def checks_directly(function: Function) -> bool:
    """Whether the body itself holds a check; kernels nested in the test do not count."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Assert | ast.Raise) or _is_check(node):
            return True
        waiting += ast.iter_child_nodes(node)
    return False


def _is_check(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in _CHECKS or node.func.attr.startswith("assert_")


def names_used(function: Function) -> set[str]:
    """Names the body calls or hands on, and the fixtures among its parameters."""
    names = {arg.arg for arg in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
    return names


@dataclass
class TestFile:
    """The functions of a file, and which of another file's functions its names mean."""

    stem: str
    functions: list[Function]
    imported: dict[str, tuple[str, str]]
    modules: dict[str, str]

    @classmethod
    def read(cls, stem: str, tree: ast.Module) -> TestFile:
        """What a parsed file holds."""
        imported, modules = {}, {}
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            for alias in node.names:
                source = (node.module or "").rpartition(".")[2]
                imported[alias.asname or alias.name] = (source, alias.name)
                modules[alias.asname or alias.name] = alias.name
        return cls(stem, list(functions_of(tree)), imported, modules)

    def meaning(self, name: str) -> tuple[str, str]:
        """File stem and function behind a name; a dotted name is a function of a module."""
        module, dot, attribute = name.partition(".")
        if dot:
            return self.modules.get(module, ""), attribute
        return self.imported.get(name, (self.stem, name))

    def used_by(self, function: Function) -> set[tuple[str, str]]:
        """File stem and name of each function that a function uses, its fixtures among them."""
        used = {self.meaning(name) for name in names_used(function)}
        return used | {("conftest", arg.arg) for arg in function.args.args}


def checking_functions(files: list[TestFile]) -> set[tuple[str, str]]:
    """File stem and name of all helpers that check, directly or through another of them."""
    helpers = [
        (file, function)
        for file in files
        for function in file.functions
        if not function.name.startswith("test_")
    ]
    checking = {(file.stem, f.name) for file, f in helpers if checks_directly(f)}
    used = [((file.stem, f.name), file.used_by(f)) for file, f in helpers]
    while more := {name for name, uses in used if uses & checking} - checking:
        checking |= more
    return checking


def without_assertion(trees: Mapping[str, ast.Module]) -> list[str]:
    """``file:line name`` of every test without an assertion, of files given as name -> tree."""
    files = {name: TestFile.read(Path(name).stem, tree) for name, tree in trees.items()}
    checking = checking_functions(list(files.values()))
    return [
        f"{name}:{f.lineno} {f.name}"
        for name, file in files.items()
        for f in file.functions
        if f.name.startswith("test_") and not checks_directly(f) and not file.used_by(f) & checking
    ]


def main(folder: str) -> int:
    """Print the tests without an assertion in all files of a folder; 1 where there is one."""
    files = sorted(Path(folder).rglob("*.py"))
    found = without_assertion(
        {str(file.relative_to(folder)): ast.parse(file.read_text()) for file in files}
    )
    for line in found:
        print(line)
    print(f"{len(found)} tests without an assertion")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
