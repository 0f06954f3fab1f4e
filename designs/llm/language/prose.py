"""The English prose that the speaking model learns: Jane Austen's six novels.

``data/novels/austen.txt.xz`` holds them, one paragraph a line; ``data/novels/SOURCE.md`` says where
they come from and under which licence. ``scripts/language_model/novels.py`` made the file.
"""

from __future__ import annotations

import lzma
from pathlib import Path

from allo.errors import AlloError

DATA = Path(__file__).resolve().parents[1] / "data"
NOVELS = DATA / "novels" / "austen.txt.xz"
CHAPTER = 200
"""Paragraphs of one stretch of text."""
HELD_OUT_PARAGRAPHS = 8
"""Paragraphs at the end of every stretch that training never sees."""


class ProseError(AlloError):
    """Prose that is missing or damaged."""


def load_prose(path: Path = NOVELS) -> list[str]:
    """The paragraphs of the novels, in order.

    Raises:
        ProseError: when the file is missing or damaged.
    """
    remedy = "make it again with scripts/language_model/novels.py."
    if not path.is_file():
        raise ProseError(f"There is no prose {path}.", help=remedy)
    try:
        return lzma.decompress(path.read_bytes()).decode().splitlines()
    except (lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
        raise ProseError(f"The prose {path} is damaged ({error}).", help=remedy) from error


def split_prose(paragraphs: list[str]) -> tuple[str, str]:
    """Text to train on, and text held out: the last paragraphs of every stretch."""
    kept, held = [], []
    for first in range(0, len(paragraphs), CHAPTER):
        stretch = paragraphs[first : first + CHAPTER]
        kept += stretch[:-HELD_OUT_PARAGRAPHS]
        held += stretch[-HELD_OUT_PARAGRAPHS:]
    return "\n".join(kept) + "\n", "\n".join(held) + "\n"
