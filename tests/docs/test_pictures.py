"""The pictures of the documentation are what their designs give now, and pages show them all."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.pages.pictures.floor import squares
from scripts.pages.pictures.program import FOLDER, PICTURES, main

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 40_000


SLOW = "transformer"


@pytest.mark.parametrize("name", [name for name in PICTURES if name != SLOW])
def test_a_picture_is_not_stale(name: str) -> None:
    check(name)


def test_the_picture_of_a_transformer_is_not_stale() -> None:
    check(SLOW)


def check(name: str) -> None:
    """Whether a picture is what its design gives now."""
    drawn = PICTURES[name]()
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert len(drawn) < LARGEST
    kept = (FOLDER / f"{name}.svg").read_text()
    assert kept == drawn, f"docs/pictures/{name}.svg is stale: scripts/docs --update draws it."


def test_every_picture_is_made_and_shown() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    shown = set(re.findall(r"\]\((?:\.\./)?pictures/(\w+)\.svg\)", pages))
    kept = {file.stem for file in FOLDER.glob("*")}
    assert shown == kept == set(PICTURES)


def test_rectangles_have_their_areas() -> None:
    areas = {"a": 50, "b": 25, "c": 15, "d": 10}
    places = squares(areas, 0, 0, 20, 10)
    found = {name: wide * high for name, (_, _, wide, high) in places.items()}
    assert found == pytest.approx({name: 2 * area for name, area in areas.items()})
    assert squares({}, 0, 0, 1, 1) == {}


def test_a_picture_is_written_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("scripts.pages.pictures.program.FOLDER", tmp_path / "pictures")
    assert main(["banks"]) == 0
    assert capsys.readouterr().out == "drawing docs/pictures/banks.svg\n"
    assert (tmp_path / "pictures/banks.svg").read_text() == (FOLDER / "banks.svg").read_text()
