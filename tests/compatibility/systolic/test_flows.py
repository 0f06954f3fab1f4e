"""Whole designs of published programs, at a small size: a transformer's attention and FFN, a CNN."""

from __future__ import annotations

import numpy as np

import allo
from allo.ir.types import float32, int8, int32
from allo.library import nn
from allo.library.systolic import systolic
from tests.compatibility.runs import TARGETS, check_results, numbers
from tests.engine import engine

L, D, H, F = 4, 4, 2, 8


def layer(
    X: float32[L, D],
    Wq: float32[D, D],
    Wk: float32[D, D],
    Wv: float32[D, D],
    b: float32[D],
    W1: float32[D, F],
    W2: float32[F, D],
) -> float32[L, D]:
    Q: float32[L, D] = nn.linear2d[float32, float32, float32, L, D, D, "q"](X, Wq, b)
    K: float32[L, D] = nn.linear2d[float32, float32, float32, L, D, D, "k"](X, Wk, b)
    V: float32[L, D] = nn.linear2d[float32, float32, float32, L, D, D, "v"](X, Wv, b)
    S: float32[L, D] = nn.scaled_dot_product_attention[float32, H, L, D, 2, 2](Q, K, V)
    R: float32[L, D] = nn.residual_add[float32, L, D](S, X)
    Z: float32[L, F]
    Y: float32[L, D]
    systolic[float32, float32, float32, L, D, F, 2, 2, "up"](R, W1, Z)
    systolic[float32, float32, float32, L, F, D, 2, 2, "down"](Z, W2, Y)
    return Y


def attention(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    width = D // H
    heads = []
    for h in range(H):
        part = slice(h * width, (h + 1) * width)
        scores = Q[:, part] @ K[:, part].T
        weights = np.exp(scores - scores.max(1, keepdims=True))
        heads.append(weights / weights.sum(1, keepdims=True) @ V[:, part])
    return np.concatenate(heads, 1)


def test_a_transformer_layer():
    s = allo.customize(layer)
    for id in ("q", "k", "v"):
        s.compose(nn.linear2d, id=id)
    s.compose(nn.softmax, instantiate=[float32, L])
    for id in ("up", "down"):
        s.compose(systolic, id=id)
    s.to(s.Z, "down")
    rng = np.random.default_rng(5)
    shapes = [(L, D), (D, D), (D, D), (D, D), (D,), (D, F), (F, D)]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    X, Wq, Wk, Wv, b, W1, W2 = (array.astype(np.float64) for array in arrays)
    mixed = attention(X @ Wq.T + b, X @ Wk.T + b, X @ Wv.T + b) + X
    found = [s.build(target=target, **engine(target))(*arrays) for target in TARGETS]
    for one in found:
        np.testing.assert_allclose(one, mixed @ W1 @ W2, rtol=2e-4, atol=2e-4)


def network(A: int32[11, 11], F1: int32[3, 3], F2: int32[2, 2]) -> int32[4, 4]:
    B: int32[5, 5]
    R: int32[5, 5]
    C: int32[4, 4]
    for y, x in allo.grid(5, 5, name="conv1"):
        v: int32 = 0
        for r, c in allo.reduction(3, 3):
            v += A[2 * y + r, 2 * x + c] * F1[r, c]
        B[y, x] = v
    for y, x in allo.grid(5, 5, name="relu"):
        b: int32 = B[y, x]
        R[y, x] = b if b > 0 else 0
    for y, x in allo.grid(4, 4, name="conv2"):
        w: int32 = 0
        for r, c in allo.reduction(2, 2):
            w += R[y + r, x + c] * F2[r, c]
        C[y, x] = w
    return C


def test_a_network_of_convolutions_with_line_buffers():
    s = allo.customize(network)
    loops = s.get_loops()
    for array, band in ((s.A, "conv1"), (s.R, "conv2")):
        lines = s.reuse_at(array, loops[band]["y"])
        window = s.reuse_at(lines, s.get_loops()[band]["x"])
        s.partition(lines, dim=1)
        s.partition(window)
    s.to(s.B, "relu")
    s.to(s.R, "conv2")
    A, F1, F2 = numbers(11, 11), numbers(3, 3), numbers(2, 2)
    B = [[(A[2 * y : 2 * y + 3, 2 * x : 2 * x + 3] * F1).sum() for x in range(5)] for y in range(5)]
    R = np.maximum(np.array(B), 0)
    C = [[(R[y : y + 2, x : x + 2] * F2).sum() for x in range(4)] for y in range(4)]
    check_results(s, [A, F1, F2], np.array(C))


def test_two_products_with_cells_of_other_shapes():
    def products(A: int8[4, 6], B: int8[6, 4], C: int32[4, 4], E: int32[4, 4]) -> int32[4, 4]:
        systolic[int8, int8, int32, 4, 6, 4, 2, 2, "small"](A, B, C)
        systolic[int8, int8, int32, 4, 6, 4, 4, 4, "large"](A, B, E)
        D: int32[4, 4]
        for i, j in allo.grid(4, 4):
            D[i, j] = C[i, j] - E[i, j]
        return D

    s = allo.customize(products)
    s.compose(systolic, id="small")
    s.compose(systolic, id="large")
    rng = np.random.default_rng(0)
    A = rng.integers(-128, 128, (4, 6)).astype(np.int8)
    B = rng.integers(-128, 128, (6, 4)).astype(np.int8)
    for target in TARGETS:
        C, E = np.zeros((4, 4), np.int32), np.ones((4, 4), np.int32)
        difference = s.build(target=target, **engine(target))(A, B, C, E)
        np.testing.assert_array_equal(C, A.astype(int) @ B.astype(int), err_msg=target)
        np.testing.assert_array_equal(E, C, err_msg=target)
        np.testing.assert_array_equal(difference, 0 * C, err_msg=target)
