"""Each open board has a page, which is what its record says."""

from __future__ import annotations

import pytest

from allo import boards
from scripts.pages.boards import FOLDER, pages

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_its_record_says(name: str) -> None:
    assert (FOLDER / f"{name}.md").read_text() == PAGES[name], "python -m scripts.pages.boards"


def test_each_open_board_has_a_page_that_is_linked() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == set(PAGES)
    text = "".join(PAGES.values())
    summary = (FOLDER.parent / "boards.md").read_text()
    menu = (FOLDER.parents[1] / "mkdocs.yml").read_text()
    for name in boards.boards():
        board = boards.board(name)
        assert (f"| `{name}` | {board.part} |" in text) == (board.tools == "open")
    for name in PAGES:
        assert f"(boards/{name}.md)" in summary and f": boards/{name}.md" in menu
