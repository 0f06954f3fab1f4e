"""Text of a user's in texts of other languages: one function a language.

Names of kernels, arguments and loops become identifiers where they are printed, so only file
names, messages and places come here.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..diagnostics import BuildError

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./+@%:,=-]+")
_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9_.+-]")


def one_line(text: str) -> str:
    """Text for a comment that ends with the line: control characters become ``?``."""
    return _CONTROL.sub("?", text)


def tcl_word(text: str) -> str:
    """One word of a Tcl command, with nothing substituted in it."""
    if _PLAIN_WORD.fullmatch(text):
        return text
    escaped = re.sub(r'([\\"$\[\]{}])', r"\\\1", text)
    return '"' + _CONTROL.sub(lambda m: f"\\u{ord(m[0]):04x}", escaped) + '"'


def c_string(text: str) -> str:
    """A string literal of C and C++; what is no ASCII stays, control characters are octal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    escaped = escaped.replace("\n", "\\n")
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\{ord(m[0]):03o}", escaped) + '"'


def include(path: str | Path) -> str:
    r"""The ``"path"`` of an ``#include``, in which nothing can be quoted.

    Raises:
        BuildError: the path holds ``"``, ``\`` or a control character.
    """
    text = str(path)
    if '"' in text or "\\" in text or _CONTROL.search(text):
        raise BuildError(
            f"C++ cannot include {text!r}: its name holds a quote, a backslash or a control character.",
            help="rename the file or the folder.",
        )
    return f'"{text}"'


def portable_name(name: str) -> str:
    """A file name that every tool takes unquoted; a name of letters, digits and ``_ . + -`` stays."""
    plain = _NOT_PORTABLE.sub("_", name)
    return f"_{plain[1:]}" if plain[:1] in ("-", ".") else plain


def mlir_string(text: str) -> str:
    """A string literal of MLIR."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\{ord(m[0]):02X}", escaped) + '"'
