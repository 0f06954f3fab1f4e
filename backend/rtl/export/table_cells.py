"""Tables of as many inputs as a lookup table has, told to synthesis as its cell.

A table is ``words >> address``, of which the lowest bit is read. Yosys's ABC takes a network of such tables
apart and covers it anew, with as few levels as it can and with small tables, which it counts as cheaper: it
makes a third more of them. Each was made to be one table of the device. A family that knows the cell
(:attr:`Cells.table_cell`) has it for synthesis, and the word that is chosen for simulation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from allo.backend.devices import Cells

_WORDS = re.compile(r"\n  wire \[(\d+):0\] (\w+) =\s+\d+'h([0-9A-Fa-f]+) >>\s+([^;]+);")
_FIELD = re.compile(r"\w+\[(\d+):(\d+)\]")
_WIDENED = re.compile(r"\{(\d+)'h0,\s*(.*)\}", re.DOTALL)
_NAME = re.compile(r"\w+")


def table_module(cells: Cells) -> str:
    """The module of a table: the cell for synthesis, what it does for simulation; "" where none is known."""
    if not cells.table_cell:
        return ""
    bits = 1 << cells.inputs
    return "\n".join(
        [
            f"module {_module(cells)} #(",
            f"  parameter [{bits - 1}:0] WORDS = {bits}'h0",
            ") (",
            f"  input  [{cells.inputs - 1}:0] a,",
            "  output       y",
            ");",
            "",
            "`ifdef SYNTHESIS",
            f"  {cells.table_cell}",
            "`else",
            "  assign y = WORDS[a];",
            "`endif",
            "endmodule",
        ]
    )


def table_modules(texts: Sequence[str], cells: Cells) -> list[str]:
    """The module of tables, where one of the texts has an instance of it."""
    used = bool(cells.table_cell) and any(f"  {_module(cells)} #(" in text for text in texts)
    return [table_module(cells)] if used else []


def with_tables(module: str, cells: Cells) -> str:
    """The text of a module with its tables of all inputs as instances."""
    if not cells.table_cell or " >>" not in module:
        return module
    read = Counter(_NAME.findall(module))
    lowest = Counter(re.findall(r"\b(\w+)\[0\]", module))
    wires = dict(re.findall(r"\n  wire \[\d+:0\] (\w+) =\s+([^;]+);", module))
    made: set[str] = set()

    def instance(match: re.Match[str]) -> str:
        name, address = match[2], _address(match[4], wires, cells.inputs)
        fits = int(match[1]) + 1 == 1 << cells.inputs and read[name] == lowest[name] + 1
        if not fits or not address:
            return match[0]
        made.add(name)
        return (
            f"\n  wire {name};"
            f"\n  {_module(cells)} #(.WORDS({int(match[1]) + 1}'h{match[3]})) {name}_table"
            f" (.a({address}), .y({name}));"
        )

    text = _WORDS.sub(instance, module)
    return re.sub(r"\b(\w+)\[0\]", lambda m: m[1] if m[1] in made else m[0], text)


def _module(cells: Cells) -> str:
    return f"allo_table_{cells.inputs}"


def _address(text: str, wires: dict[str, str], inputs: int) -> str:
    """The bits of a place among the words, where it is known to be one; else ""."""
    field = _FIELD.fullmatch(text)
    if field is not None:
        return text if int(field[1]) - int(field[2]) + 1 == inputs else ""
    widened = _WIDENED.fullmatch(wires.get(text, text))
    if widened is None or int(widened[1]) != (1 << inputs) - inputs:
        return ""
    return f"{text}[{inputs - 1}:0]" if text in wires else f"{{{widened[2]}}}"
