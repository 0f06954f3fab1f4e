"""The layers of graphs of levels (QONNX): products of signs with their thresholds, and pools."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from allo.dialects.diagnostics import UnsupportedOperatorError

from ..graph import Operator

PRODUCTS = ("levels.conv2d", "levels.matmul")
POOL = "aten.max_pool2d.default"
TABLE = "levels.table"


def refused(op: Operator, why: str, help: str) -> UnsupportedOperatorError:
    """The error for a form of a layer that no streaming unit has."""
    return UnsupportedOperatorError(
        f"Operator {op.name} ({op.target}) {why}, and no streaming layer does so.",
        op.place,
        help=help,
    )


def product(reading: Any, op: Operator, following: Operator | None) -> Any:
    """A product of signs, and the thresholds behind it where they are its only reader.

    Args:
        reading: the :class:`~allo.models.streams.reading.Reading` of the graph.
        op: the product.
        following: the thresholds; None where the sums are the result.
    """
    args = op.args
    is_matrix = op.target == "levels.matmul"
    source = reading.meta(args["self" if is_matrix else "input"])
    weight = np.asarray(reading.array(args["other" if is_matrix else "weight"]))
    takes_bits = source.dtype == "uint1"
    if not (args.get("agreeing") or args.get("signs")) or source.dtype not in ("uint1", "int8"):
        raise refused(
            op,
            f"multiplies {source.dtype} by weights of more than a sign",
            "weights of BipolarQuant, and inputs of BipolarQuant or int8.",
        )
    name = op.name if following is None else following.name
    reads = (reading.named(args["self" if is_matrix else "input"]),)
    if is_matrix:
        rows, places, shape = weight.T, 1, None
        rows = _by_pixels(rows, reading.images.get(reads[0]))
    else:
        if args["groups"] != 1 or any(d != 1 for d in args["dilation"]) or any(args["padding"]):
            raise refused(
                op,
                "has groups, dilation or padding",
                "windows of all channels inside the image: padding of signs would be a third level.",
            )
        target = reading.meta_of(op)
        rows = weight.transpose(0, 2, 3, 1).reshape(len(weight), -1)
        places = prod(target.shape[2:])
        shape = reading.library.Window(
            (*source.shape[2:], source.shape[1]),
            tuple(target.shape[2:]),
            tuple(weight.shape[2:]),
            tuple(args["stride"]),
        )
        shape = None if places == 1 and shape.kernel == shape.image[:2] else shape
    limits, falling = None, None
    if following is not None:
        limits, falling = _limits(reading, following, rows, takes_bits, args)
    elif takes_bits and not args.get("agreeing"):
        raise refused(op, "gives sums as the result", "a quantiser behind it, or a matrix product.")
    return reading.library.Signs(
        name, reads, rows, places, limits, falling, shape, takes_bits=takes_bits
    )


def _limits(
    reading: Any, op: Operator, rows: Any, takes_bits: bool, product_of: Any
) -> tuple[Any, Any]:
    """Thresholds of each row, of counts of bits that agree where sums are ones of signs."""
    if op.args["count"] != 1:
        raise refused(
            op,
            f"gives {op.args['count'] + 1} levels",
            "activations of BipolarQuant; samples= and s.dataflow put other layers side by side.",
        )
    table = np.asarray(reading.array(op.args["table"]), np.int64)
    limits = np.broadcast_to(table.reshape(-1), (len(rows),))
    if takes_bits and not product_of.get("agreeing"):
        limits = -(-(limits + rows.shape[1]) // 2)  # 2 · agree - all ≥ limit
    falling = op.args.get("falling")
    turned = None if falling is None else np.asarray(reading.array(falling)).reshape(-1)
    return limits, turned


def _by_pixels(rows: Any, image: tuple[int, ...] | None) -> Any:
    """Columns of channels, rows and columns of an image in the order in which its pixels come."""
    if image is None or prod(image[1:]) == 1:
        return rows
    parts = rows.reshape(len(rows), *image)
    return parts.transpose(0, 2, 3, 1).reshape(len(rows), -1)


def pool(reading: Any, op: Operator) -> Any:
    """A pool whose windows lie inside the image."""
    args = op.args
    source, target = reading.meta(args["self"]), reading.meta_of(op)
    if any(args["padding"]) or args["ceil_mode"] or any(d != 1 for d in args["dilation"]):
        raise refused(op, "has padding, dilation or ceil_mode", "windows inside the image.")
    if source.dtype not in ("uint1", "int8"):
        raise refused(op, f"takes {source.dtype}", "elements of uint1 or int8.")
    shape = reading.library.Window(
        (*source.shape[2:], source.shape[1]),
        tuple(target.shape[2:]),
        tuple(args["kernel_size"]),
        tuple(args["stride"] or args["kernel_size"]),
    )
    bits = 1 if source.dtype == "uint1" else 8
    return reading.library.Largest(op.name, (reading.named(args["self"]),), shape, bits)
