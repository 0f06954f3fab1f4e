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


def missing_endings(text: str, files: list[str]) -> list[str]:
    """Paths of Python files in a page, from whatever folder it speaks of, that end the path of no file."""
    named = set(re.findall(r"`((?:[\w-]+/)+\w+\.py)`", text))
    return sorted(name for name in named if not any(file.endswith(f"/{name}") for file in files))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_named_from_a_folder_are_there(page: Path) -> None:
    files = [
        f"/{path.relative_to(ROOT)}" for name in FOLDERS for path in (ROOT / name).rglob("*.py")
    ]
    assert not missing_endings(page.read_text(), files)


def test_a_file_that_moved_is_seen() -> None:
    text = "`plan/bodies.py` and `plan.py`, not `rtl/plan.py`"
    assert missing_endings(text, ["/backend/rtl/plan/bodies.py"]) == ["rtl/plan.py"]
