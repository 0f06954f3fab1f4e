"""Neural network kernels against NumPy in float64, as written and under their schedules."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import float32, int8, int32
from allo.library import KERNEL_SCHEDULES, nn
from tests.library.support import check, floats, int8s

f = float32


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_linear2d_and_linear3d():
    X, W, b = floats(5, 7), floats(6, 7), floats(6)
    check(nn.linear2d, [f, f, f, 5, 6, 7], [X, W, b], X @ W.T + b)
    X3 = floats(2, 3, 7)
    check(nn.linear3d, [f, f, f, 2, 3, 7, 6], [X3, W, b], X3 @ W.T + b)


def test_linear2d_in_integers():
    X, W = int8s(4, 9), int8s(5, 9)
    b = np.arange(5, dtype=np.int32) * 1000
    check(nn.linear2d, [int8, int8, int32, 4, 5, 9], [X, W, b], X.astype(int) @ W.T.astype(int) + b)


def test_int8_linear_and_requantisation():
    X, W = int8s(4, 33), int8s(6, 33)
    rng = np.random.default_rng(3)
    b = rng.integers(-5000, 5000, 6).astype(np.int32)
    multiplier = rng.integers(1 << 24, 1 << 31, 6).astype(np.int32)
    shift = rng.integers(34, 42, 6).astype(np.int32)
    acc = X.astype(np.int64) @ W.T.astype(np.int64) + b
    check(nn.linear_int8, [4, 6, 33], [X, W, b], acc)
    wide = shift.astype(np.int64)
    scaled = (acc * multiplier + (1 << (wide - 1))) >> wide
    expected = np.clip(scaled, -128, 127)
    assert (expected == 127).any() or (expected == -128).any() or expected.std() > 5
    check(nn.requantize, [4, 6], [acc.astype(np.int32), multiplier, shift], expected)
    check(nn.linear_requant, [4, 6, 33], [X, W, b, multiplier, shift], expected)


def test_requantisation_saturates_and_rounds_halves_up():
    acc = np.array([[1 << 30, -(1 << 30), 3, -3, 1, -1]], dtype=np.int32)
    multiplier, shift = np.ones(6, np.int32), np.ones(6, np.int32)
    expected = np.array([[127, -128, 2, -1, 1, 0]])
    check(nn.requantize, [1, 6], [acc, multiplier, shift], expected)


def test_activations():
    X = floats(3, 5)
    check(nn.relu2d, [f, 3, 5], [X], np.maximum(X, 0))
    X3, X4 = floats(2, 3, 4), floats(2, 3, 2, 3)
    check(nn.relu3d, [f, 2, 3, 4], [X3], np.maximum(X3, 0))
    check(nn.relu4d, [f, 2, 3, 2, 3], [X4], np.maximum(X4, 0))
    wide = floats(4, 6, scale=3.0)
    x = wide.astype(np.float64)
    gelu = 0.5 * x * (1 + np.tanh(0.797885 * (x + 0.044715 * x**3)))
    check(nn.GeLU, [f, 4, 6], [wide], gelu)


@pytest.mark.parametrize("offset", [-1e4, 80.0])
def test_softmax(offset):
    X = floats(5, 5, scale=4.0) + np.float32(offset)
    check(nn.softmax, [f, 5], [X], softmax(X))
    R = floats(3, 9, scale=4.0) + np.float32(offset)
    check(nn.softmax_rows, [f, 3, 9], [R], softmax(R))
    check(nn.log_softmax, [f, 3, 9], [R], np.log(softmax(R)))


def test_norms():
    X, g, b = floats(4, 16) + 3, floats(16), floats(16, seed=1)
    x = X.astype(np.float64)
    norm = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    check(nn.layer_norm, [f, 4, 16], [X, g, b], norm * g + b)
    rms = x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5)
    check(nn.rms_norm, [f, 4, 16], [X, g], rms * g)
    two = np.stack([X, X[::-1]])
    check(nn.layer_norm3d, [f, 2, 4, 16], [two, g, b], np.stack([norm, norm[::-1]]) * g + b)
    check(nn.rms_norm3d, [f, 2, 4, 16], [two, g], np.stack([rms, rms[::-1]]) * g)


def test_batchnorm():
    C = 3
    g, b, mean = floats(C), floats(C, seed=1), floats(C, seed=2)
    var = np.abs(floats(C, seed=3)) + np.float32(0.5)
    for kernel, shape in (
        (nn.batchnorm2d, (2, C, 4, 5)),
        (nn.batchnorm1d_2d, (4, C)),
        (nn.batchnorm1d_3d, (2, C, 5)),
    ):
        X = floats(*shape)
        view = (1, C) + (1,) * (len(shape) - 2)
        scale = (g / np.sqrt(var + 1e-3)).reshape(view)
        expected = (X - mean.reshape(view)) * scale + b.reshape(view)
        check(kernel, [f, *shape], [X, g, b, 1e-3, mean, var], expected)


def test_data_movement():
    A, B = floats(2, 3, 4), floats(2, 5, 4)
    check(nn.concat, [f, 2, 3, 5, 4], [A, B], np.concatenate([A, B], 1))
    check(nn.repeat_batch3d, [f, 2, 3, 4, 3], [A], np.tile(A, (3, 1, 1)))
    X, Y = floats(3, 4), floats(3, 4, seed=1)
    check(nn.residual_add, [f, 3, 4], [X, Y], X + Y)
    check(nn.modulate_fused, [f, 3, 4], [X, Y[0], Y[1]], X * (1 + Y[0]) + Y[1])


def windows(X: np.ndarray, k: tuple[int, int], s: tuple[int, int], pad: tuple[int, int], fill):
    """Every window of an NCHW image: [B, C, Oh, Ow, Kh, Kw]."""
    width = ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2)
    padded = np.pad(X.astype(np.float64), width, constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(padded, k, axis=(2, 3))
    return view[:, :, :: s[0], :: s[1]]


@pytest.mark.parametrize(("stride", "pad"), [((1, 1), (0, 0)), ((2, 1), (1, 2))])
def test_conv2d(stride, pad):
    X, K, b = floats(2, 3, 6, 7), floats(4, 3, 3, 2), floats(4)
    W = windows(X, (3, 2), stride, pad, 0.0)
    expected = np.einsum("bcxykl,ockl->boxy", W, K) + b.reshape(1, 4, 1, 1)
    oh, ow = expected.shape[2:]
    check(nn.conv2d, [f, 2, 3, 4, 6, 7, 3, 2, oh, ow, *stride, *pad], [X, K, b], expected)


@pytest.mark.parametrize(("s", "pad"), [(2, 0), (1, 1)])
def test_pooling(s, pad):
    X = floats(2, 3, 6, 6) - 5
    highest = windows(X, (3, 3), (s, s), (pad, pad), -np.inf).max((-1, -2))
    mean = windows(X, (3, 3), (s, s), (pad, pad), 0.0).mean((-1, -2))
    oh, ow = highest.shape[2:]
    template = [f, 2, 3, 6, 6, 3, oh, ow, s, pad]
    check(nn.maxpool2d, template, [X], highest)
    check(nn.avgpool2d, template, [X], mean)


def heads(x: np.ndarray, h: int) -> np.ndarray:
    return x.reshape(x.shape[0], h, -1).transpose(1, 0, 2)


def test_scaled_dot_product_attention():
    Q, K, V = (floats(6, 8, seed=k) for k in range(3))
    q, k, v = (heads(x, 2) for x in (Q, K, V))
    expected = (softmax(q @ k.transpose(0, 2, 1)) @ v).transpose(1, 0, 2).reshape(6, 8)
    check(nn.scaled_dot_product_attention, [f, 2, 6, 8, 4, 3], [Q, K, V], expected)


@pytest.mark.parametrize("length", [1, 4, 7])
def test_attention_of_one_query(length):
    q, K, V = floats(8), floats(7, 8), floats(7, 8, seed=1)
    expected = decode(q, K, V, length)
    check(nn.attention_decode, [f, 2, 7, 8], [q, K, V, length], expected)


def decode(q: np.ndarray, K: np.ndarray, V: np.ndarray, length: int) -> np.ndarray:
    scores = np.einsum("hd,htd->ht", q.reshape(2, 4), heads(K[:length], 2)) / 2.0
    return np.einsum("ht,htd->hd", softmax(scores), heads(V[:length], 2)).reshape(8)


def test_attention_of_a_block_is_causal():
    Q, K, V = floats(3, 8), floats(7, 8), floats(7, 8, seed=1)
    expected = np.stack([decode(Q[i], K, V, 2 + i + 1) for i in range(3)])
    check(nn.attention_block, [f, 2, 3, 7, 8], [Q, K, V, 2], expected)


def test_rope():
    X, angle = floats(5, 8), floats(5, 2)
    c, s = np.cos(angle), np.sin(angle)
    x = X.reshape(5, 2, 2, 2)
    a, b = x[:, :, 0], x[:, :, 1]
    rotated = np.stack([a * c[:, None] - b * s[:, None], b * c[:, None] + a * s[:, None]], 2)
    check(nn.RoPE, [f, 2, 5, 8], [X, c, s], rotated.reshape(5, 8))


def test_compose_in_a_network():
    M, D, F = 4, 6, 9

    def mlp(
        X: float32[M, D], W1: float32[F, D], b1: float32[F], W2: float32[D, F], b2: float32[D]
    ) -> float32[M, D]:
        Y = nn.linear2d[float32, float32, float32, M, F, D, "up"](X, W1, b1)
        G = nn.GeLU[float32, M, F](Y)
        return nn.linear2d[float32, float32, float32, M, D, F, "down"](G, W2, b2)

    s = allo.customize(mlp)
    s.compose(nn.linear2d, id="up", instantiate=[f, f, f, M, F, D])
    s.compose(nn.linear2d, id="down", instantiate=[f, f, f, M, D, F])
    s.compose(nn.GeLU, instantiate=[f, M, F])
    assert str(s.module).count("pipeline_ii") == 7
    X, W1, b1, W2, b2 = floats(M, D), floats(F, D), floats(F), floats(D, F), floats(D)
    x = (X @ W1.T + b1).astype(np.float64)
    gelu = 0.5 * x * (1 + np.tanh(0.797885 * (x + 0.044715 * x**3)))
    got = s.build()(X, W1, b1, W2, b2)
    np.testing.assert_allclose(got, gelu @ W2.T + b2, rtol=1e-4, atol=1e-5)


def test_compose_refuses_the_wrong_instance_and_kernels_without_schedule():
    def user(X: float32[4, 6], W: float32[5, 6], b: float32[5]) -> float32[4, 5]:
        return nn.linear2d[float32, float32, float32, 4, 5, 6](X, W, b)

    s = allo.customize(user)
    with pytest.raises(ScheduleError, match=r"the schedule is of linear2d\(f32\[4x7\]"):
        s.compose(nn.linear2d, instantiate=[f, f, f, 4, 5, 7])
    with pytest.raises(ScheduleError, match="Cannot find schedule for kernel RoPE"):
        s.compose(nn.RoPE, instantiate=[f, 2, 5, 8])


def test_the_published_table_of_schedules():
    published = """systolic packed_systolic packed_int8xint8_systolic int8xint8_mat_vec
        linear2d linear3d relu2d relu3d relu4d softmax log_softmax
        layer_norm GeLU conv2d maxpool2d avgpool2d batchnorm2d batchnorm1d_2d
        batchnorm1d_3d repeat_batch3d concat""".split()
    assert set(published) <= set(KERNEL_SCHEDULES)
