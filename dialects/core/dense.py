"""The values of dense attributes: constant arrays of any integer width or float format."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from .._mlir import ir
from .integers import as_signed


def dense_values(attribute: ir.Attribute, element: ir.Type, count: int) -> list[int | float]:
    """The row-major values of a dense attribute, of any integer width or float format."""
    if isinstance(element, ir.IntegerType) and element.width not in (1, 8, 16, 32, 64):
        return _odd_width(attribute, element.width, count)
    if isinstance(element, (ir.IntegerType, ir.IndexType)):
        dense = ir.DenseIntElementsAttr(attribute)
        if dense.is_splat:
            return [int(dense.get_splat_value().value)] * count
        return [int(v) for v in dense]
    dense = ir.DenseFPElementsAttr(attribute)
    if dense.is_splat:
        return [float(dense.get_splat_value().value)] * count
    if isinstance(element, ir.BF16Type):
        return _bfloats(attribute, count)
    return [float(v) for v in np.array(dense).reshape(-1)]


def _odd_width(attribute: ir.Attribute, width: int, count: int) -> list[int | float]:
    body = _body(attribute)
    if body.startswith('"0x'):
        size = -(-width // 8)
        raw = bytes.fromhex(body[3:-1])
        words = [raw[k : k + size] for k in range(0, len(raw), size)]
        values: list[int | float] = [as_signed(int.from_bytes(w, "little"), width) for w in words]
    else:
        values = [*_flatten(ast.literal_eval(body))]
    return list(values) * count if len(values) == 1 else list(values)


def _bfloats(attribute: ir.Attribute, count: int) -> list[int | float]:
    body = _body(attribute)
    if body.startswith('"0x'):
        raw = np.frombuffer(bytes.fromhex(body[3:-1]), dtype="<u2").astype(np.uint32)
        return [float(v) for v in (raw << 16).view(np.float32)]
    values = [float(v) for v in re.findall(r"[-+0-9.eE]+", body)]
    return values * count if len(values) == 1 else values


def _body(attribute: ir.Attribute) -> str:
    match = re.match(r"dense<(.*)>\s*:", str(attribute), re.DOTALL)
    if match is None:
        raise ValueError(f"not a dense attribute: {attribute}")
    return match[1]


def _flatten(value: Any) -> list[int]:
    if not isinstance(value, list):
        return [int(value)]
    return [leaf for part in value for leaf in _flatten(part)]
