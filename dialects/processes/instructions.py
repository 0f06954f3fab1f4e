"""The instructions that machine code made in this process may have."""

from __future__ import annotations

import functools
from pathlib import Path

from .._mlir import ir

_CPUINFO = Path("/proc/cpuinfo")
_UNWANTED = "sse4a"
"""AMD's instructions that take bits out of a vector register and put bits in. They have no form of AVX, and
LLVM shuffles bytes with them among instructions of AVX. Where a processor, or a machine that stands for one,
pays for each change between the two, such an instruction takes as long as a hundred others."""

_SECOND = frozenset("cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3".split())
_THIRD = _SECOND | frozenset("abm avx avx2 bmi1 bmi2 f16c fma movbe".split())
_LEVELS = (
    ("x86-64-v4", _THIRD | frozenset(f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl"))),
    ("x86-64-v3", _THIRD),
)
"""Levels of the x86-64 psABI, and the flags of Linux that a processor of each has."""


def level_of(flags: frozenset[str]) -> str | None:
    """The level that code is made for in place of the processor; None where LLVM's own choice is right."""
    if _UNWANTED not in flags:
        return None
    return next((level for level, needed in _LEVELS if needed <= flags), None)


def choose_instructions(module: ir.Module) -> None:
    """Keep instructions that LLVM would choose, and should not, out of the functions of a module."""
    level = level_of(_flags())
    if level is None:
        return
    processor = ir.StringAttr.get(level)
    features = ir.Attribute.parse(f'#llvm.target_features<["-{_UNWANTED}"]>')
    for op in module.body.operations:
        if op.operation.name == "llvm.func":
            op.attributes["target_cpu"] = processor
            op.attributes["target_features"] = features


@functools.cache
def _flags() -> frozenset[str]:
    """What Linux says that the processor has; nothing elsewhere."""
    try:
        lines = _CPUINFO.read_text().splitlines()
    except OSError:
        return frozenset()
    found = (line.partition(":")[2].split() for line in lines if line.startswith("flags"))
    return frozenset(next(found, []))
