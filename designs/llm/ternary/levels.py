"""Ternary weights, -1, 0 and 1 times a scale, by the rule of BitNet b1.58.

The scale is the mean magnitude of a matrix, or of an output's weights; a weight is divided by it, rounded and
limited to -1 … 1. A matrix of three values already, -s, 0 and s, keeps them with s as its scale: the rule
would find a smaller one there.
"""

from __future__ import annotations

import numpy as np

from allo.errors import AlloError

SCALES = ("matrix", "output")
"""What may share a scale."""


class TernaryError(AlloError, ValueError):
    """Weights that are not ternary, bytes that hold none, or a rule that is not known."""


def ternary_rows(weight: np.ndarray, scale_of: str = "matrix") -> tuple[np.ndarray, np.ndarray]:
    """int8 rows of -1, 0 and 1, and the float64 scale of each: ``weight ≈ rows * scale[:, None]``.

    Args:
        weight: (outputs, inputs).
        scale_of: what shares a scale, ``"matrix"`` or ``"output"``.

    Raises:
        TernaryError: another word than these two.
    """
    if scale_of not in SCALES:
        raise TernaryError(
            f"Ternary weights have no scale of each {scale_of!r}.",
            help='ask for a scale of each "matrix" or "output".',
        )
    parts = weight.astype(np.float64)
    shared = parts.reshape(1, -1) if scale_of == "matrix" else parts
    size = np.abs(shared)
    most = size.max(1)
    known = ((size == 0) | (size == most[:, None])).all(1)
    scale = np.maximum(np.where(known, most, size.mean(1)), 1e-12)
    rows = np.clip(np.rint(shared / scale[:, None]), -1, 1).astype(np.int8)
    return rows.reshape(weight.shape), np.broadcast_to(scale, len(weight)).copy()


def check_ternary(rows: np.ndarray) -> None:
    """Refuse weights that are not -1, 0 and 1.

    Raises:
        TernaryError: with the first of them.
    """
    bad = rows[np.abs(rows.astype(np.int16)) > 1]
    if bad.size:
        raise TernaryError(
            f"The weight {int(bad[0])} is not ternary, which are -1, 0 and 1, and {bad.size - 1:,} others "
            "are not.",
            help='quantise the model with ternary="matrix".',
        )
