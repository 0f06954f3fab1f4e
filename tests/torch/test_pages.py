"""The blocks of the pages that need PyTorch run, and print what the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.pages import blocks

PAGES = [
    Path(__file__).resolve().parents[2] / "docs" / name for name in ("torch.md", "networks.md")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_the_page_run(page: Path) -> None:
    found = blocks.blocks_of(page.read_text(), "torch")
    assert sum(block.runs for block in found) == 1
    assert blocks.fault_of_run(page, found) is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_without_the_extra_they_are_left_out(page: Path) -> None:
    assert not any(block.runs for block in blocks.blocks_of(page.read_text()))
