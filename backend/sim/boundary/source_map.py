"""The map from names in the Verilog back to Python source."""

from __future__ import annotations

import re

from allo.backend.rtl.design import HardwareDesign

_MODULE = re.compile(r"^module\s+([A-Za-z_][\w$]*)\b(.*?)^endmodule", re.M | re.S)
_NAME = re.compile(r"[A-Za-z_][\w$]*")


def source_map(design: HardwareDesign) -> dict[str, dict[str, str]]:
    """By module and name, what a signal is; names that the Verilog does not hold are left out.

    The compiler names more than is left once CIRCT has removed what nothing reads.
    """
    found = {}
    for match in _MODULE.finditer(design.verilog):
        names = set(_NAME.findall(match[2]))
        known = design.debug.get(match[1], {})
        kept = {name: text for name, text in known.items() if name in names}
        if kept:
            found[match[1]] = kept
    return found
