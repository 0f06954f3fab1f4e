"""The documents: every link between them, and every file they name, is there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.house.tree import Tree

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


def lost_links(page: Path, text: str) -> list[str]:
    """Links of a page, with this text, that lead nowhere."""
    links = re.findall(r"\]\(([\w./-]+\.\w+)(?:#[^)]*)?\)", text)
    return [f"{page_name(page)}: {link}" for link in links if not is_there(page.parent / link)]


def lost_files(page: Path, text: str) -> list[str]:
    """Paths of the repository that a page, with this text, names and that are not there."""
    named = set(re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", text))
    return [f"{page_name(page)}: {name}" for name in sorted(named) if not (ROOT / name).exists()]


def test_links_lead_somewhere() -> None:
    found = [lost for page in PAGES for lost in lost_links(page, page.read_text())]
    assert not found, "\n".join(found)


def test_named_files_are_there() -> None:
    found = [lost for page in PAGES for lost in lost_files(page, page.read_text())]
    assert not found, "\n".join(found)


def test_what_is_not_there_is_told_with_its_page() -> None:
    page = ROOT / "docs" / "page.md"
    assert lost_links(page, "[a](start.md), [b](nowhere.md#x)") == ["docs/page.md: nowhere.md"]
    assert lost_files(page, "`scripts/test`, `scripts/nothing`") == [
        "docs/page.md: scripts/nothing"
    ]


def missing_endings(text: str, files: list[str]) -> list[str]:
    """Paths of Python files in a page, from whatever folder it speaks of, that end the path of no file."""
    named = set(re.findall(r"`((?:[\w-]+/)+\w+\.py)`", text))
    return sorted(name for name in named if not any(file.endswith(f"/{name}") for file in files))


def test_files_named_from_a_folder_are_there(tree: Tree) -> None:
    files = [f"/{file.name}" for file in tree.files()]
    files += [f"/{file.relative_to(ROOT)}" for file in (ROOT / "docs").rglob("*.py")]
    found = [
        f"{page_name(page)}: {name}"
        for page in PAGES
        for name in missing_endings(page.read_text(), files)
    ]
    assert not found, "\n".join(found)


def test_a_file_that_moved_is_seen() -> None:
    text = "`plan/bodies.py` and `plan.py`, not `rtl/plan.py`"
    assert missing_endings(text, ["/backend/rtl/plan/bodies.py"]) == ["rtl/plan.py"]


# Pages that say how Allo is tested, or that a test writes; all others beside `internals` are for users.
EVIDENCE = {
    "compatibility.md",
    "reliability.md",
    "torch_operators.md",
    "analytical_model.md",
}
GUIDES = [page for page in (ROOT / "docs").glob("*.md") if page.name not in EVIDENCE]


def internals_named(text: str) -> list[str]:
    """Files of the compiler and of the tests that a page names: what a user need not know."""
    return re.findall(r"`((?:allo|dialects|backend|tests)/[\w./-]+)`", text)


def test_guides_name_no_file_of_the_compiler() -> None:
    found = [
        f"{page_name(page)}: {name}"
        for page in GUIDES
        for name in internals_named(page.read_text())
    ]
    assert not found, "\n".join(found)


def test_a_file_of_the_compiler_in_a_guide_is_seen() -> None:
    text = "`backend/rtl/plan.py`, `designs/fir.py`, `allo.verify` and `tests/cpu`"
    assert internals_named(text) == ["backend/rtl/plan.py", "tests/cpu"]


def test_every_page_is_in_the_navigation() -> None:
    _, text = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")
    folders = ("gallery", "tutorials")
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    lost = [
        str(page) for page in pages if page.parent.name not in folders and f": {page}\n" not in text
    ]
    assert not lost
    groups = re.findall(r"^  - (\w+):$", text, re.MULTILINE)
    assert groups == ["Start", "Tutorials", "Guides", "Reference", "Results", "Internals"]
