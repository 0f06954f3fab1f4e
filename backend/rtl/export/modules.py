"""Verilog text cut into its modules."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEAD = re.compile(r"^module ([A-Za-z_][\w$]*)\b", re.M)
_END = re.compile(r"\nendmodule$", re.M)


@dataclass(frozen=True, slots=True)
class VerilogModule:
    """One module: its name, and its text from ``module`` to ``endmodule``."""

    name: str
    text: str


def split_modules(text: str) -> list[VerilogModule]:
    """The modules of a text, in order."""
    found, start = [], 0
    while (head := _HEAD.search(text, start)) and (end := _END.search(text, head.end())):
        start = end.end()
        found.append(VerilogModule(head[1], text[head.start() : start]))
    return found


def module_files(text: str) -> dict[str, str]:
    """A file for each module of a design, by the name of the file, with the head of the design in each."""
    head = text.partition("\n\nmodule ")[0]
    return {f"{m.name}.sv": f"{head}\n\n{m.text}\n" for m in split_modules(text)}
