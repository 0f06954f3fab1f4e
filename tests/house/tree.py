"""The Python files of the repository, each read and parsed once for all tests of the house."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ("allo", "dialects", "backend")
FOLDERS = (*LIBRARY, "designs", "benchmarks", "scripts", "tests")

# Where a folder of the repository installs.
HOMES = {"dialects": "allo.dialects", "backend": "allo.backend", "designs": "allo.designs"}


@dataclass(frozen=True)
class Import:
    """One import statement: the module asked for, the names taken from it, and its line."""

    module: str
    names: tuple[str, ...]
    line: int


class Source:
    """One file: its text, and what is made from it on first use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path.relative_to(ROOT))
        self.folder = self.name.split("/", 1)[0]
        self.is_package = path.name == "__init__.py"
        self.module = module_name(path)

    @cached_property
    def text(self) -> str:
        """What the file holds."""
        return self.path.read_text()

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[Import]:
        """Every import of the file, inside functions too."""
        return list(imports_of(self.nodes, self.module, self.is_package))


class Tree:
    """The files of the repository by their folders; symbolic links are not followed."""

    def __init__(self) -> None:
        self._files = [Source(path) for folder in FOLDERS for path in files_of(folder)]

    def files(self, *folders: str) -> list[Source]:
        """The files of these folders, or all."""
        return [file for file in self._files if not folders or file.folder in folders]

    @property
    def library(self) -> list[Source]:
        """The library and the designs: what is installed."""
        return self.files(*LIBRARY, "designs")


def files_of(folder: str) -> Iterator[Path]:
    """The Python files of a folder of the repository, in order, without those behind links."""
    for place, folders, names in (ROOT / folder).walk():
        folders[:] = sorted(
            n for n in folders if n != "__pycache__" and not (place / n).is_symlink()
        )
        yield from (place / name for name in sorted(names) if name.endswith(".py"))


def module_name(path: Path) -> str:
    """The name a file is imported by once installed."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    head = HOMES.get(parts[0], parts[0])
    return ".".join([head, *parts[1:]])


def imports_of(nodes: list[ast.AST], module: str, is_package: bool) -> Iterator[Import]:
    """The imports among nodes, as absolute names."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), node.lineno)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Import(_absolute(node, module, is_package), names, node.lineno)


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if node.level == 0:
        return node.module or ""
    parts = module.split(".")
    keep = len(parts) - node.level + (1 if is_package else 0)
    base = ".".join(parts[:keep])
    return f"{base}.{node.module}" if node.module else base
