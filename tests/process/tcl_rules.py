"""The twelve rules of Tcl's syntax (manual page Tcl(n)), with the few commands our scripts and stubs use.

Run as a program it takes a script and its arguments, and stands in for an interpreter where a machine
has none. ``test_tcl_rules.py`` holds it against Tcl itself.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

BLANK, END = " \t", "\n;"
NAMED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
NUMBERED = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})")
VARIABLE = re.compile(r"\{([^}]*)\}|((?:\w|::)+)", re.ASCII)
CONTINUED = re.compile(r"\\\n[ \t]*")


class TclError(Exception):
    """What Tcl refuses."""


class Returned(Exception):
    """A ``return``."""


class Interpreter:
    """Evaluates scripts: commands and variables, procedures with variables of their own."""

    def __init__(self, arguments: list[str]) -> None:
        self.variables = [{"argv": list_of(arguments)}]
        self.commands: dict[str, Callable[[list[str]], str]] = {
            "exit": self._exit,
            "fconfigure": lambda words: "",
            "file": self._file,
            "if": self._if,
            "lindex": self._lindex,
            "proc": self._proc,
            "puts": self._puts,
            "rename": self._rename,
            "return": self._return,
            "set": self._set,
            "source": lambda words: self.run(Path(words[0]).read_text(encoding="utf-8")),
        }

    def run(self, text: str) -> str:
        """The result of a script's last command."""
        return self._script(text, 0, nested=False)[0]

    # --- rules 1 to 3 and 10: commands, their words, comments -------------------------------

    def _script(self, text: str, at: int, *, nested: bool) -> tuple[str, int]:
        result = ""
        while True:
            at = _skip(text, at, BLANK + END)
            if at == len(text):
                if nested:
                    raise TclError("missing close-bracket")
                return result, at
            if nested and text[at] == "]":
                return result, at + 1
            if text[at] == "#":
                at = _comment(text, at)
                continue
            words, at = self._words(text, at, nested=nested)
            result = self.call(words)

    def _words(self, text: str, at: int, *, nested: bool) -> tuple[list[str], int]:
        words: list[str] = []
        while True:
            at = _skip(text, at, BLANK)
            if _ends(text, at, nested=nested):
                return words, at
            expands = text.startswith("{*}", at) and text[at + 3 : at + 4] not in ("", *BLANK, *END)
            word, at = self._word(text, at + 3 * expands, nested=nested)
            words += split(word) if expands else [word]

    # --- rules 4 to 6: quotes, braces ---------------------------------------------------------

    def _word(self, text: str, at: int, *, nested: bool) -> tuple[str, int]:
        if text[at] == "{":
            word, at = braced(text, at)
        elif text[at] == '"':
            word, at = self._substituted(text, at + 1, lambda k: text[k] == '"', quoted=True)
            if at == len(text):
                raise TclError('missing "')
            at += 1
        else:
            return self._substituted(
                text, at, lambda k: text[k] in BLANK or _ends(text, k, nested=nested)
            )
        if not (_ends(text, at, nested=nested) or text[at] in BLANK or CONTINUED.match(text, at)):
            raise TclError("extra characters after close-quote or close-brace")
        return word, at

    # --- rules 7 to 9: command, variable and backslash substitution --------------------------

    def _substituted(
        self, text: str, at: int, ends: Callable[[int], bool], *, quoted: bool = False
    ) -> tuple[str, int]:
        """Text up to where ``ends`` holds, with everything substituted once (rule 11)."""
        parts: list[str] = []
        while at < len(text) and not ends(at):
            if text[at] == "\\":
                if not quoted and CONTINUED.match(text, at):
                    break
                part, at = backslash(text, at)
            elif text[at] == "[":
                part, at = self._script(text, at + 1, nested=True)
            elif text[at] == "$":
                part, at = self._variable(text, at)
            else:
                part, at = text[at], at + 1
            parts.append(part)
        return "".join(parts), at

    def _variable(self, text: str, at: int) -> tuple[str, int]:
        found = VARIABLE.match(text, at + 1)
        if found is None:
            return "$", at + 1
        return self._set([found[1] if found[2] is None else found[2]]), found.end()

    # --- commands ------------------------------------------------------------------------------

    def call(self, words: list[str]) -> str:
        """Run one command."""
        command = self.commands.get(words[0])
        if command is not None:
            return command(words[1:])
        unknown = self.commands.get("unknown")
        if unknown is None:
            raise TclError(f'invalid command name "{words[0]}"')
        return unknown(words)

    def _set(self, words: list[str]) -> str:
        if len(words) == 2:
            self.variables[-1][words[0]] = words[1]
        if words[0] not in self.variables[-1]:
            raise TclError(f'can\'t read "{words[0]}": no such variable')
        return self.variables[-1][words[0]]

    def _puts(self, words: list[str]) -> str:
        newline = words[0] != "-nonewline"
        rest = words if newline else words[1:]
        if len(rest) != 1:
            raise TclError(f'can not find channel named "{rest[0]}"')
        sys.stdout.buffer.write((rest[0] + "\n" * newline).encode())
        return ""

    def _proc(self, words: list[str]) -> str:
        name, parameters, body = words
        if parameters != "args":
            raise TclError(f"a procedure takes args here, not {parameters}")

        def procedure(given: list[str]) -> str:
            self.variables.append({"args": list_of(given)})
            try:
                return self.run(body)
            except Returned as result:
                return str(result)
            finally:
                self.variables.pop()

        self.commands[name] = procedure
        return ""

    def _if(self, words: list[str]) -> str:
        (left, operator, right), _ = self._words(words[0], 0, nested=False)
        if operator not in ("eq", "ne"):
            raise TclError(f"only eq and ne are known, not {operator}")
        return self.run(words[1]) if (left == right) == (operator == "eq") else ""

    def _rename(self, words: list[str]) -> str:
        self.commands[words[1]] = self.commands.pop(words[0])
        return ""

    def _lindex(self, words: list[str]) -> str:
        elements = split(words[0])
        at = len(elements) - 1 if words[1] == "end" else int(words[1])
        return elements[at] if 0 <= at < len(elements) else ""

    def _file(self, words: list[str]) -> str:
        if words[0] != "join":
            raise TclError(f"file knows join here, not {words[0]}")
        return str(Path(*words[1:]))

    def _return(self, words: list[str]) -> str:
        raise Returned(words[0] if words else "")

    def _exit(self, words: list[str]) -> str:
        sys.stdout.flush()
        raise SystemExit(int(words[0]) if words else 0)


