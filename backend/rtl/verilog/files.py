"""Files of Python that have numbers for names while CIRCT is at work.

It writes the path of a file into the comment of every line, which made a third of its text. Numbers have the
order of the paths, because that is the order of the places in a comment.
"""

from __future__ import annotations

from collections.abc import Iterable

from allo.dialects.text.quoting import mlir_string

from .comments import OWN


class NumberedFiles:
    """The files that a design in hw, comb and seq names.

    Attributes:
        paths: the path of each file by its number.
    """

    def __init__(self, files: Iterable[str]) -> None:
        ordered = sorted(file for file in files if file != OWN)
        digits = len(str(len(ordered)))
        self.paths = {str(number).zfill(digits): file for number, file in enumerate(ordered)}

    def numbered(self, text: str) -> str:
        """A design with numbers in place of paths."""
        for number, path in self.paths.items():
            text = text.replace(f"{mlir_string(path)}:", f'"{number}":')
        return text
