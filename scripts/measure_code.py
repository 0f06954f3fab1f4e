"""How much code there is: lines without blanks, comments and docstrings, an area a row."""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

PRODUCT = ("allo", "dialects", "backend", "designs")
OTHER = ("benchmarks", "scripts", "tests")
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
NATIVE = {".cpp", ".hpp", ".h", ".c"}


def docstring_lines(tree: ast.AST) -> set[int]:
    """The lines of strings that stand as statements: docstrings and notes."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def python_lines(text: str) -> int:
    """Lines of a Python text that hold code."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE and token.type != tokenize.ENDMARKER:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - docstring_lines(ast.parse(text)))


def native_lines(text: str) -> int:
    """Lines of a C++ text that are neither blank nor wholly a comment."""
    lines = [line.strip() for line in text.splitlines()]
    return sum(1 for line in lines if line and not line.startswith(("//", "/*", "*")))


def code_lines(file: Path) -> int:
    """Lines of code of one file; 0 for files that hold none."""
    if file.suffix == ".py":
        return python_lines(file.read_text())
    return native_lines(file.read_text()) if file.suffix in NATIVE else 0


@dataclass
class Measure:
    """What one tree holds; the folders are relative to its root."""

    areas: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    folders: Counter[str] = field(default_factory=Counter)

    @property
    def product(self) -> int:
        return sum(self.areas.get(area, 0) for area in PRODUCT)


def measure(root: Path) -> Measure:
    """Count every area of the repository at ``root``; links are not followed."""
    found = Measure()
    for area in PRODUCT + OTHER:
        for file in sorted((root / area).rglob("*")):
            inside = any(p.is_symlink() for p in file.parents if p != root) or file.is_symlink()
            if inside or not file.is_file() or file.suffix not in {".py", *NATIVE}:
                continue
            name = str(file.relative_to(root))
            lines = code_lines(file)
            found.areas[area] = found.areas.get(area, 0) + lines
            if area in PRODUCT:
                found.files[name] = len(file.read_text().splitlines())
                found.folders[str(file.parent.relative_to(root))] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    found = measure(options.folder.resolve())
    for area, lines in found.areas.items():
        print(f"{area:12} {lines:7,}")
    print(f"{'product':12} {found.product:7,}\n")
    print("longest files (all lines):")
    for name, lines in sorted(found.files.items(), key=lambda item: -item[1])[:8]:
        print(f"{lines:7,}  {name}")
    print("fullest folders (source files):")
    for name, count in found.folders.most_common(8):
        print(f"{count:7,}  {name}")
    if options.json:
        options.json.write_text(json.dumps({"product": found.product, **vars(found)}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
