"""Comparisons of signed numbers as those of unsigned ones, for families whose carry chains give no sign.

Yosys makes a comparison of signed numbers of the sign of their difference and its overflow. On ECP5 this is
logic of several inputs, and each multiplexer that the comparison chooses by takes that logic into a table of
seven inputs, which is eight of four: 952 tables for two exchanges of 32 bits in place of 128. With both sign
bits inverted, the carry at the end of the chain is the answer.
"""

from __future__ import annotations

import re

from allo.backend.devices import family

from ..operators.hw_text import constant_text

_SIGNED = re.compile(
    r"^  (%[\w$.#-]+) = comb\.icmp s(lt|gt|le|ge) (%[\w$.#-]+), (%[\w$.#-]+) : i(\d+)(.*)$"
)
_CONSTANT = re.compile(r"^  (%[\w$.#-]+) = hw\.constant (\S+) : i\d+")


def offset_comparisons(text: str, device: str) -> str:
    """A design whose signed comparisons are unsigned ones of operands with inverted sign bits.

    Comparisons with zero stay: they are the sign bit. So does the text for families that need none of this.
    """
    if not family(device).netlist.offset_comparisons:
        return text
    lines: list[str] = []
    constants: dict[str, int] = {}
    for line in text.split("\n"):
        if line.startswith("hw.module"):
            constants = {}
        found = _CONSTANT.match(line)
        if found is not None:
            constants[found[1]] = int(found[2], 0)
        found = _SIGNED.match(line)
        if found is None or 0 in (constants.get(found[3]), constants.get(found[4])):
            lines.append(line)
            continue
        lines += _unsigned(found, constants)
    return "\n".join(lines)


def _unsigned(found: re.Match[str], constants: dict[str, int]) -> list[str]:
    result, kind, *operands, bits, rest = found.groups()
    width = int(bits)
    sign = 1 << width - 1
    made, names = [], []
    for letter, operand in zip("ab", operands, strict=True):
        name = f"%${letter}.{result[1:]}"
        known = constants.get(operand)
        if known is not None:
            made.append(
                f"  {name} = hw.constant {constant_text(known ^ sign, width)} : i{width}{rest}"
            )
        else:
            made += [
                f"  {name}.sign = hw.constant {constant_text(sign, width)} : i{width}{rest}",
                f"  {name} = comb.xor {operand}, {name}.sign : i{width}{rest}",
            ]
        names.append(name)
    return [*made, f"  {result} = comb.icmp u{kind} {names[0]}, {names[1]} : i{width}{rest}"]
