"""How often each module is in a design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from allo.backend.rtl.netlist.instance_counts import instance_counts

LEVELS = 60


@dataclass(frozen=True)
class Holder:
    instances: Mapping[str, int]


def test_modules_that_are_inside_several_others_are_looked_at_once() -> None:
    """Along every path from the top there are 2 to the power of 60 of the last level."""
    modules = {"top": Holder({"a0": 1, "b0": 2, "outside": 1}), "elsewhere": Holder({"a0": 5})}
    for level in range(LEVELS):
        inner = {f"a{level + 1}": 1, f"b{level + 1}": 1} if level + 1 < LEVELS else {}
        modules |= {f"a{level}": Holder(inner), f"b{level}": Holder(inner)}
    counts = instance_counts(modules, "top")
    assert counts["top"] == counts["a0"] == 1 and counts["b0"] == 2
    assert counts[f"a{LEVELS - 1}"] == counts[f"b{LEVELS - 1}"] == 3 * 2 ** (LEVELS - 2)
    assert "outside" not in counts and "elsewhere" not in counts
