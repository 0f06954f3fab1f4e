"""Makes a failing program smaller while it goes on failing in the same way."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Callable
from pathlib import Path

from .edits import edited, edits
from .generator.program import Program
from .runner.clock import now
from .runner.pool import Pool
from .runner.verdict import CRASH, ERROR, TIMEOUT, Verdict

FOUND = Path(__file__).parent / "found"


class Shrinker:
    """Tries edits one after the other on a pool of one worker, until none helps or time is up."""

    def __init__(self, pool: Pool, first: Verdict, targets: list[str], *, minutes: float) -> None:
        self._pool = pool
        self._first = first
        self._targets = targets
        self._until = now() + 60 * minutes
        self.tried = 0

    def run(self, program: Program) -> Program:
        """The smallest failing program found."""
        program = self._without_steps(program)
        if program.runs > 1:
            single = copy.copy(program)
            single.runs = 1
            program = self._kept(single, program)
        changed = True
        while changed and now() < self._until:
            changed = False
            for number in range(6):
                smaller = self._pass(program, number)
                changed |= smaller is not program
                program = smaller
        return program

    def _pass(self, program: Program, number: int) -> Program:
        """All edits of a pass; after one that helped the later ones are made anew."""
        position = 0
        while now() < self._until:
            options = list(edits(program))[number]
            if position >= len(options):
                return program
            made = edited(program, options[position])
            if made is not None and self._fails(made):
                program = made
                if number in (3, 4, 5):
                    continue
            else:
                position += 1
        return program

    def _without_steps(self, program: Program) -> Program:
        if not program.steps:
            return program
        none = copy.copy(program)
        none.steps = []
        if self._fails(none):
            return none
        for position in reversed(range(len(program.steps))):
            fewer = copy.copy(program)
            fewer.steps = [s for k, s in enumerate(program.steps or []) if k != position]
            program = self._kept(fewer, program)
        return program

    def _kept(self, made: Program, program: Program) -> Program:
        return made if self._fails(made) else program

    def _fails(self, program: Program) -> bool:
        """Whether a program fails as the first one did."""
        self.tried += 1
        try:
            ast.parse(program.source)
        except SyntaxError:
            return False
        job = {"program": json.loads(program.to_json()), "targets": self._targets}
        verdict = next(v for _, v in self._pool.run([job]))
        return alike(verdict, self._first)


def alike(verdict: Verdict, first: Verdict) -> bool:
    """Whether two failures are taken for one."""
    if verdict.status != first.status:
        return False
    if verdict.status in (CRASH, TIMEOUT):
        return True
    same = verdict.target == first.target and verdict.oracle == first.oracle
    return same and (verdict.status != ERROR or verdict.reason == first.reason)


def file_text(program: Program, verdict: Verdict) -> str:
    """The program as a file of ``tests/fuzz/found``."""
    about = json.loads(program.to_json())
    source = about.pop("source")
    about["steps"] = about["steps"] or []
    detail = verdict.detail.strip().splitlines()[0][:160] if verdict.detail else ""
    shown = "\n".join(f"#     {step}" for step in program.steps or [])
    lines = [
        f'"""Found by scripts/fuzz, seed {program.seed}: {verdict.signature[:90]}.',
        "",
        detail.replace("\\", "/").replace('"""', "'''"),
        '"""',
        "",
        "# Schedule:" if shown else "",
        shown,
        "PROGRAM = " + _literal(about),
        "",
        "SOURCE = '''",
        source.strip().replace("\\", "\\\\"),
        "'''",
        "",
    ]
    return "\n".join(line for line in lines if line is not None)


def _literal(about: dict[str, object]) -> str:
    text = json.dumps(about, indent=4)
    for old, new in ((": null", ": None"), (": true", ": True"), (": false", ": False")):
        text = text.replace(old, new)
    return text


def keep(program: Program, verdict: Verdict, write: Callable[[str], None]) -> Path:
    """Write a program into ``tests/fuzz/found``, where a test replays it."""
    FOUND.mkdir(exist_ok=True)
    file = FOUND / f"seed_{program.seed}.py"
    file.write_text(file_text(program, verdict))
    write(f"kept as {file}")
    return file
