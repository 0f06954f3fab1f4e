"""The documents: every link between them, and every file they name, is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = ("allo", "dialects", "backend", "designs", "scripts", "tests", "benchmarks", "docs")
# Pages that scripts/pages makes when the site is built.
MADE = {"docs/changelog.md", "docs/reference/cli.md", "docs/reference/primitives.md"}


def page_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_there(target: Path) -> bool:
    """Whether a file exists, or becomes a page: a tutorial's page is made from its program."""
    target = target.resolve()
    made = target.is_relative_to(ROOT) and str(target.relative_to(ROOT)) in MADE
    return made or target.exists() or target.with_suffix(".py").exists()


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([\w./-]+\.\w+)(?:#[^)]*)?\)", page.read_text())
    assert not [link for link in links if not is_there(page.parent / link)]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_named_files_are_there(page: Path) -> None:
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", page.read_text())
    missing = sorted({name for name in named if not (ROOT / name).exists()})
    assert not missing
