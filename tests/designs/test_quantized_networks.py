"""Networks of int8 layers: what NumPy says, with the shapes and the work of the published ones."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.designs.networks.mobilenet import MOBILENET
from allo.designs.networks.network import Network
from allo.designs.networks.quantized import (
    biased_bordered,
    bordered,
    by_channel,
    classified,
    convolved,
    halved,
    int8_of,
    joined,
    joined_bordered,
    joined_halved,
    mixed,
    pooled,
    requantised,
    requantised_bordered,
    windows,
)
from allo.designs.networks.resnet import RESNET
from allo.designs.networks.vgg import VGG
from allo.ir.types import int8, int32


def small(
    X: int8[3, 8, 8], F: int8[4, 3, 3, 3], D: int8[4, 3, 3], P: int8[6, 4],
    W: int8[5, 6], b: int32[5],
) -> int32[5]:  # fmt: skip
    A = requantised_bordered[4, 4, 4, 8](convolved[4, 3, 4, 4, 2](bordered[3, 8, 8](X), F))
    B = requantised[4, 2, 2, 7](by_channel[4, 2, 2, 2](A, D))
    C = requantised[6, 2, 2, 6](mixed[6, 4, 2, 2](B, P))
    return classified[6, 5](pooled[6, 2, 2](C), W, b)


def test_int8_layers_are_what_numpy_says() -> None:
    rng = np.random.default_rng(4)
    shapes = ((3, 8, 8), (4, 3, 3, 3), (4, 3, 3), (6, 4), (5, 6), (5,))
    network = Network(small, shapes, lambda *arrays: arrays[0], 0, "int8")
    X, F, D, P, W, b = network.inputs(rng)
    A = int8_of(windows(X, 2), F, "cyxk,ock->oyx", 8)
    B = int8_of(windows(A, 2), D, "cyxk,ck->cyx", 7)
    C = int8_of(B, P, "cyx,oc->oyx", 6)
    mean = C.sum(axis=(1, 2), dtype=np.int32) // 4
    got = allo.customize(small).build()(X, F, D, P, W, b)
    assert got.dtype == np.int32 and (C > 0).any() and (C < 127).any()
    assert np.array_equal(got, W.astype(np.int32) @ mean + b)


def residual(
    X: int8[3, 4, 4], F0: int8[4, 3, 3, 3], b0: int32[4], F1: int8[4, 4, 3, 3], b1: int32[4],
    F2: int8[6, 4, 3, 3], b2: int32[6], P: int8[6, 4], p: int32[6], F3: int8[6, 6, 3, 3], b3: int32[6],
) -> int8[6, 2, 2]:  # fmt: skip
    A = biased_bordered[4, 4, 4, 8](convolved[4, 3, 4, 4, 1](bordered[3, 4, 4](X), F0), b0)
    B = joined_bordered[4, 4, 4, 9](convolved[4, 4, 4, 4, 1](A, F1), b1, A)
    S = halved[6, 4, 2, 2](B, P)
    C = joined_halved[6, 2, 2, 9, 8](convolved[6, 4, 2, 2, 2](B, F2), b2, S, p)
    return joined[6, 2, 2, 9](convolved[6, 6, 2, 2, 1](C, F3), b3, C)


def test_residual_layers_are_what_numpy_says() -> None:
    shapes = ((3, 4, 4), (4, 3, 3, 3), (4,), (4, 4, 3, 3), (4,), (6, 4, 3, 3), (6,), (6, 4), (6,))
    network = Network(residual, (*shapes, (6, 6, 3, 3), (6,)), lambda *arrays: arrays[0], 0, "int8")
    X, F0, b0, F1, b1, F2, b2, P, p, F3, b3 = given = network.inputs(np.random.default_rng(4))

    def sums(image: np.ndarray, filters: np.ndarray, bias: np.ndarray, stride: int) -> np.ndarray:
        seen = windows(image, stride).astype(np.int64)
        flat = filters.reshape(*filters.shape[:2], 9).astype(np.int64)
        return np.einsum("cyxk,ock->oyx", seen, flat) + bias[:, None, None]

    A = np.clip(sums(X, F0, b0, 1) >> 8, 0, 127)
    B = np.clip((sums(A, F1, b1, 1) >> 9) + A, 0, 127)
    shortcut = np.einsum("cyx,oc->oyx", B[:, ::2, ::2], P.astype(np.int64)) + p[:, None, None]
    C = np.clip((sums(B, F2, b2, 2) >> 9) + (shortcut >> 8), 0, 127)
    D = np.clip((sums(C, F3, b3, 1) >> 9) + C, 0, 127)
    got = allo.customize(residual).build()(*given)
    assert got.dtype == np.int8 and len(set(D.ravel().tolist())) > 8
    assert np.array_equal(got, D)


@pytest.mark.parametrize(
    "network, work, weights",
    [
        (MOBILENET, 12_610_048, 4_209_088),
        (RESNET, 555_422_720, 11_164_352),
        (VGG, 192_877_568, 14_715_584),
    ],
    ids=["mobilenet", "resnet", "vgg"],
)
def test_networks_have_the_work_of_the_published_ones(
    network: Network, work: int, weights: int
) -> None:
    assert network.multiplications == work
    assert sum(int(np.prod(s)) for s in network.shapes[1:] if len(s) > 1) == weights
    images = network.inputs(np.random.default_rng(2))
    assert images[0].dtype == np.int8 and images[-1].dtype == np.int32
    found = network.reference(*images)
    assert found.dtype == np.int32 and len(set(found.tolist())) > len(found) // 2
