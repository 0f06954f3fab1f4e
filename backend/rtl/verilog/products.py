"""Products by a constant without the zeros at its end, which then stand below the product.

Yosys takes such zeros off before it looks for operands that are extended by their sign, and no longer sees
that one is: a product of 16 bits by 0x5AA took two multiplier blocks in place of one, on every family.
"""

from __future__ import annotations

import re

from ..operators.hw_text import constant_text

_PRODUCT = re.compile(r"^  (%[\w$.#-]+) = comb\.mul (%[\w$.#-]+), (%[\w$.#-]+) : i(\d+)(.*)$")
_CONSTANT = re.compile(r"^  (%[\w$.#-]+) = hw\.constant (-?\w+) : i(\d+)")
_EXTRACT = re.compile(
    r"^  (%[\w$.#-]+) = comb\.extract (%[\w$.#-]+) from (\d+) : \(i\d+\) -> i(\d+)"
)
_CONCAT = re.compile(r"^  (%[\w$.#-]+) = comb\.concat ([^:]+) : i\d+(?:, i\d+)*")

Known = dict[str, tuple[int, int]]
"""Constants of a module by name: the number, and its bits."""


def shifted_products(text: str) -> str:
    """A design in which no product has a constant operand that ends in zeros."""
    if "comb.mul" not in text:
        return text
    lines: list[str] = []
    known: Known = {}
    for line in text.split("\n"):
        if line.startswith("hw.module"):
            known = {}
        found = None
        if "comb.mul " in line:
            found = _PRODUCT.match(line)
        else:
            _learn(line, known)
        lines += _without_zeros(found, known) if found is not None else [line]
    return "\n".join(lines)


def _learn(line: str, known: Known) -> None:
    """Keep what a line says of a constant, whole or in parts."""
    if " = hw.constant " in line and (found := _CONSTANT.match(line)):
        bits = int(found[3])
        known[found[1]] = int(found[2], 0) % (1 << bits), bits
    elif " = comb.extract " in line and (found := _EXTRACT.match(line)):
        if found[2] in known:
            bits = int(found[4])
            known[found[1]] = (known[found[2]][0] >> int(found[3])) % (1 << bits), bits
    elif " = comb.concat " in line and (found := _CONCAT.match(line)):
        parts = [known.get(name) for name in found[2].split(", ")]
        value, width = 0, 0
        for part in parts:
            if part is None:
                return
            value, width = value << part[1] | part[0], width + part[1]
        known[found[1]] = value, width


def _without_zeros(found: re.Match[str], known: Known) -> list[str]:
    result, a, b, bits, rest = found.groups()
    other, factor = (b, known[a][0]) if a in known else (a, known.get(b, (0, 0))[0])
    zeros = (factor & -factor).bit_length() - 1
    if zeros < 1 or factor.bit_count() == 1:
        return [found[0]]
    width = int(bits) - zeros
    low, digits, product, below = (f"%${letter}.{result[1:]}" for letter in "lkpz")
    return [
        f"  {low} = comb.extract {other} from 0 : (i{bits}) -> i{width}{rest}",
        f"  {digits} = hw.constant {constant_text(factor >> zeros, width)} : i{width}{rest}",
        f"  {product} = comb.mul {low}, {digits} : i{width}{rest}",
        f"  {below} = hw.constant 0 : i{zeros}{rest}",
        f"  {result} = comb.concat {product}, {below} : i{width}, i{zeros}{rest}",
    ]
