"""Comments that say which lines of Python a line of Verilog comes from.

CIRCT writes ``// @[/home/me/gemm.py:12:{13,20}, :14:9]`` behind every line, ``always_ff``, ``if`` and
``end`` included. What is kept is ``// gemm.py:12:13, 14:9`` behind declarations, assignments and instances.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MARK = "\t// @["
"""What CIRCT's comments begin with."""

_ENTRY = re.compile(r"(.*?):(\d+):(?:\{(\d+)[\d,]*\}|(\d+))(?:, |$)")
_BARE = re.compile(r"\s*(always_ff|if|else|end|begin)\b")
_SHOWN = 4
"""Lines of Python that one comment names."""
_DIRECTIVE = re.compile(r"(?i)(verilator|synopsys|synthesis|ambit|cadence|pragma|xilinx|altera)")
"""What tools take for directives where a comment begins with it."""
OWN = "-"
"""The file that CIRCT gives to what has no place: the text that it parsed."""

type Place = tuple[str, int, int]


def comment_of(text: str) -> str:
    """A comment that no tool takes for a directive, whatever the user's files are called."""
    return f"// ./{text}" if _DIRECTIVE.match(text) else f"// {text}"


def places_of(comment: str) -> list[Place]:
    """File, line and column of each entry of a comment of CIRCT."""
    found: list[Place] = []
    file = OWN
    for entry in _ENTRY.finditer(comment):
        # a file whose line is not known stands alone in front of the next entry
        file = next((part for part in reversed(entry[1].split(", ")) if part), file)
        if file != OWN:
            found.append((file, int(entry[2]), int(entry[3] or entry[4])))
    return found


def short_names(files: Iterable[str]) -> dict[str, str]:
    """The shortest ends of paths that tell the files apart, by file."""
    names: dict[str, str] = {}
    for file in sorted(set(files), key=lambda file: (file.count("/"), file)):
        parts = file.split("/")
        length = 1
        while length < len(parts) and "/".join(parts[-length:]) in names.values():
            length += 1
        names[file] = "/".join(parts[-length:])
    return names


class Comments:
    """The comments of one design: reads those of CIRCT, and writes them anew.

    Args:
        files: the paths of files that the text has other names for.

    Attributes:
        names: what a file is called in comments, by its path.
    """

    def __init__(self, text: str, files: Mapping[str, str] | None = None) -> None:
        paths = files or {}
        found = {line.rpartition(MARK)[2] for line in text.split("\n") if MARK in line}
        read = {c: places_of(c.rstrip().removesuffix("]")) for c in found}
        self._places = {
            comment: [(paths.get(file, file), line, column) for file, line, column in places]
            for comment, places in read.items()
        }
        self.names = short_names(f for places in self._places.values() for f, _, _ in places)
        listed = {comment: self.listed(places) for comment, places in self._places.items()}
        self._behind = {c: f"  {comment_of(text)}" if text else "" for c, text in listed.items()}
        """What stands behind a line in place of a comment of CIRCT."""

    def listed(self, places: Iterable[Place]) -> str:
        """``gemm.py:12:13, 14:9``: the first column of each line; "" for no place."""
        lines: dict[tuple[str, int], int] = {}
        for file, line, column in places:
            lines.setdefault((file, line), column)
        entries, before = [], ""
        for (file, line), column in list(lines.items())[:_SHOWN]:
            prefix = "" if file == before else f"{self.names.get(file, file)}:"
            entries.append(f"{prefix}{line}:{column}")
            before = file
        return ", ".join(entries) + (" …" if len(lines) > _SHOWN else "")

    def rewrite(self, text: str) -> str:
        """A text with its comments written anew."""
        lines = []
        for line in text.split("\n"):
            code, mark, comment = line.rpartition(MARK)
            if not mark:
                lines.append(line.replace("end // always_ff @(posedge)", "end"))
                continue
            code = code.rstrip()
            behind = self._behind[comment]
            lines.append(code if not behind or _BARE.match(code) else code + behind)
        return "\n".join(lines)
