"""The layers of Allo: imports only point to lower layers, and each wheel has one importer.

Every Python file of the project is parsed (never imported) and its imports are held
against docs/architecture.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import pytest

from tests.house.tree import HOMES, LIBRARY, ROOT, Import, Source, Tree, imports_of

MOST_LINES = 800
MOST_LIBRARY_LINES = 450

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


def breaches(imports: Iterable[Import], module: str) -> list[str]:
    """The import rules a module's imports break, one line each."""
    layer = layer_of(module)
    found = []
    for item in imports:
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


def breaches_of(files: Iterable[Source]) -> list[str]:
    """The import rules that files break, one line each with the file's name."""
    return [
        f"{file.name}: {found}" for file in files for found in breaches(file.imports, file.module)
    ]


def test_the_library_is_found(tree: Tree) -> None:
    names = {file.module for file in tree.library}
    assert {"allo", "allo.dialects.types", "allo.backend.rtl", "allo.designs"} <= names


def test_imports_point_to_lower_layers(tree: Tree) -> None:
    found = breaches_of(tree.library)
    assert not found, "\n".join(found)


def strangers(files: Iterable[Source]) -> list[str]:
    """Imports of a wheel in another file than its importer."""
    return [
        f"{file.name}:{item.line}: {wheel} is imported past {importer}"
        for file in files
        for item in file.imports
        for wheel, importer in IMPORTERS.items()
        if within(item.module, wheel)
        and file.name != importer
        and not file.name.startswith(f"designs/{wheel}/")  # a model is written in PyTorch
    ]


def test_each_wheel_has_one_importer(tree: Tree) -> None:
    found = strangers(tree.library)
    assert not found, "\n".join(found)


def test_no_star_imports(tree: Tree) -> None:
    stars = [
        f"{file.name}:{item.line}"
        for file in tree.files()
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


def breaches_in(text: str, module: str) -> list[str]:
    """The breaches of a module's text."""
    return breaches(imports_of(list(ast.walk(ast.parse(text))), module, False), module)


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
    assert breaches_in(text, module) == [f"line 1: {fault}"]


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
    assert breaches_in(text, module) == []


class Planted(Source):
    """A file of the tree with another text."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(ROOT / name)
        self.text = text  # type: ignore[misc]


def test_every_breach_of_every_file_is_told() -> None:
    files = [
        Planted(
            "dialects/types/__init__.py", "from allo import target\nfrom ...backend import cpu"
        ),
        Planted("allo/frontend/emit.py", "import pycde, dialects\nfrom x import *"),
        Planted("designs/torch/mlp.py", "import torch\nimport torch_mlir"),
    ]
    assert breaches_of(files) == [
        "dialects/types/__init__.py: line 1: allo.dialects may not import allo.target",
        "dialects/types/__init__.py: line 2: allo.dialects may not import allo.backend.cpu",
        "allo/frontend/emit.py: line 1: dialects is imported past `allo`",
    ]
    assert strangers(files) == [
        "allo/frontend/emit.py:1: pycde is imported past backend/rtl/_circt.py",
        "designs/torch/mlp.py:2: torch_mlir is imported past dialects/_mlir.py",
    ]
    assert too_long(files, 1) == [
        "dialects/types/__init__.py: 2 lines, and 1 is the most",
        "allo/frontend/emit.py: 2 lines, and 1 is the most",
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
    named = named_folders((ROOT / "docs" / "architecture.md").read_text())
    assert folders <= named, f"docs/architecture.md needs a line for {folders - named}"
    assert all((ROOT / folder).is_dir() for folder in named)


def test_only_the_section_of_folders_counts() -> None:
    text = "# Page\n\n| `a` | no |\n\n## Folders\n\n| `a/b` | yes |\n\n## Next\n\n| `a/c` | no |\n"
    assert named_folders(text) == {"a/b"}
