"""The blocks of the pages that need PyTorch run, and print what the pages show."""

from __future__ import annotations

from pathlib import Path

from scripts.pages import blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch.md"


def test_the_blocks_of_the_page_run() -> None:
    found = blocks.blocks_of(PAGE.read_text(), "torch")
    assert sum(block.runs for block in found) == 1
    assert blocks.fault_of_run(PAGE, found) is None


def test_without_the_extra_they_are_left_out() -> None:
    assert not any(block.runs for block in blocks.blocks_of(PAGE.read_text()))
