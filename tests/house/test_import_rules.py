"""The layers of Allo: imports only point to lower layers, and each wheel has one importer.

Every Python file of the project is parsed (never imported) and its imports are held
against docs/architecture.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 800
MOST_LIBRARY_LINES = 450

# Where a folder of the repository installs.
HOMES = {"dialects": "allo.dialects", "backend": "allo.backend", "designs": "allo.designs"}

# The foundation and its public modules; what kernels name is there too.
FOUNDATION = ("allo.dialects", "allo.ir", "allo.errors", "allo.dsl", "allo.memory", "allo.template")

# The layers, and what each may import of ours. The longest matching prefix decides.
LAYERS: dict[str, tuple[str, ...]] = {
    "allo.dialects": (),
    "allo.target": ("allo.dialects",),
    "allo.errors": ("allo.dialects",),
    "allo.ir": ("allo.dialects",),
    "allo.dsl": ("allo.dialects",),
    "allo.memory": ("allo.dialects",),
    "allo.template": ("allo.dialects",),
    "allo.frontend": (*FOUNDATION, "allo.target"),
    "allo.schedule": (*FOUNDATION, "allo.target"),
    "allo.dataflow": (*FOUNDATION, "allo.target", "allo.frontend", "allo.schedule"),
    "allo.bitexact": ("allo.dialects",),
    "allo.torch": (
        *FOUNDATION,
        "allo.target",
        "allo.bitexact",
        "allo.frontend",
        "allo.schedule",
    ),
    "allo.equivalence": ("allo.dialects",),
    # The oracle: it may share no code with what it checks.
    "allo.interpret": ("allo.dialects.types", "allo.dialects.diagnostics"),
    "allo.backend": ("allo.dialects", "allo.target"),
    "allo.backend.xls": ("allo.dialects", "allo.target", "allo.backend.hls"),
    "allo.backend.sim": (
        "allo.dialects",
        "allo.target",
        "allo.backend.rtl",
        "allo.backend.hls",
        "allo.backend.synth",
    ),
}
# The published paths of back ends: they give names of the back ends, and hold nothing.
LAYERS |= {
    f"allo.backend.{name}": ("allo.backend.cpu", "allo.backend.hls", "allo.external", "allo.ir")
    for name in ("catapult", "ip", "llvm", "pynq", "simulator", "tapa", "vitis")
}
# Public names: what designs and the library may use.
PUBLIC = ("allo", "allo.ir", "allo.errors", "allo.dataflow", "allo.library", "allo.target")

# A wheel and the only file that may import it.
IMPORTERS = {
    "torch_mlir": "dialects/_mlir.py",
    "pycde": "backend/rtl/_circt.py",
    "torch": "allo/torch/wheel.py",
}
LIBRARY = ("allo", "dialects", "backend")


@dataclass(frozen=True)
class Import:
    """One import statement: the module asked for, the names taken from it, and its line."""

    module: str
    names: tuple[str, ...]
    line: int


def source_files(*folders: str) -> list[Path]:
    found = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside_link = any(p.is_symlink() for p in path.parents if p.is_relative_to(ROOT))
            if not inside_link and "__pycache__" not in path.parts:
                found.append(path)
    return found


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    head = HOMES.get(parts[0], parts[0])
    return ".".join([head, *parts[1:]])


def imports_of(tree: ast.AST, module: str, is_package: bool) -> Iterator[Import]:
    for node in ast.walk(tree):
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


def within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def layer_of(module: str) -> tuple[str, tuple[str, ...]] | None:
    """The unit a module belongs to and what that unit may import, or None for no rule."""
    if within(module, "allo.designs") or within(module, "allo.library"):
        unit = "allo.designs" if within(module, "allo.designs") else "allo.library"
        return unit, PUBLIC
    found = max((p for p in LAYERS if within(module, p)), key=len, default=None)
    if found is None:
        return None
    if found == "allo.backend" and module.count(".") >= 2:
        return ".".join(module.split(".")[:3]), LAYERS[found]
    return found, LAYERS[found]


def asked_modules(item: Import) -> list[str]:
    """The modules an import may mean: ``from allo.backend import rtl`` asks for ``allo.backend.rtl``."""
    if not item.names:
        return [item.module]
    return [f"{item.module}.{name}" for name in item.names]


def is_allowed(asked: str, source: str, unit: str, allowed: tuple[str, ...]) -> bool:
    if within(asked, unit):
        return True
    if allowed is PUBLIC:
        return _is_public(asked)
    return any(within(asked, prefix) for prefix in allowed)


def _is_public(asked: str) -> bool:
    """``allo.customize`` (a name of the package) or a public module; never a lower layer."""
    if any(within(asked, p) for p in PUBLIC if p != "allo"):
        return True
    hidden = ("dialects", "backend", "frontend", "schedule", "explore", "verify", "cli")
    parts = asked.split(".")
    return parts[0] == "allo" and (len(parts) == 1 or parts[1] not in hidden)


def _is_command_line(module: str) -> bool:
    return within(module, "allo.cli") or module == "allo.__main__"


def breaches(text: str, module: str, *, is_package: bool = False) -> list[str]:
    """The import rules a module's text breaks, one line each."""
    layer = layer_of(module)
    found = []
    for item in imports_of(ast.parse(text), module, is_package):
        for asked in asked_modules(item):
            if not within(asked, "allo"):
                if asked.split(".")[0] in HOMES:
                    found.append(f"line {item.line}: {asked} is imported past `allo`")
                continue
            if within(asked, "allo.cli") and not _is_command_line(module):
                found.append(f"line {item.line}: nothing imports the command line ({asked})")
            elif layer and not is_allowed(asked, module, *layer):
                found.append(f"line {item.line}: {layer[0]} may not import {asked}")
    return found


