"""The documents: every link between them, and every file they name, is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.test_import_rules import LIBRARY, source_files

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("allo", "dialects", "backend", "designs", "scripts", "tests", "benchmarks", "docs")


SECTION = "## Folders"


def page_name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([\w./-]+\.\w+)(?:#[^)]*)?\)", page.read_text())
    assert not [link for link in links if not (page.parent / link).exists()]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_named_files_are_there(page: Path) -> None:
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", page.read_text())
    missing = sorted({name for name in named if not (ROOT / name).exists()})
    assert not missing


def named_folders(text: str) -> set[str]:
    """The folders that a page's section of folders gives a line."""
    section = text.split(SECTION)[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([\w/]+)` \|", section, re.M))


def test_the_architecture_names_every_folder() -> None:
    folders = {str(path.parent.relative_to(ROOT)) for path in source_files(*LIBRARY)}
    named = named_folders((ROOT / "docs" / "architecture.md").read_text())
    assert folders <= named, f"docs/architecture.md needs a line for {folders - named}"
    assert all((ROOT / folder).is_dir() for folder in named)


def test_only_the_section_of_folders_counts() -> None:
    text = "# Page\n\n| `a` | no |\n\n## Folders\n\n| `a/b` | yes |\n\n## Next\n\n| `a/c` | no |\n"
    assert named_folders(text) == {"a/b"}
