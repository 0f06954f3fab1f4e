"""The class of a verilated model without its references to the ports.

Each port of the top module is a member of the root instance, and a reference to it one of the model's class.
Compilers take long for a class of thousands of references: at 13,000 ports ``g++`` reads it for 4.5 s in each
unit, because it compares the names of its members with each other. Nothing of ours uses the references.
"""

from __future__ import annotations

import re
from pathlib import Path

_REFERENCE = re.compile(
    r"^ *VL_(?:IN|OUT|INOUT)\w*\(\(?&(?P<port>\w+)\)?[^;\n]*\);\n", re.MULTILINE
)
_BINDING = re.compile(r"^ *, (?P<port>\w+)\{vlSymsp->TOP\.(?P=port)\}\n", re.MULTILINE)


def drop_port_references(folder: Path, prefix: str) -> None:
    """Remove the references to ports from the class ``prefix`` in a folder of Verilator's output.

    Where another version of Verilator writes them in another form, the files stay as they are.
    """
    header, source = folder / f"{prefix}.h", folder / f"{prefix}.cpp"
    declared, defined = header.read_text(), source.read_text()
    ports = {found["port"] for found in _REFERENCE.finditer(declared)}
    bound = {found["port"] for found in _BINDING.finditer(defined)}
    if not ports or not ports <= bound:
        return
    header.write_text(_REFERENCE.sub("", declared))
    source.write_text(_BINDING.sub(lambda m: "" if m["port"] in ports else m[0], defined))