ALL_LIBRARY = source_files(*LIBRARY, "designs")
EVERYTHING = source_files(*LIBRARY, "designs", "benchmarks", "scripts", "tests")


def test_the_library_is_found() -> None:
    names = {module_name(path) for path in ALL_LIBRARY}
    assert {"allo", "allo.dialects.types", "allo.backend.rtl", "allo.designs"} <= names


@pytest.mark.parametrize("path", ALL_LIBRARY, ids=module_name)
def test_imports_point_to_lower_layers(path: Path) -> None:
    found = breaches(path.read_text(), module_name(path), is_package=path.name == "__init__.py")
    assert not found, f"{path.relative_to(ROOT)}:\n" + "\n".join(found)


@pytest.mark.parametrize("wheel", IMPORTERS)
def test_each_wheel_has_one_importer(wheel: str) -> None:
    strangers = []
    for path in ALL_LIBRARY:
        for item in imports_of(ast.parse(path.read_text()), module_name(path), False):
            relative = str(path.relative_to(ROOT))
            if relative.startswith(f"designs/{wheel}/"):  # a model is written in PyTorch
                continue
            if within(item.module, wheel) and relative != IMPORTERS[wheel]:
                strangers.append(f"{relative}:{item.line}")
    assert not strangers, f"{wheel} is imported past {IMPORTERS[wheel]}: {strangers}"


def test_no_star_imports() -> None:
    stars = [
        f"{path.relative_to(ROOT)}:{item.line}"
        for path in EVERYTHING
        for item in imports_of(ast.parse(path.read_text()), module_name(path), False)
        if "*" in item.names
    ]
    assert not stars, f"star imports: {stars}"


@pytest.mark.parametrize(
    ("files", "most"), [(ALL_LIBRARY, MOST_LIBRARY_LINES), (EVERYTHING, MOST_LINES)]
)
def test_no_file_is_too_long(files: list[Path], most: int) -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in files
        if (lines := len(path.read_text().splitlines())) > most
    }
    assert not long, f"files past {most} lines: {long}"


