"""What runs at night, and what a folder may cost: the table fits the tests, and is applied."""

from __future__ import annotations

import pytest

from tests import selection
from tests.house.tree import ROOT, Source, Tree
from tests.selection import Moved, Selection

SELECTION = Selection.read()


def stale(moved: list[Moved], files: list[Source]) -> list[str]:
    """Names of the table that are no test's."""
    known = {
        f"{file.name}::{node.name}"
        for file in files
        for node in file.nodes
        if type(node).__name__ == "FunctionDef"
    }
    return [name for each in moved for name in each.tests if name not in known]


def test_every_name_of_the_table_is_a_test(tree: Tree) -> None:
    assert stale(list(SELECTION.moved), tree.files("tests")) == []
    assert stale([Moved("", ("tests/house/test_selection.py::test_gone",))], tree.files("tests"))


def test_a_test_is_moved_once_and_for_a_reason() -> None:
    names = [name for moved in SELECTION.moved for name in moved.tests]
    assert len(names) == len(set(names))
    assert all(len(moved.why.split()) >= 5 for moved in SELECTION.moved)


def test_every_folder_of_tests_has_a_budget() -> None:
    folders = {
        file.parent.relative_to(ROOT / "tests").parts[0]
        for file in (ROOT / "tests").rglob("test_*.py")
    }
    assert folders <= set(SELECTION.budgets)


def test_every_few_cases_stay() -> None:
    table = Selection(moved=[Moved("", ("a.py::f",), 3), Moved("", ("a.py::g",))])
    names = [*(f"a.py::f[{n}]" for n in range(5)), "a.py::g", "a.py::h", "b.py::f[0]"]
    assert table.at_night(names) == {"a.py::f[1]", "a.py::f[2]", "a.py::f[4]", "a.py::g"}


def test_a_folder_over_its_budget_is_told() -> None:
    table = Selection({"a": 2.0, "b": 2.0})
    assert table.over({"a": 1.9, "b": 2.4, "c": 1}) == [
        "tests/b took 2 s of 2 s",
        "tests/c took 1 s of 0 s",
    ]


def test_a_report_counts_for_its_folder() -> None:
    assert selection.folder_of("tests/a/b/test_c.py::d[tests/x]") == "a"
    before = selection.cpu_seconds()
    sum(range(2_000_000))
    assert selection.cpu_seconds() > before


TABLE = """
[budgets]
a = {budget}
[[nightly]]
why = "shows"
tests = ["a/test_a.py::test_left"]
"""
CONFTEST = """
from pathlib import Path
from tests import selection

selection.FILE = Path(__file__).with_name("table.toml")
selection.Selection.read.__func__.__defaults__ = (selection.FILE,)
pytest_plugins = ["tests.selection"]
"""


@pytest.mark.parametrize(("budget", "over"), [(100, False), (0, True)])
def test_a_whole_run_tells_what_is_over_its_budget(
    budget: int, over: bool, pytester: pytest.Pytester
) -> None:
    pytester.makeini('[pytest]\ntestpaths = a\naddopts = -m "not nightly"\nmarkers = nightly: x')
    pytester.makeconftest(CONFTEST)
    (pytester.path / "table.toml").write_text(TABLE.format(budget=budget))
    folder = pytester.mkdir("a")
    (folder / "test_a.py").write_text("def test_runs(): pass\ndef test_left(): raise ValueError\n")
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert found.ret == 0
    found.stdout.fnmatch_lines(["*CPU seconds a folder*", "a * 1 *", "*1 passed, 1 deselected*"])
    assert ("OVER BUDGET: tests/a took" in found.stdout.str()) == over
