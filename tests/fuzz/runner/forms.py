"""Forms in which a program reaches the compiler: as a copy of its schedule, or from a file that was edited.

A copy is taken in the middle of the schedule, and both are scheduled further: neither may change with the
other, and what the copy gives is right by the same reference. What is refused, as the pickle of a schedule or
a kernel whose text is no longer what was imported, is refused by name.
"""

from __future__ import annotations

import ast
import copy
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from allo.errors import AlloError, BuildError, FrontendError, ScheduleError

from ..generator.program import Program

LAST_POSITION = 3
"""A copy is taken behind so many steps at most, or behind the last one."""


class Misbehaved(Exception):
    """A copy or an edited source did what it must not; the message says what."""


# --- copies -----------------------------------------------------------------------


class Fork:
    """A schedule and its copy, once it is taken.

    Attributes:
        other: the one of both that is not scheduled on as the program's; None before.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"{seed}/copy")
        self._position = self._rng.randint(0, LAST_POSITION)
        self._text = ""
        self.other: Any = None

    def step(self, schedule: Any, number: int, *, last: bool = False) -> Any:
        """The schedule to go on with behind ``number`` steps; this may be the moment to copy it."""
        if self.other is not None or not (last or number == self._position):
            return schedule
        made = self._rng.choice((copy.copy, copy.deepcopy))(schedule)
        self._text = str(schedule.module)
        if str(made.module) != self._text:
            raise Misbehaved("the copy of a schedule has another text")
        first, self.other = (made, schedule) if self._rng.random() < 0.5 else (schedule, made)
        return first

    def schedule_other(self, schedule: Any, apply: Callable[[Any, random.Random], None]) -> None:
        """Schedule the other one further by ``apply``; see that neither changes with the other."""
        if str(self.other.module) != self._text:
            raise Misbehaved("a schedule changed with its copy")
        before = str(schedule.module)
        for _ in range(self._rng.randint(0, 2)):
            apply(self.other, self._rng)
        if str(schedule.module) != before:
            raise Misbehaved("a schedule changed with its copy")
        _must_refuse(lambda: pickle.dumps(schedule), ScheduleError, "cannot be pickled")


def refuses_copies(module: Any) -> None:
    """See that a built module is neither copied nor pickled."""
    for made in (copy.copy, copy.deepcopy, pickle.dumps):
        _must_refuse(lambda made=made: made(module), BuildError, "neither copied nor pickled")  # type: ignore[misc]


def _must_refuse(call: Callable[[], Any], error: type[AlloError], words: str) -> None:
    try:
        call()
    except AlloError as refusal:
        if isinstance(refusal, error) and words in str(refusal):
            return
    raise Misbehaved(f"what must be refused ({words}) is not")


# --- edited sources ---------------------------------------------------------------


def edit_source(program: Program, space: dict[str, Any], customize: Callable[[], Any]) -> None:
    """Change the file that a program was imported from, and see that it is refused where it must be.

    Behind this the file says what the program in memory does.
    """
    file = Path(space["__file__"])
    if program.edited in HARMLESS:
        _write(file, HARMLESS[program.edited](program), 1)
        return
    text = REFUSED[program.edited](program) or _shifted(program)
    _write(file, text, 1)
    _must_refuse(customize, FrontendError, "changed after it was imported")
    _write(file, program.source, 2)


def _write(file: Path, text: str, seconds: int) -> None:
    """Write a text that was changed so many seconds behind the first one."""
    before = file.stat().st_mtime
    file.write_text(text)
    os.utime(file, (before + seconds, before + seconds))


def _top(program: Program) -> ast.FunctionDef:
    return next(
        node
        for node in ast.parse(program.source).body
        if isinstance(node, ast.FunctionDef) and node.name == program.top
    )


def _replaced(program: Program, node: ast.expr, text: str) -> str:
    """The source with another text in place of an expression on one line."""
    lines = program.source.splitlines(keepends=True)
    line = lines[node.lineno - 1].encode()
    made = line[: node.col_offset] + text.encode() + line[node.end_col_offset :]
    lines[node.lineno - 1] = made.decode()
    return "".join(lines)


def _shifted(program: Program) -> str:
    """A line more in front of the kernel."""
    lines = program.source.splitlines(keepends=True)
    top = _top(program)
    first = min([top.lineno, *(node.lineno for node in top.decorator_list)])
    return "".join([*lines[: first - 1], "# edited\n", *lines[first - 1 :]])


def _number(program: Program) -> str | None:
    """Another number in the body, where Python's code shows it."""
    top, rng = _top(program), random.Random(f"{program.seed}/edited")
    declared = {
        inner
        for node in ast.walk(top)
        if isinstance(node, ast.AnnAssign)
        for inner in ast.walk(node.annotation)
    }
    numbers = [
        node
        for statement in top.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant) and type(node.value) is int and node not in declared
    ]
    rng.shuffle(numbers)
    for node in numbers:
        made = _replaced(program, node, str(node.value + 1))  # type: ignore[operator]
        if _constants(made) != _constants(program.source):
            return made
    return None


def _constants(text: str) -> list[object]:
    """Code and constants of all functions of a text."""
    found: list[object] = []
    rest = [compile(text, "text", "exec", dont_inherit=True)]
    while rest:
        code = rest.pop(0)
        inner = [each for each in code.co_consts if isinstance(each, CodeType)]
        found.append((code.co_code, [repr(c) for c in code.co_consts if c not in inner]))
        rest += inner
    return found


def _declared(program: Program) -> str | None:
    """Another type of an argument."""
    for argument in _top(program).args.args:
        node = argument.annotation
        if not isinstance(node, ast.Subscript) or "Int" not in (kind := ast.unparse(node.value)):
            continue
        if kind.startswith(("Int(", "UInt(")):
            other = "Int(33)" if kind != "Int(33)" else "Int(34)"
            return _replaced(program, node.value, other)
    return None


def _local(program: Program) -> str | None:
    """Another type of a variable, of another length."""
    rng = random.Random(f"{program.seed}/edited")
    nodes = [
        node.annotation
        for node in ast.walk(_top(program))
        if isinstance(node, ast.AnnAssign) and node.value is not None
    ]
    if not nodes:
        return None
    chosen = rng.choice(nodes)
    return _replaced(program, chosen, "Int(33)" if _width(chosen) != len("Int(33)") else "index")


def _width(node: ast.expr) -> int:
    return (node.end_col_offset or 0) - node.col_offset


def _commented(program: Program) -> str:
    """A comment behind a line of the kernel."""
    lines = program.source.splitlines()
    top = _top(program)
    at = random.Random(f"{program.seed}/edited").randint(top.lineno, top.end_lineno or top.lineno)
    lines[at - 1] += "  # edited"
    return "\n".join(lines) + "\n"


REFUSED: dict[str, Callable[[Program], str | None]] = {
    "shifted": _shifted,
    "number": _number,
    "declared": _declared,
    "local": _local,
}
HARMLESS: dict[str, Callable[[Program], str]] = {
    "touched": lambda program: program.source,
    "commented": _commented,
    "appended": lambda program: f"{program.source}\n\ndef another():\n    return 1\n",
}
"""Changes that leave the kernel what it is."""