def _narrows(test: ast.expr) -> bool:
    """Whether an assertion only tells the type checker what the code already knows."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return all(_narrows(value) for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _narrows(test.operand)
    if isinstance(test, ast.Call):
        return ast.unparse(test.func) == "isinstance"
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot)


def _library_faults(text: str) -> list[str]:
    """Statements a library must not hold: checks by assert, print, and ending the process."""
    faults = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assert) and not _narrows(node.test):
            faults.append(f"line {node.lineno}: assert")
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "sys.exit", "exit", "quit", "os._exit", "os.system"):
                faults.append(f"line {node.lineno}: {called}()")
    return faults


@pytest.mark.parametrize("path", source_files(*LIBRARY), ids=module_name)
def test_the_library_raises_and_does_not_print(path: Path) -> None:
    faults = _library_faults(path.read_text())
    assert not faults, f"{path.relative_to(ROOT)}: {faults}"


@pytest.mark.parametrize(
    ("module", "text", "fault"),
    [
        ("allo.dialects.types", "import allo.target", "allo.dialects may not import allo.target"),
        (
            "allo.backend.cpu.jit",
            "from allo.schedule import Schedule",
            "allo.backend.cpu may not import allo.schedule.Schedule",
        ),
        (
            "allo.backend.cpu.jit",
            "from ..rtl import design",
            "allo.backend.cpu may not import allo.backend.rtl.design",
        ),
        (
            "allo.frontend.emit",
            "from allo.backend import cpu",
            "allo.frontend may not import allo.backend.cpu",
        ),
        (
            "allo.schedule.core",
            "from allo import cli",
            "nothing imports the command line (allo.cli)",
        ),
        (
            "allo.designs.llm.analysis.model",
            "from allo.dialects import types",
            "allo.designs may not import allo.dialects.types",
        ),
        (
            "allo.interpret.rules",
            "from allo.frontend.rules import typing",
            "allo.interpret may not import allo.frontend.rules.typing",
        ),
        (
            "allo.interpret.running.casts",
            "from allo.dialects.core.integers import as_signed",
            "allo.interpret may not import allo.dialects.core.integers.as_signed",
        ),
        ("allo.frontend.emit", "import dialects.types", "dialects.types is imported past `allo`"),
    ],
)
def test_a_breach_is_seen(module: str, text: str, fault: str) -> None:
    assert breaches(text, module) == [f"line 1: {fault}"]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("allo.backend.sim.engines.interface", "from allo.backend.rtl import design"),
        ("allo.backend.cpu.jit", "from .boundary import convert"),
        ("allo.designs.polybench.blas.gemm", "import allo\nfrom allo.ir.types import float32"),
        ("allo.dataflow.region", "from allo.frontend import customize"),
        ("allo.library.nn", "from allo.library.systolic import systolic"),
        ("allo.cli.report", "from allo.dialects.reports.figures import DesignReport"),
    ],
)
def test_what_is_allowed_passes(module: str, text: str) -> None:
    assert breaches(text, module) == []


def test_library_faults_are_seen() -> None:
    text = "import sys\nassert x\nprint(1)\nsys.exit(2)\nassert x is not None\n"
    assert _library_faults(text) == ["line 2: assert", "line 3: print()", "line 4: sys.exit()"]


def named_folders(text: str) -> set[str]:
    """The folders that a page's section of folders gives a line."""
    section = text.split("## Folders")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([\w/]+)` \|", section, re.M))


def test_the_architecture_names_every_folder() -> None:
    folders = {str(path.parent.relative_to(ROOT)) for path in source_files(*LIBRARY)}
    named = named_folders((ROOT / "docs" / "architecture.md").read_text())
    assert folders <= named, f"docs/architecture.md needs a line for {folders - named}"
    assert all((ROOT / folder).is_dir() for folder in named)


def test_only_the_section_of_folders_counts() -> None:
    text = "# Page\n\n| `a` | no |\n\n## Folders\n\n| `a/b` | yes |\n\n## Next\n\n| `a/c` | no |\n"
    assert named_folders(text) == {"a/b"}
