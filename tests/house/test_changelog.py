"""The changelog has the version of the package at its head, cut by what a user sees."""

from __future__ import annotations

import re

import allo
from tests.house.test_import_rules import ROOT

HEADING = re.compile(r"## \[(?P<version>[\d.]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?")
PARTS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def sections() -> list[tuple[str, str]]:
    """Heading and text of each section, the newest first."""
    _, *found = re.split(r"(?m)^(?=## )", (ROOT / "CHANGELOG.md").read_text())
    return [(heading, text) for heading, _, text in (f.partition("\n") for f in found)]


def test_the_newest_version_is_that_of_the_package() -> None:
    (unreleased, _), (newest, _), *_ = sections()
    assert unreleased == "## [Unreleased]"
    heading = HEADING.fullmatch(newest)
    assert heading is not None, newest
    assert heading["version"] == allo.__version__
    assert heading["date"], "a version has its date"


def test_a_version_is_cut_by_what_a_user_sees() -> None:
    for heading, text in sections()[1:-1]:
        parts = re.findall(r"(?m)^### (.+)$", text)
        assert parts == [p for p in PARTS if p in parts], heading
        assert {"Added", "Changed", "Removed", "Fixed"} <= set(parts), heading


def test_nothing_is_told_twice() -> None:
    """A rebase that takes both sides brings a cut section back."""
    found = [entry for _, text in sections() for entry in re.findall(r"(?m)^- .+$", text)]
    assert sorted(found) == sorted(set(found))
