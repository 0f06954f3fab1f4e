"""Transformer layers of library kernels and systolic products, scheduled by ``compose``."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError, UnknownHandleError
from allo.ir.types import float32, int8, int32
from allo.library import nn
from allo.library.systolic import systolic
from tests.compatibility.flows.support import check_kernel

L, D, H, F = 4, 4, 2, 8


def layer(
    X: float32[L, D],
    Wq: float32[D, D],
    Wk: float32[D, D],
    Wv: float32[D, D],
    Wo: float32[D, D],
    g1: float32[D],
    b1: float32[D],
    W1: float32[D, F],
    W2: float32[F, D],
    g2: float32[D],
    b2: float32[D],
) -> float32[L, D]:
    """Attention, projection, residual, normalisation; two products with GeLU between; the same again."""
    Q: float32[L, D]
    K: float32[L, D]
    V: float32[L, D]
    O: float32[L, D]
    Z: float32[L, F]
    Y: float32[L, D]
    systolic[float32, float32, float32, L, D, D, 2, 2, "q"](X, Wq, Q)
    systolic[float32, float32, float32, L, D, D, 2, 2, "k"](X, Wk, K)
    systolic[float32, float32, float32, L, D, D, 2, 2, "v"](X, Wv, V)
    S: float32[L, D] = nn.scaled_dot_product_attention[float32, H, L, D, 2, 2](Q, K, V)
    systolic[float32, float32, float32, L, D, D, 2, 2, "o"](S, Wo, O)
    R1: float32[L, D] = nn.residual_add[float32, L, D](O, X)
    N1: float32[L, D] = nn.layer_norm[float32, L, D](R1, g1, b1)
    systolic[float32, float32, float32, L, D, F, 2, 4, "up"](N1, W1, Z)
    G: float32[L, F] = nn.GeLU[float32, L, F](Z)
    systolic[float32, float32, float32, L, F, D, 4, 2, "down"](G, W2, Y)
    R2: float32[L, D] = nn.residual_add[float32, L, D](Y, N1)
    N2: float32[L, D] = nn.layer_norm[float32, L, D](R2, g2, b2)
    return N2


def attention(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    width = D // H
    heads = []
    for h in range(H):
        part = slice(h * width, (h + 1) * width)
        scores = Q[:, part] @ K[:, part].T
        weights = np.exp(scores - scores.max(1, keepdims=True))
        heads.append(weights / weights.sum(1, keepdims=True) @ V[:, part])
    return np.concatenate(heads, 1)


def norm(X: np.ndarray, g: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5) * g + b


def reference(X, Wq, Wk, Wv, Wo, g1, b1, W1, W2, g2, b2):
    N1 = norm(attention(X @ Wq, X @ Wk, X @ Wv) @ Wo + X, g1, b1)
    Z = N1 @ W1
    G = 0.5 * Z * (1 + np.tanh(0.797885 * (Z + 0.044715 * Z**3)))
    return norm(G @ W2 + N1, g2, b2)


def test_a_whole_layer_as_a_project_and_as_hardware(tmp_path):
    s = allo.customize(layer)
    for id in ("q", "k", "v", "o", "up", "down"):
        s.compose(systolic, id=id)
    s.compose(nn.softmax, instantiate=[float32, L])
    s.compose(nn.layer_norm, instantiate=[float32, L, D])
    s.compose(nn.GeLU, instantiate=[float32, L, F])
    rng = np.random.default_rng(5)
    shapes = [(L, D), *[(D, D)] * 4, (D,), (D,), (D, F), (F, D), (D,), (D,)]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    expected = reference(*(a.astype(np.float64) for a in arrays)).astype(np.float32)
    check_kernel(s, arrays, expected, tmp_path)
    text = (tmp_path / "project" / "kernel.cpp").read_text()
    assert "void scaled_dot_product_attention" in text
    assert text.count("hls::stream< float >& A_in") == 4 * 4 + 2 * 8


def feed_forward(X: int8[4, 4], W1: int8[4, 8], W2: int8[8, 4]) -> int32[4, 4]:
    Z: int8[4, 8]
    Y: int32[4, 4]
    systolic[int8, int8, int8, 4, 4, 8, 4, 4, "first_call"](X, W1, Z)
    systolic[int8, int8, int32, 4, 8, 4, 4, 4, "second_call"](Z, W2, Y)
    return Y


@pytest.mark.parametrize("depth", [-1, 2])
def test_two_arrays_joined_by_a_fifo(depth, tmp_path):
    s = allo.customize(feed_forward)
    s.compose(systolic, id="first_call")
    s.compose(systolic, id="second_call")
    s.to(s.Z, "second_call", depth=depth)
    rng = np.random.default_rng(7)
    X, W1, W2 = (rng.integers(-8, 8, n).astype(np.int8) for n in ((4, 4), (4, 8), (8, 4)))
    expected = ((X.astype(int) @ W1).astype(np.int8).astype(int) @ W2).astype(np.int32)
    check_kernel(s, [X, W1, W2], expected, tmp_path, verilator=depth == 2)
    text = (tmp_path / "project" / "kernel.cpp").read_text()
    assert f"#pragma HLS stream variable=Z depth={32 if depth == -1 else depth}" in text


def mlp(
    X: float32[4, 4], W1: float32[8, 4], b1: float32[8], W2: float32[4, 8], b2: float32[4]
) -> float32[4, 4]:
    Z = nn.linear2d[float32, float32, float32, 4, 8, 4, "up"](X, W1, b1)
    R = nn.relu2d[float32, 4, 8](Z)
    G = nn.GeLU[float32, 4, 8](R)
    Y = nn.linear2d[float32, float32, float32, 4, 4, 8, "down"](G, W2, b2)
    return Y


def test_layers_of_the_library_joined_by_fifos(tmp_path):
    s = allo.customize(mlp)
    s.compose([nn.relu2d, nn.GeLU])
    for id in ("up", "down"):
        s.compose(nn.linear2d, id=id)
    s.to(s.Z, "relu2d", depth=4)
    s.to(s.R, "GeLU", depth=2)
    s.to(s.G, "down", depth=2)
    rng = np.random.default_rng(1)
    shapes = [(4, 4), (8, 4), (8,), (4, 8), (4,)]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    X, W1, b1, W2, b2 = arrays
    R = np.maximum(X @ W1.T + b1, 0)
    G = 0.5 * R * (1 + np.tanh(0.797885 * (R + 0.044715 * R**3)))
    check_kernel(s, arrays, G @ W2.T + b2, tmp_path)
    text = (tmp_path / "project" / "kernel.cpp").read_text()
    assert text.count("#pragma HLS stream variable=") == 3


def heads(Q: float32[L, D], K: float32[L, D], V: float32[L, D]) -> float32[L, D]:
    return nn.scaled_dot_product_attention[float32, H, L, D, 2, 2](Q, K, V)


def test_the_products_of_attention_are_composed_by_their_ids(tmp_path):
    s = allo.customize(heads)
    s.compose(systolic, id="QKT", instantiate=[float32, float32, float32, L, D // H, L, 2, 2])
    s.compose(systolic, id="YV", instantiate=[float32, float32, float32, L, L, D // H, 2, 2])
    s.compose(nn.softmax)
    rng = np.random.default_rng(2)
    arrays = [rng.standard_normal((L, D)).astype(np.float32) for _ in range(3)]
    check_kernel(s, arrays, attention(*arrays), tmp_path)
    text = (tmp_path / "project" / "kernel.cpp").read_text()
    assert text.count("hls::stream< float >& A_in") == 2 * 4


def decoder(
    q: float32[1, 8], K: float32[3, 8], V: float32[3, 8], cos: float32[1, 2], sin: float32[1, 2]
) -> float32[1, 8]:
    """One query with rotated halves against keys of before, one head after the other."""
    R: float32[1, 8] = nn.RoPE[float32, 2, 1, 8](q, cos, sin)
    out: float32[1, 8]
    for h in range(2, name="head"):
        scores: float32[3]
        best: float32 = -1.0e30
        for t in range(3, name="score"):
            dot: float32 = 0
            for e in allo.reduction(4):
                dot += R[0, h * 4 + e] * K[t, h * 4 + e]
            scores[t] = dot
            if dot > best:
                best = dot
        total: float32 = 0
        for t in range(3, name="weigh"):
            w: float32 = allo.exp(scores[t] - best)
            scores[t] = w
            total += w
        for e in range(4, name="mix"):
            mixed: float32 = 0
            for t in allo.reduction(3):
                mixed += scores[t] * V[t, h * 4 + e]
            out[0, h * 4 + e] = mixed / total
    return out


def test_one_step_of_a_decoder(tmp_path):
    rng = np.random.default_rng(9)
    q, K, V = (rng.standard_normal(n).astype(np.float32) for n in ((1, 8), (3, 8), (3, 8)))
    angle = rng.standard_normal((1, 2))
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    heads = q.reshape(2, 2, 2)  # head, half, pair
    low, high = heads[:, 0], heads[:, 1]
    turned = np.stack([low * cos - high * sin, high * cos + low * sin], 1).reshape(2, 4)
    expected = []
    for h in range(2):
        scores = K[:, h * 4 : h * 4 + 4] @ turned[h]
        weights = np.exp(scores - scores.max())
        expected.append(weights / weights.sum() @ V[:, h * 4 : h * 4 + 4])
    check_kernel(
        allo.customize(decoder),
        [q, K, V, cos, sin],
        np.concatenate(expected)[None].astype(np.float32),
        tmp_path,
        verilator=True,
    )


def test_an_instance_that_is_not_there_or_not_said_is_refused():
    s = allo.customize(feed_forward)
    with pytest.raises(
        UnknownHandleError, match="systolic_third_call is not called by feed_forward"
    ):
        s.compose(systolic, id="third_call")
    with pytest.raises(UnknownHandleError, match="function softmax is not called by feed_forward"):
        s.compose(nn.softmax)
    with pytest.raises(ScheduleError, match="the instances of systolic differ in their") as raised:
        s.compose(systolic)
    assert "its ids are first_call, second_call" in str(raised.value)
