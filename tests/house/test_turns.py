"""The dear tests take turns: every case has one, and the table of costs names tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.test_selection import stale
from tests.house.tree import Tree
from tests.selection import Moved, Selection
from tests.turns import DEAR_S, TURNS, chosen_turn, costs, turn_of_commit, waiting, write_costs

NAMES = [*(f"a.py::f[{n}]" for n in range(TURNS + 1)), "a.py::g", "b.py::h", "c.py::cheap"]
DEAR = {"a.py::f", "a.py::g", "b.py::h"}


def test_every_case_has_one_turn() -> None:
    run = [set(NAMES) - waiting(NAMES, turn, DEAR) for turn in range(TURNS)]
    dear = [name for name in NAMES if name != "c.py::cheap"]
    assert [sum(name in each for each in run) for name in dear] == [1] * len(dear)
    assert all("c.py::cheap" in each for each in run)
    assert {len([n for n in each if n.startswith("a.py::f[")]) for each in run} == {1, 2}


def test_the_table_names_tests_and_is_used(tree: Tree) -> None:
    measured = costs()
    assert stale([Moved("", tuple(measured))], tree.files("tests")) == []
    assert min(measured.values()) >= DEAR_S and len(measured) > 100
    assert Selection.read().always <= measured.keys()


def test_what_a_run_measured_takes_the_place_of_what_was(tmp_path: Path) -> None:
    file = tmp_path / "costs.toml"
    file.write_text('[seconds]\n"a.py::f" = 3.0\n"a.py::g" = 2.0\n"b.py::h" = 1.5\n')
    write_costs({"a.py::f": 0.1, "a.py::g": 4.0, "d.py::k": 9.0}, file)
    assert costs(file) == {"a.py::g": 4.0, "b.py::h": 1.5, "d.py::k": 9.0}


def test_a_turn_is_asked_for_by_name() -> None:
    assert chosen_turn("all") is None and chosen_turn("2") == 2
    assert chosen_turn("auto") == turn_of_commit() in range(TURNS)
    refused = f"takes auto, all, or a number below {TURNS}; '{TURNS}' is none of them"
    with pytest.raises(pytest.UsageError, match=refused):
        chosen_turn(str(TURNS))


def test_a_run_leaves_what_waits(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers = nightly: x")
    pytester.makeconftest(
        "from tests import turns\n"
        "turns.costs = lambda: {'test_a.py::test_dear': 9.0}\n"
        "pytest_plugins = ['tests.turns']\n"
    )
    pytester.makepyfile(
        test_a="import pytest\n"
        f"@pytest.mark.parametrize('n', range({2 * TURNS}))\n"
        "def test_dear(n): pass\n"
        "def test_cheap(): pass\n"
    )
    run = ("-m", "not nightly", "-p", "no:cacheprovider")
    pytester.runpytest_subprocess(*run, "--turn", "1").assert_outcomes(
        passed=3, deselected=2 * TURNS - 2
    )
    pytester.runpytest_subprocess(*run).assert_outcomes(passed=2 * TURNS + 1)
    found = pytester.runpytest_subprocess(*run, "--turn", str(TURNS))
    found.stderr.fnmatch_lines([f"*--turn takes auto, all, or a number below {TURNS}*"])