# --- the text of words -------------------------------------------------------------------------


def _skip(text: str, at: int, some: str) -> int:
    while at < len(text):
        joined = CONTINUED.match(text, at)
        if joined is None and text[at] not in some:
            return at
        at = joined.end() if joined else at + 1
    return at


def _ends(text: str, at: int, *, nested: bool) -> bool:
    return at >= len(text) or text[at] in END or (nested and text[at] == "]")


def _comment(text: str, at: int) -> int:
    while at < len(text) and text[at] != "\n":
        at += 2 if text[at] == "\\" else 1
    return min(at, len(text))


def braced(text: str, at: int) -> tuple[str, int]:
    """The text in braces from ``text[at]``, nothing substituted but lines that go on."""
    depth, first = 1, at + 1
    at = first
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] in "{}":
            depth += 1 if text[at] == "{" else -1
            if depth == 0:
                return CONTINUED.sub(" ", text[first:at]), at + 1
        at += 1
    raise TclError("missing close-brace")


def backslash(text: str, at: int) -> tuple[str, int]:
    """What a backslash at ``text[at]`` stands for."""
    joined = CONTINUED.match(text, at)
    if joined:
        return " ", joined.end()
    number = NUMBERED.match(text, at + 1)
    if number:
        digits, base = (number[4], 8) if number[4] else (number[number.lastindex or 1], 16)
        return chr(int(digits, base)), number.end()
    if at + 1 == len(text):
        return "\\", at + 1
    return NAMED.get(text[at + 1], text[at + 1]), at + 2


def list_of(elements: list[str]) -> str:
    """A list of elements, each quoted with backslashes where it must be."""
    return " ".join(
        re.sub(r'([\\{}\[\]$";# \t])', r"\\\1", e).replace("\n", "\\n") or "{}" for e in elements
    )


def split(text: str) -> list[str]:
    """The elements of a list: braces, quotes and backslashes hold, nothing else is substituted."""
    found: list[str] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return found
        if text[at] == "{":
            element, at = braced(text, at)
        else:
            quoted = text[at] == '"'
            at += quoted
            parts: list[str] = []
            while at < len(text) and not (text[at] == '"' if quoted else text[at].isspace()):
                part, at = backslash(text, at) if text[at] == "\\" else (text[at], at + 1)
                parts.append(part)
            element, at = "".join(parts), at + quoted
        found.append(element)


def main(arguments: list[str]) -> int:
    """Run the script named first; 1 where Tcl would refuse it."""
    try:
        Interpreter(arguments[1:]).run(Path(arguments[0]).read_text(encoding="utf-8"))
    except TclError as error:
        sys.stdout.flush()
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
