"""What mypy says of the tree, and of the modules that hold kernels too, without what it says inside kernels.

A kernel is Allo, not Python: to a type checker its templates and array types mean nothing. So mypy's
own configuration leaves these modules out. This program holds them to what it asks of the strict areas,
and checks the Python beside the kernels: schedules, inputs, references. ``scripts/test`` runs it in place
of mypy. It prints the messages that count, and exits with 1 where there is one.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TYPES = "allo.ir.types"
MESSAGE = re.compile(r"(?P<path>[^:\n]+\.py):(?P<line>\d+): (?:error|note): .+")
CONFIG = Path("out/mypy.toml")


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines from ``first`` to ``last``, both included."""

    first: int
    last: int

    def __contains__(self, line: int) -> bool:
        return self.first <= line <= self.last


def names_in(node: ast.AST) -> set[str]:
    """The names an expression mentions."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def type_names(tree: ast.Module) -> set[str]:
    """The names of a module that mean types of the language: imported, or made from such."""
    found: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == TYPES:
            found |= {alias.asname or alias.name for alias in statement.names}
        elif isinstance(statement, ast.Assign) and names_in(statement.value) & found:
            found |= {name for target in statement.targets for name in names_in(target)}
    return found


def is_kernel(node: ast.FunctionDef, types: set[str]) -> bool:
    """Whether a function is one of the language: its signature has type parameters or names a type."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    annotations = [argument.annotation for argument in arguments] + [node.returns]
    decorators = {ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list}
    return (
        bool(node.type_params)
        or bool(decorators & {"df.kernel", "df.region"})
        or any(a is not None and names_in(a) & types for a in annotations)
    )


def kernels(text: str) -> Iterator[Lines]:
    """Where the kernels of a module are, decorators included."""
    tree = ast.parse(text)
    types = type_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and is_kernel(node, types):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield Lines(first, node.end_lineno or node.lineno)


def outside_kernels(messages: Iterable[str], root: Path = ROOT) -> Iterator[str]:
    """The messages of mypy that are not about a line of a kernel; what is no message is kept."""
    places: dict[str, list[Lines]] = {}
    for message in messages:
        match = MESSAGE.match(message)
        if match is None:
            yield message
            continue
        path = match["path"]
        if path not in places:
            places[path] = list(kernels((root / path).read_text()))
        if not any(int(match["line"]) in lines for lines in places[path]):
            yield message


def strict(config: str) -> str:
    """The configuration of mypy with the modules that it leaves out held to what it asks of others."""
    before, left_out, after = config.partition("\nignore_errors = true\n")
    if not left_out or "\nignore_errors" in after:
        raise ValueError("pyproject.toml leaves out no modules, or several times.")
    overrides = tomllib.loads(config)["tool"]["mypy"]["overrides"]
    (asked,) = [o for o in overrides if o.get("disallow_untyped_defs")]
    flags = [f"{key} = {str(value).lower()}" for key, value in asked.items() if key != "module"]
    return "\n".join([before, *flags, after])


def main() -> int:
    """Run mypy and print what counts; 0 where nothing does."""
    (ROOT / CONFIG).parent.mkdir(exist_ok=True)
    (ROOT / CONFIG).write_text(strict((ROOT / "pyproject.toml").read_text()))
    kept = f"{os.environ.get('MYPY_CACHE_DIR', '.mypy_cache')}/strict"
    options = (f"--config-file={CONFIG}", f"--cache-dir={kept}", "--no-error-summary")
    command = [sys.executable, "-m", "mypy", *options]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = list(outside_kernels(run.stdout.splitlines())) + run.stderr.splitlines()
    print("\n".join(found), end="\n" if found else "")
    return 1 if found or run.returncode > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
