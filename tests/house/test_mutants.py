"""The mutants: enough of them, spread over the compiler, and told apart by what the tests say."""

from __future__ import annotations

from pathlib import Path

from tests.house.tree import ROOT
from tests.mutants.__main__ import Mutant, mutants, try_mutant


def test_there_are_enough_and_their_tests_are_there() -> None:
    found = mutants()
    assert len({m.name for m in found}) == len(found) >= 20
    assert len({m.area for m in found}) >= 12
    assert [m.name for m in found if not all((ROOT / t).exists() for t in m.tests)] == []


def test_a_mutant_is_found_missed_or_stale(tmp_path: Path) -> None:
    (tmp_path / "product.py").write_text("X = 1\n")
    (tmp_path / "test_product.py").write_text(
        "import product\n\ndef test_x():\n    assert product.X < 3\n"
    )

    def outcome(old: str, new: str) -> tuple[str, str]:
        mutant = Mutant("m", "a", "product.py", old, new, ("test_product.py",))
        verdict = try_mutant(mutant, tmp_path, ["-p", "no:randomly"])
        assert (tmp_path / "product.py").read_text() == "X = 1\n"
        return verdict.outcome, verdict.test

    assert outcome("X = 1", "X = 3") == ("found", "test_product.py::test_x")
    assert outcome("X = 1", "X = 22 - 20") == ("missed", "")
    assert outcome("X = 2", "X = 3") == ("stale", "")
