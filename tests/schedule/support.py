"""Helpers of the schedule tests: kernels as MLIR text, golden files, texts."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from allo.schedule import Schedule

DATA = Path(__file__).parent / "data"
GOLDEN = Path(__file__).parent / "golden"


def kernel(name: str, top: str | None = None) -> Schedule:
    """A schedule of ``data/<name>.mlir``."""
    return Schedule.from_text((DATA / f"{name}.mlir").read_text(), top)


def short(source: str, top: str | None = None) -> Schedule:
    """A schedule of core IR written in short, without declared types and names of accesses."""
    source = re.sub(r"\.load %(\w+)(\[[^\]]*\]) :", r'.load %\1\2 {from = "\1"} :', source)
    source = re.sub(
        r"\.store (%\w+), %(\w+)(\[[^\]]*\]) :", r'.store \1, %\2\3 {to = "\2"} :', source
    )
    source = re.sub(r"\((.*)\) attributes \{arg_names = (\[[^\]]*\])\}", _declared, source)
    return Schedule.from_text(source, top)


def _declared(match: re.Match[str]) -> str:
    types = re.findall(r"%\w+: (?:memref<(?:\d+x)*(\w+)>|(\w+))", match[1])
    names = ", ".join(f'"{array or scalar}"' for array, scalar in types)
    return (
        f"({match[1]}) attributes {{arg_names = {match[2]}, arg_types = [{names}], "
        f'itypes = "{"s" * len(types)}", otypes = "", res_types = []}}'
    )


def text(s: Schedule) -> str:
    return str(s.module)


def full_text(s: Schedule) -> str:
    """The module with locations: what must not change when a primitive fails."""
    with s.context:
        return s.module.operation.get_asm(enable_debug_info=True)


def check_golden(s: Schedule, name: str) -> None:
    """Compare the module with ``golden/<name>.mlir``; set ALLO_UPDATE_GOLDEN=1 to rewrite it."""
    assert s.module.operation.verify()
    assert "loc(unknown)" not in located_operations(s)
    path = GOLDEN / f"{name}.mlir"
    if os.environ.get("ALLO_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text(s))
    assert path.exists(), f"no golden file {path}; run once with ALLO_UPDATE_GOLDEN=1"
    assert text(s) == path.read_text()


def located_operations(s: Schedule) -> str:
    """Locations of all operations, one a line."""
    lines: list[str] = []
    with s.context:
        s.module.operation.walk(lambda op: _note(op, lines))
    return "\n".join(lines)


def _note(op, lines):
    from allo.dialects._mlir import ir

    location = str(op.operation.location)
    if op.operation.name not in ("affine.yield", "scf.yield", "linalg.yield", "builtin.module"):
        lines.append(f"{op.operation.name} {location}")
    return ir.WalkResult.ADVANCE


def loops(s: Schedule, func: str | None = None) -> list[str]:
    """Loop names of a function, band by band."""
    return [n for _, band in s.get_loops(func) for n in band.loops]


def count(s: Schedule, pattern: str) -> int:
    return len(re.findall(pattern, text(s)))


def refused(s, error, pattern, action):
    """The action raises, its whole text matches, and the module is text-identical after it."""
    before, recorded = full_text(s), len(s.primitive_sequences)
    with pytest.raises(error) as caught:
        action()
    assert re.search(pattern, str(caught.value), re.DOTALL), str(caught.value)
    assert full_text(s) == before
    assert len(s.primitive_sequences) == recorded
    return caught.value
