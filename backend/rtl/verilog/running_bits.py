"""Whether a loop that waits for streams runs is a register, not a table behind two of them.

The bit that a loop's first iteration may go, and the one that another follows, are registers; the steps
that wait for words and places begin with either of them. On ECP5 the registers can lie far from these
steps, beside the counter of the loop, and one path then goes there and back in a cycle. A register that
holds the same as the table gives, in the same cycle, can lie at the steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from allo.backend.devices import family

_NAME = r"%[\w$.#-]+"
_EITHER = re.compile(rf"^  ({_NAME}) = comb\.or ({_NAME}), ({_NAME}) : i1(.*)$")
_REGISTER = re.compile(
    rf"^  ({_NAME}) = seq\.compreg(?:\.ce)? ({_NAME}), %clk(?:, ({_NAME}))? reset %rst, ({_NAME}) : i1"
)
_WAITS = re.compile(r"^  %\w+_b\d+(?:_\d+)?_passed = seq\.compreg .* : i1\b", re.MULTILINE)
"""Of a stream operation in front of a loop or in a step: that it has passed, and others have not."""


def running_bits(text: str, device: str) -> str:
    """A design in which such a bit is a register; the text as it is for other families."""
    if not family(device).netlist.running_bits or "_passed = seq.compreg" not in text:
        return text
    return "\n".join(
        "\n".join(_rewritten(lines)) if _WAITS.search("\n".join(lines)) else "\n".join(lines)
        for lines in _modules(text)
    )


def _modules(text: str) -> Iterator[list[str]]:
    """The lines of a text, those of a module together."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("hw.module") and lines:
            yield lines
            lines = []
        lines.append(line)
    yield lines


def _rewritten(lines: list[str]) -> list[str]:
    found = (_REGISTER.match(line) for line in lines if "seq.compreg" in line)
    registers = {register[1]: register for register in found if register is not None}
    made: list[str] = []
    for line in lines:
        either = _EITHER.match(line) if " = comb.or " in line else None
        sides = [registers.get(either[k]) for k in (2, 3)] if either is not None else []
        a, b = sides or (None, None)
        if either is None or a is None or b is None or a[4] != b[4]:
            made.append(line)
            continue
        name, rest = either[1], either[4]
        following = []
        for letter, register in zip("ab", (a, b), strict=True):
            value = register[2]
            if register[3]:
                value = f"%{letter}.{name[1:]}"
                made.append(
                    f"  {value} = comb.mux {register[3]}, {register[2]}, {register[1]} : i1{rest}"
                )
            following.append(value)
        made += [
            f"  %n.{name[1:]} = comb.or {', '.join(following)} : i1{rest}",
            f"  {name} = seq.compreg %n.{name[1:]}, %clk reset %rst, {a[4]} : i1{rest}",
        ]
    return made
