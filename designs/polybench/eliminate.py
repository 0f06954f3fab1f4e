"""Gaussian elimination without pivots in NumPy: what lu and ludcmp share."""

from __future__ import annotations

import numpy as np


def reference_eliminate(A: np.ndarray) -> None:
    """A becomes its factors L and U, in place; each element subtracts in order of k."""
    for k in range(len(A)):
        column = A[k + 1 :, k]
        column /= A[k, k]
        A[k + 1 :, k + 1 :] -= column[:, None] * A[k, k + 1 :]
