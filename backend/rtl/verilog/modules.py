"""Verilog text cut into its modules."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MODULE = re.compile(r"^module ([A-Za-z_][\w$]*)\b.*?^endmodule$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class VerilogModule:
    """One module: its name, and its text from ``module`` to ``endmodule``."""

    name: str
    text: str


def split_modules(text: str) -> list[VerilogModule]:
    """The modules of a text, in order."""
    return [VerilogModule(found[1], found[0]) for found in _MODULE.finditer(text)]


def module_files(text: str) -> dict[str, str]:
    """A file for each module of a design, by the name of the file, with the head of the design in each."""
    head = text.partition("\n\nmodule ")[0]
    return {f"{m.name}.sv": f"{head}\n\n{m.text}\n" for m in split_modules(text)}
