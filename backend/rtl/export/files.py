"""Files of Python that have numbers for names while CIRCT is at work.

It writes the path of a file into the comment of every line, which made a third of its text. Numbers have the
order of the paths, because that is the order of the places in a comment.
"""

from __future__ import annotations

from collections.abc import Iterable

from .comments import OWN


def numbers_of(files: Iterable[str]) -> dict[str, str]:
    """The number of each file, by its path."""
    ordered = sorted(file for file in files if file != OWN)
    digits = len(str(len(ordered)))
    return {file: str(number).zfill(digits) for number, file in enumerate(ordered)}
