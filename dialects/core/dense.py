"""The elements of dense attributes: constant arrays of any integer width or float format.

MLIR writes short arrays as numbers and long ones as bytes; the text is read here and nowhere else.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

import numpy as np

from .._mlir import ir
from .integers import as_signed

_BODY = re.compile(r"dense<(.*)>\s*:", re.DOTALL)
_NUMBER = re.compile(r"true|false|0x[0-9A-Fa-f]+|-?[0-9][0-9.eE+-]*")
_FLOATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
_INDEX_BITS = 64


def dense_values(attribute: ir.Attribute, element: ir.Type, count: int) -> list[int | float]:
    """The row-major values of a dense attribute; integers of more than one bit are signed."""
    words = dense_words(attribute, element, count)
    width = _width(element)
    if isinstance(element, (ir.IntegerType, ir.IndexType)):
        return list(words) if width == 1 else [as_signed(word, width) for word in words]
    if isinstance(element, ir.BF16Type):
        return [float_of(word << 16, 32) for word in words]
    return [float_of(word, width) for word in words]


def dense_words(attribute: ir.Attribute, element: ir.Type, count: int) -> list[int]:
    """The row-major elements of a dense attribute as unsigned bit patterns."""
    match = _BODY.match(str(attribute))
    if match is None:
        raise ValueError(f"not a dense attribute: {attribute}")
    if match[1].startswith('"0x'):
        words = _of_bytes(bytes.fromhex(match[1][3:-1]), _width(element))
    else:
        words = [_bits(token, element) for token in _NUMBER.findall(match[1])]
    return words * count if len(words) == 1 else words


def _of_bytes(raw: bytes, width: int) -> list[int]:
    """Elements lie in whole bytes, the lowest first."""
    size, mask = -(-width // 8), (1 << width) - 1
    if size in (1, 2, 4, 8):
        return [word & mask for word in np.frombuffer(raw, f"<u{size}").tolist()]
    starts = range(0, len(raw), size)
    return [int.from_bytes(raw[k : k + size], "little") & mask for k in starts]


def _bits(token: str, element: ir.Type) -> int:
    if token in ("true", "false"):
        return int(token == "true")
    if token.startswith("0x"):
        return int(token, 16)
    if isinstance(element, (ir.IntegerType, ir.IndexType)):
        return int(token) & ((1 << _width(element)) - 1)
    if isinstance(element, ir.BF16Type):  # the text has as many digits as bf16 needs: it is rounded
        single = float_bits(float(token), 32)
        return (single + 0x7FFF + (single >> 16 & 1)) >> 16
    return float_bits(float(token), _width(element))


def _width(element: ir.Type) -> int:
    return _INDEX_BITS if isinstance(element, ir.IndexType) else int(element.width)


def float_bits(value: float, width: int) -> int:
    """The bits of a float of 16, 32 or 64 bits."""
    code, integer = _FLOATS[width]
    return int(struct.unpack(integer, struct.pack(code, value))[0])


def constant_bits(number: ir.FloatAttr) -> int:
    """The bits of a float constant."""
    return _bits(str(number).split(" ")[0], number.type)


def float_of(word: int, width: int) -> float:
    """The float of 16, 32 or 64 bits with these bits."""
    code, integer = _FLOATS[width]
    return float(struct.unpack(code, struct.pack(integer, word))[0])


def number_text(word: int, element: ir.Type) -> str:
    """An element as MLIR writes it; a float by its bits, which keeps infinities and NaN."""
    if not isinstance(element, (ir.IntegerType, ir.IndexType)):
        return f"0x{word:0{element.width // 4}X}"
    width = 64 if isinstance(element, ir.IndexType) else element.width
    return ("false", "true")[word] if width == 1 else str(as_signed(word, width))


def nested_text(flat: Sequence[str], shape: Sequence[int]) -> str:
    """Elements in row-major order as the nested lists of a shape."""
    if not shape:
        return flat[0]
    size = len(flat) // shape[0]
    parts = [nested_text(flat[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]
    return f"[{', '.join(parts)}]"
