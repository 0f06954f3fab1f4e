"""What files write in other words than qonnx: domains and rounding modes, in those of its executor."""

from __future__ import annotations

from typing import Any

from allo.dialects.diagnostics import UnsupportedOperatorError
from allo.dialects.text.near import did_you_mean

GENERAL = "qonnx.custom_op.general"
CUSTOM = frozenset(
    {
        "Quant",
        "IntQuant",
        "BipolarQuant",
        "Trunc",
        "FloatQuant",
        "MultiThreshold",
        "XnorPopcountMatMul",
        "Im2Col",
        "QuantAvgPool2d",
    }
)
"""The operators of qonnx; files name their domain as the tool that wrote them did."""

_DOMAINS = ("onnx.brevitas", "finn.custom_op.general", GENERAL)
_MODES = (
    "ROUND",
    "HALF_EVEN",
    "CEIL",
    "FLOOR",
    "UP",
    "DOWN",
    "HALF_UP",
    "HALF_DOWN",
)
_OTHER_MODES = {"ROUND_TO_ZERO": "DOWN", "TRUNC": "DOWN", "HALF_EVEN": "ROUND"}
"""Names that Brevitas and others have for rounding towards zero, and for halves to even."""


def respelled(wrapper: Any) -> None:
    """Change the nodes of a model, so that qonnx's executor knows their domains and rounding modes.

    Raises:
        UnsupportedOperatorError: a rounding mode that QONNX does not have.
    """
    for node in wrapper.graph.node:
        if node.op_type not in CUSTOM or node.domain not in _DOMAINS:
            continue
        node.domain = GENERAL
        for attribute in node.attribute:
            if attribute.name == "rounding_mode":
                mode = attribute.s.decode().upper()
                attribute.s = _mode(node, mode).encode()


def _mode(node: Any, mode: str) -> str:
    if mode in _MODES or mode in _OTHER_MODES:
        return _OTHER_MODES.get(mode, mode)
    raise UnsupportedOperatorError(
        f"Node {node.name or node.op_type!r} rounds by {mode!r}, which QONNX does not define.",
        help=f"{did_you_mean(mode, _MODES)}the modes are {', '.join(_MODES)}.",
    )
