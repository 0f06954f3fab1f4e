"""The layers of docs/internals/architecture.md: contracts of import-linter, and breaches they see.

`lint-imports` checks the same contracts and draws the chains of imports that break one.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract
from importlinter.domain.contract import Contract

ROOT = Path(__file__).resolve().parents[2]
TYPES: dict[str, type[Contract]] = {
    "layers": LayersContract,
    "forbidden": ForbiddenContract,
    "protected": ProtectedContract,
}


def contracts() -> dict[str, Contract]:
    """The contracts of pyproject.toml by their ids."""
    found = read_configuration(str(ROOT / "pyproject.toml"))
    session: dict[str, Any] = found["session_options"]
    return {
        options["id"]: TYPES[options["type"]](options["name"], session, options)
        for options in found["contracts_options"]
    }


def broken(graph: grimp.ImportGraph) -> list[str]:
    """The ids of the contracts that a graph of imports breaks."""
    return [
        name
        for name, contract in contracts().items()
        if not contract.check(copy.deepcopy(graph), verbose=False).kept
    ]


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """The imports of the tree, inside functions too; the links in allo/ are followed."""
    return grimp.build_graph("allo", include_external_packages=True, cache_dir=None)


def test_every_file_is_in_the_graph(graph: grimp.ImportGraph) -> None:
    here = [
        path
        for folder in ("allo", "dialects", "backend", "designs")
        for path in (ROOT / folder).rglob("*.py")
        if not any(parent.is_symlink() for parent in path.parents)
    ]
    ours = [module for module in graph.modules if module.split(".")[0] == "allo"]
    assert len(ours) == len(here) > 1000
    late = graph.find_modules_directly_imported_by("allo.backend.sim.engines.arc")
    assert "allo.backend.sim.buses.model" in late, "an import inside a function is not seen"


def test_imports_point_to_lower_layers(graph: grimp.ImportGraph) -> None:
    names = broken(graph)
    assert not names, f"`.venv/bin/lint-imports` shows the imports that break {names}"


@pytest.mark.parametrize(
    ("importer", "imported", "contract"),
    [
        ("allo.dialects.types", "allo.target", "layers"),
        ("allo.errors", "allo.ir.types", "layers"),
        ("allo.backend.cpu.jit", "allo.schedule", "layers"),
        ("allo.backend.rtl.design", "allo", "layers"),
        ("allo.backend.report", "allo.external", "layers"),
        ("allo.frontend.emit", "allo.backend.cpu", "layers"),
        ("allo.frontend.emit", "allo.schedule", "layers"),
        ("allo.dataflow", "allo.torch", "layers"),
        ("allo.library.nn", "allo.designs.gallery", "layers"),
        ("allo.interpret.running.casts", "allo.frontend.rules", "layers"),
        ("allo.equivalence", "allo.schedule", "layers"),
        ("allo.backend.cpu.jit", "allo.backend.rtl.design", "back-ends"),
        ("allo.backend.rtl.design", "allo.backend.sim", "back-ends"),
        ("allo.backend.xls", "allo.backend.sim", "back-ends"),
        ("allo.backend.hls", "allo.ir.types", "foundation-only"),
        ("allo.equivalence", "allo.bitexact", "foundation-only"),
        ("allo.equivalence", "allo.target", "no-targets"),
        ("allo.interpret.running.casts", "allo.dialects.core.integers", "oracle"),
        ("allo.interpret.running.casts", "allo.dialects.affine", "oracle"),
        ("allo.interpret", "allo.dialects", "oracle-root"),
        ("allo.backend.rtl.design", "allo.backend", "back-end-root"),
        ("allo.dataflow", "allo.backend.rtl", "front-ends"),
        ("allo.schedule", "allo.bitexact", "front-ends"),
        ("allo.torch.compiler", "allo.backend.cpu", "models"),
        ("allo.backend.vitis", "allo.backend.rtl.design", "published-paths"),
        ("allo.backend.llvm", "allo.dialects.types", "published-paths"),
        ("allo.backend.sim", "allo.backend.cpu", "simulation"),
        ("allo.backend.xls", "allo.backend.rtl.design", "xls"),
        ("allo.designs.llm.analysis.model", "allo.dialects.types", "users"),
        ("allo.library.nn", "allo.schedule", "users"),
        ("allo.customize", "allo.cli", "command-line"),
        ("allo", "allo.cli", "command-line"),
        ("allo.customize", "allo.boards", "boards"),
        ("allo.frontend.emit", "dialects", "one-path"),
        ("allo.backend.cpu.jit", "torch_mlir", "mlir"),
        ("allo.frontend.emit", "pycde", "circt"),
        ("allo.schedule.schedule", "islpy", "islpy"),
        ("allo.schedule.schedule", "ortools", "ortools"),
        ("allo.torch.compiler", "torch", "torch"),
        ("allo.a_new_module", "allo.dialects.types", "layers"),
        ("allo.backend.a_new_target", "allo.dialects.types", "back-ends"),
    ],
)
def test_a_breach_is_seen(
    graph: grimp.ImportGraph, importer: str, imported: str, contract: str
) -> None:
    planted = copy.deepcopy(graph)
    if importer not in planted.modules:
        planted.add_module(importer)
    if imported not in planted.modules:
        planted.add_module(imported, is_squashed=True)
    planted.add_import(importer=importer, imported=imported, line_number=1, line_contents="")
    assert not contracts()[contract].check(planted, verbose=False).kept


def test_each_contract_has_a_breach_that_it_sees() -> None:
    marks = test_a_breach_is_seen.pytestmark  # type: ignore[attr-defined]
    assert {row[2] for row in marks[0].args[1]} == set(contracts())
