"""Products of many matrices, one after the other: the smallest networks there are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from allo.ir.types import float32

from .layers import product
from .network import Network


def chains_of(product: Any) -> tuple[Any, Any, Any]:
    """The kernels of three chains that call one product, a template of three sizes: 3mm, 7mm and 7mm.

    Args:
        product: ``product[M, K, N](X, W)`` is ``X @ W``.
    """

    def three_products(
        A: float32[180, 200], B: float32[200, 190], C: float32[190, 220], D: float32[220, 210]
    ) -> float32[180, 210]:
        """``(A @ B) @ (C @ D)``: 3mm of PolyBench at MEDIUM."""
        E = product[180, 200, 190](A, B)
        F = product[190, 220, 210](C, D)
        return product[180, 190, 210](E, F)

    def seven_balanced(
        A: float32[64, 64], B: float32[64, 64], C: float32[64, 64], D: float32[64, 64],
        E: float32[64, 64], F: float32[64, 64], G: float32[64, 64], H: float32[64, 64],
    ) -> float32[64, 64]:  # fmt: skip
        """Eight matrices of one size."""
        AB = product[64, 64, 64](A, B)
        ABC = product[64, 64, 64](AB, C)
        ABCD = product[64, 64, 64](ABC, D)
        AE = product[64, 64, 64](ABCD, E)
        AF = product[64, 64, 64](AE, F)
        AG = product[64, 64, 64](AF, G)
        return product[64, 64, 64](AG, H)

    def seven_unbalanced(
        A: float32[64, 32], B: float32[32, 64], C: float32[64, 64], D: float32[64, 128],
        E: float32[128, 128], F: float32[128, 64], G: float32[64, 32], H: float32[32, 16],
    ) -> float32[64, 16]:  # fmt: skip
        """Eight matrices of several sizes."""
        AB = product[64, 32, 64](A, B)
        ABC = product[64, 64, 64](AB, C)
        ABCD = product[64, 64, 128](ABC, D)
        AE = product[64, 128, 128](ABCD, E)
        AF = product[64, 128, 64](AE, F)
        AG = product[64, 64, 32](AF, G)
        return product[64, 32, 16](AG, H)

    return three_products, seven_balanced, seven_unbalanced


def _three(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> np.ndarray:
    found: np.ndarray = (A @ B) @ (C @ D)
    return found


def _seven(*matrices: np.ndarray) -> np.ndarray:
    return functools.reduce(np.matmul, matrices)


def _network(kernel: object, *sizes: int) -> Network:
    shapes = tuple(zip(sizes, sizes[1:], strict=False))
    work = sizes[0] * sum(a * b for a, b in shapes[1:])
    return Network(kernel, shapes, _seven, work)  # type: ignore[arg-type]


three_products, seven_balanced, seven_unbalanced = chains_of(product)
_THREE = ((180, 200), (200, 190), (190, 220), (220, 210))
THREE_PRODUCTS = Network(
    three_products, _THREE, _three, 180 * 200 * 190 + 190 * 220 * 210 + 180 * 190 * 210
)
SEVEN_BALANCED = _network(seven_balanced, *[64] * 9)
SEVEN_UNBALANCED = _network(seven_unbalanced, 64, 32, 64, 64, 128, 128, 64, 32, 16)
