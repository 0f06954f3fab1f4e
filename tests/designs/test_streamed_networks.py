"""Layers as processes: what NumPy says, and a small model with sized FIFOs in hardware."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.designs.networks.network import Network
from allo.designs.networks.streamed.images import by_channel, convolved, joined, pointed, split
from allo.designs.networks.streamed.layers import (
    linear,
    mixed,
    product,
    residual,
    scores,
    softmax,
    spread,
)
from allo.designs.networks.streamed.models import STREAMED, Streamed, scheduled
from allo.ir.types import float32, int32


def forked[M: int32, N: int32](X: float32[M, N], R: float32[M, N], Y: float32[M, N]):
    """A result for two readers: itself for one, ``R``, its ReLU for the other, ``Y``."""
    for i, j in allo.grid(M, N):
        x: float32 = X[i, j]
        R[i, j] = x
        Y[i, j] = max(x, 0.0)


def added[M: int32, N: int32](X: float32[M, N], R: float32[M, N]) -> float32[M, N]:
    """``max(X + R, 0)``."""
    Y: float32[M, N]
    for i, j in allo.grid(M, N):
        Y[i, j] = max(X[i, j] + R[i, j], 0.0)
    return Y


def perceptron(
    X: float32[3, 8], W1: float32[8, 12], b1: float32[12], W2: float32[12, 12], b2: float32[12]
) -> float32[3, 12]:
    A = linear[3, 8, 12, 1](X, W1, b1)
    R: float32[3, 12]
    H: float32[3, 12]
    forked[3, 12](A, R, H)
    B = linear[3, 12, 12, 0](H, W2, b2)
    return added[3, 12](B, R)


def perceptron_in_numpy(X: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    W1, b1, W2, b2 = weights
    residual = np.maximum(X @ W1 + b1, 0)
    found: np.ndarray = np.maximum(residual @ W2 + b2 + residual, 0)
    return found


PERCEPTRON = Streamed(
    perceptron,
    Network(perceptron, ((3, 8), (8, 12), (12,), (12, 12), (12,)), perceptron_in_numpy, 720),
    (("A", "forked"), ("R", "added"), ("H", "linear_1"), ("B", "added")),
    {"linear": 2, "linear_1": 2},
)


def attended(X: float32[4, 8], K: float32[4, 8], W: float32[8, 8]) -> float32[4, 8]:
    """Two heads, of an input for three readers."""
    A: float32[4, 8]
    B: float32[4, 8]
    C: float32[4, 8]
    spread[4, 8](X, A, B, C)
    Q = product[4, 8, 8](A, W)
    scale: float32 = 0.5
    P = softmax[4, 2](scores[4, 2, 4](Q, K, scale))
    Z = mixed[4, 2, 4](P, B)
    Y: float32[4, 8]
    for i, c in allo.grid(4, 8):
        Y[i, c] = Z[i, c] + C[i, c]
    return Y


def images(
    X: float32[5, 4, 2], F: float32[3, 2, 3, 3], s: float32[3], t: float32[3],
    D: float32[3, 3, 3], P: float32[3, 3],
) -> float32[5, 4, 3]:  # fmt: skip
    A = convolved[5, 4, 2, 3](X, F, s, t, 1)
    B: float32[5, 4, 3]
    C: float32[5, 4, 3]
    split[5, 4, 3](A, B, C)
    E = pointed[5, 4, 3, 3](by_channel[5, 4, 3](B, D), P, s, t)
    return joined[5, 4, 3](E, C)


def residual_row(X: float32[3, 4], W: float32[4, 4], b: float32[4]) -> float32[3, 4]:
    return residual[3, 4](X, W, b)


def near(got: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(np.abs(got - wanted).max() < 1e-5 * max(1.0, np.abs(wanted).max()))


def windows_of(X: np.ndarray) -> np.ndarray:
    """The nine shifted images: (row, column, channel, 3, 3)."""
    wide = np.pad(X, ((1, 1), (1, 1), (0, 0)))
    rows, columns = X.shape[:2]
    shifted = [wide[y : y + rows, x : x + columns] for y in range(3) for x in range(3)]
    return np.stack(shifted, axis=-1).reshape(*X.shape, 3, 3)


def test_a_residual_layer_is_what_numpy_says() -> None:
    rng = np.random.default_rng(2)
    X, W, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4, 4), (4,)))
    wanted = np.maximum(np.maximum(X, 0) @ W + b + X, 0)
    assert near(allo.customize(residual_row).build()(X, W, b), wanted)


def test_attention_is_what_numpy_says() -> None:
    rng = np.random.default_rng(3)
    X, K, W = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 8), (4, 8), (8, 8)))
    heads = [array.reshape(4, 2, 4).transpose(1, 0, 2) for array in (X @ W, K, X)]
    S = heads[0] @ heads[1].transpose(0, 2, 1) * np.float32(0.5)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    wanted = (E / E.sum(axis=-1, keepdims=True) @ heads[2]).transpose(1, 0, 2).reshape(4, 8) + X
    assert near(allo.customize(attended).build()(X, K, W), wanted)


def test_convolutions_are_what_numpy_says() -> None:
    rng = np.random.default_rng(5)
    shapes = ((5, 4, 2), (3, 2, 3, 3), (3,), (3,), (3, 3, 3), (3, 3))
    X, F, s, t, D, P = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    A = np.maximum(np.einsum("yxcij,ocij->yxo", windows_of(X), F) * s + t, 0)
    B = np.einsum("yxcij,cij->yxc", windows_of(A), D)
    wanted = np.maximum(np.maximum(B @ P.T * s + t, 0) + A, 0)
    assert near(allo.customize(images).build()(X, F, s, t, D, P), wanted)


def test_a_model_with_sized_fifos_in_hardware() -> None:
    schedule = scheduled(PERCEPTRON, 64)
    found = schedule.size_fifos()
    assert found.cycles == found.unbounded and found.bits < found.bits_of_all
    arrays = PERCEPTRON.inputs(np.random.default_rng(1))
    hardware = schedule.build(target="verilog", simulator="jit")
    got = hardware(*arrays)
    assert hardware.cycles == found.cycles
    assert got.tobytes() == schedule.build()(*arrays).tobytes()
    assert near(got, PERCEPTRON.reference(*arrays))


@pytest.mark.parametrize("name", ["residual_mlp", "seven_unbalanced", "residual_block"])
def test_each_array_between_layers_of_a_model_becomes_a_fifo(name: str) -> None:
    model = STREAMED[name]
    schedule = scheduled(model, 7)
    fifos = [fifo for fifo, _ in model.fifos]
    assert all(f'name = "{fifo}"' in str(schedule.module) for fifo in fifos)
    assert str(schedule.module).count('"stream:7') >= len(fifos)
