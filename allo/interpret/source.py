"""Where a kernel's text comes from: its syntax tree, with places in the user's file."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from allo.dialects.diagnostics import SourcePlace, UnsupportedSyntaxError

_GIVEN = "<interpreted "
_MOST_TEXTS = 64


@dataclass(frozen=True)
class SourceText:
    """The text a syntax tree was parsed from.

    Attributes:
        file: the user's file.
        line: lines of the file in front of the text.
        col: columns that were cut from each line.
        lines: the lines of the text, encoded: ``ast`` counts columns in bytes.
    """

    file: str
    line: int
    col: int
    lines: tuple[bytes, ...]

    def place(self, node: ast.AST) -> SourcePlace:
        """The place of a node in the file; lines and columns count from 1."""
        line = getattr(node, "lineno", 1)
        last = getattr(node, "end_lineno", None) or line
        return SourcePlace(
            self.file,
            self.line + line,
            self._column(line, getattr(node, "col_offset", 0)),
            self.line + last,
            self._column(last, getattr(node, "end_col_offset", None) or 0),
        )

    def _column(self, line: int, offset: int) -> int:
        if line > len(self.lines):
            return self.col + offset + 1
        return self.col + len(self.lines[line - 1][:offset].decode("utf8", "replace")) + 1


def read_function(fn: Callable[..., Any] | str) -> tuple[ast.FunctionDef, SourceText]:
    """The definition of a function, from its file or from a text given whole.

    Raises:
        UnsupportedSyntaxError: when there is no text, or no function in it.
    """
    if isinstance(fn, str):
        dedented = textwrap.dedent(fn)
        return _parse(fn, _remember(dedented), 0, dedented)
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(fn))
    except (OSError, TypeError) as error:
        raise UnsupportedSyntaxError(
            f"The source of {getattr(fn, '__name__', fn)!r} cannot be read.",
            help="define the kernel with def in a file, or give its text as a string.",
        ) from error
    file = inspect.getsourcefile(inspect.unwrap(fn)) or "<unknown>"
    text = "".join(lines)
    return _parse(text, file, first - 1, textwrap.dedent(text))


def _remember(text: str) -> str:
    """A file name for a text, under which messages find its lines: the last few are kept."""
    name = f"{_GIVEN}{zlib.crc32(text.encode()):08x}>"
    kept = [key for key in linecache.cache if key.startswith(_GIVEN)]
    for old in kept[: max(len(kept) - _MOST_TEXTS, 0)]:
        linecache.cache.pop(old, None)
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    return name


def _parse(text: str, file: str, line: int, dedented: str) -> tuple[ast.FunctionDef, SourceText]:
    try:
        tree = ast.parse(dedented)
    except SyntaxError as error:
        place = SourcePlace(file, line + (error.lineno or 1), error.offset or 1)
        raise UnsupportedSyntaxError(f"The text is not Python: {error.msg}.", place) from error
    first, short = text.splitlines()[:1], dedented.splitlines()[:1]
    cut = len(first[0]) - len(short[0]) if first and short and not file.startswith(_GIVEN) else 0
    encoded = tuple(part.encode("utf8") for part in dedented.splitlines())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            return node, SourceText(file, line, cut, encoded)
    raise UnsupportedSyntaxError(
        "The text holds no function.", SourcePlace(file, line + 1), help="write a def."
    )
