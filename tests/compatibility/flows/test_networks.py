"""Convolutional networks with line buffers, as HLS projects and as hardware."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import AlloError
from allo.ir.types import float32, int8, int32
from allo.library import nn
from tests.compatibility.flows.support import check_kernel


def image(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).integers(-16, 16, shape)


def windows(X: np.ndarray, size: int) -> np.ndarray:
    """``[…, y, x, r, c]`` of the windows of the last two dimensions."""
    return np.lib.stride_tricks.sliding_window_view(X, (size, size), axis=(-2, -1))


def lenet(
    X: int8[10, 10], W1: int8[2, 3, 3], W2: int8[3, 2, 2, 2], W3: int8[4, 27], b: int32[4]
) -> int32[4]:
    """A convolution, maxima of 2 × 2, a convolution over channels, and a layer of all features."""
    C1: int32[2, 8, 8]
    P1: int32[2, 4, 4]
    C2: int32[3, 3, 3]
    Z: int32[4]
    for o, y, x in allo.grid(2, 8, 8, name="conv1"):
        v: int32 = 0
        for r, c in allo.reduction(3, 3):
            v += X[y + r, x + c] * W1[o, r, c]
        C1[o, y, x] = v if v > 0 else 0
    for o, y, x in allo.grid(2, 4, 4, name="pool"):
        best: int32 = C1[o, 2 * y, 2 * x]
        for r, c in allo.grid(2, 2):
            w: int32 = C1[o, 2 * y + r, 2 * x + c]
            if w > best:
                best = w
        P1[o, y, x] = best
    for o, y, x in allo.grid(3, 3, 3, name="conv2"):
        u: int32 = 0
        for i, r, c in allo.reduction(2, 2, 2):
            u += P1[i, y + r, x + c] * W2[o, i, r, c]
        C2[o, y, x] = u
    for n in range(4, name="dense"):
        acc: int32 = b[n]
        for o, y, x in allo.reduction(3, 3, 3):
            acc += C2[o, y, x] * W3[n, o * 9 + y * 3 + x]
        Z[n] = acc
    return Z


def lenet_reference(X, W1, W2, W3, b):
    C1 = np.maximum(np.einsum("yxrc,orc->oyx", windows(X, 3), W1), 0)
    P1 = C1.reshape(2, 4, 2, 4, 2).max((2, 4))
    C2 = np.einsum("iyxrc,oirc->oyx", windows(P1, 2), W2)
    return (W3 @ C2.ravel() + b).astype(np.int32)


def test_a_network_with_two_convolutions_a_pool_and_a_layer(tmp_path):
    s = allo.customize(lenet)
    lines = s.reuse_at(s.X, s.get_loops()["conv1"]["y"])
    window = s.reuse_at(lines, s.get_loops()["conv1"]["x"])
    s.partition(lines, dim=1)
    s.partition(window)
    s.pipeline(s.get_loops()["conv1"]["x"])
    s.partition(s.P1, dim=1)
    channels = s.reuse_at(s.P1, s.get_loops()["conv2"]["y"])
    s.partition(channels)
    s.pipeline(s.get_loops()["conv2"]["x"])
    arrays = [image(10, 10), image(2, 3, 3), image(3, 2, 2, 2), image(4, 27)]
    b = image(4).astype(np.int32)
    expected = lenet_reference(*arrays, b)
    check_kernel(s, [*(a.astype(np.int8) for a in arrays), b], expected, tmp_path, verilator=True)
    text = (tmp_path / "project" / "kernel.cpp").read_text()
    assert text.count("#pragma HLS pipeline II=1") >= 2
    assert "conv1_reuse_" in text
    assert "conv2_reuse_" in text


def separable(A: int32[8, 9], F: int32[3], G: int32[3]) -> int32[6, 7]:
    """A filter along columns, then one along rows: lines between them, and a window of one row."""
    B: int32[6, 9]
    C: int32[6, 7]
    for y, x in allo.grid(6, 9, name="down"):
        v: int32 = 0
        for r in allo.reduction(3):
            v += A[y + r, x] * F[r]
        B[y, x] = v
    for y, x in allo.grid(6, 7, name="along"):
        w: int32 = 0
        for c in allo.reduction(3):
            w += B[y, x + c] * G[c]
        C[y, x] = w
    return C


def test_a_separable_filter_joined_by_a_fifo(tmp_path):
    s = allo.customize(separable)
    lines = s.reuse_at(s.A, s.get_loops()["down"]["y"])
    window = s.reuse_at(s.B, s.get_loops()["along"]["x"])
    s.partition(lines, dim=1)
    s.partition(window)
    s.pipeline(s.get_loops()["down"]["x"])
    s.pipeline(s.get_loops()["along"]["x"])
    s.to(s.B, "along", depth=4)
    A, F, G = (image(*shape).astype(np.int32) for shape in ((8, 9), (3,), (3,)))
    B = np.einsum("yxr,r->yx", np.lib.stride_tricks.sliding_window_view(A, 3, axis=0), F)
    C = np.einsum("yxc,c->yx", np.lib.stride_tricks.sliding_window_view(B, 3, axis=1), G)
    check_kernel(s, [A, F, G], C.astype(np.int32), tmp_path)


def layers(
    X: float32[1, 2, 6, 6], W: float32[3, 2, 3, 3], b: float32[3], V: float32[2, 12], d: float32[2]
) -> float32[1, 2]:
    """The layers of the library: convolution, activation, pool, and a dense one."""
    C: float32[1, 3, 4, 4] = nn.conv2d[float32, 1, 2, 3, 6, 6, 3, 3, 4, 4, 1, 1, 0, 0](X, W, b)
    R: float32[1, 3, 4, 4] = nn.relu4d[float32, 1, 3, 4, 4](C)
    P: float32[1, 3, 2, 2] = nn.maxpool2d[float32, 1, 3, 4, 4, 2, 2, 2, 2, 0](R)
    F: float32[1, 12]
    for o, y, x in allo.grid(3, 2, 2, name="flatten"):
        F[0, o * 4 + y * 2 + x] = P[0, o, y, x]
    return nn.linear2d[float32, float32, float32, 1, 2, 12, "head"](F, V, d)


def test_a_network_of_library_layers(tmp_path):
    s = allo.customize(layers)
    s.compose(nn.conv2d, instantiate=[float32, 1, 2, 3, 6, 6, 3, 3, 4, 4, 1, 1, 0, 0])
    s.compose(nn.relu4d, instantiate=[float32, 1, 3, 4, 4])
    s.compose(nn.maxpool2d, instantiate=[float32, 1, 3, 4, 4, 2, 2, 2, 2, 0])
    s.compose(nn.linear2d, id="head", instantiate=[float32, float32, float32, 1, 2, 12])
    shapes = [(1, 2, 6, 6), (3, 2, 3, 3), (3,), (2, 12), (2,)]
    arrays = [(image(*shape) / 8).astype(np.float32) for shape in shapes]
    X, W, b, V, d = arrays
    C = np.einsum("iyxrc,oirc->oyx", windows(X[0], 3), W) + b[:, None, None]
    P = np.maximum(C, 0).reshape(3, 2, 2, 2, 2).max((2, 4))
    expected = (V @ P.ravel() + d)[None, :].astype(np.float32)
    check_kernel(s, arrays, expected, tmp_path)


def test_a_window_along_a_loop_that_does_not_slide_is_refused():
    s = allo.customize(lenet)
    with pytest.raises(AlloError, match="X"):
        s.reuse_at(s.X, s.get_loops()["conv1"]["o"])
