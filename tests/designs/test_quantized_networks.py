"""Networks of int8 layers: what NumPy says, with the shapes and the work of the published ones."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.designs.networks.mobilenet import MOBILENET
from allo.designs.networks.network import Network
from allo.designs.networks.quantized import (
    bordered,
    by_channel,
    classified,
    convolved,
    int8_of,
    mixed,
    pooled,
    requantised,
    requantised_bordered,
    windows,
)
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


@pytest.mark.parametrize(
    "network, work, weights",
    [(MOBILENET, 12_610_048, 4_209_088), (VGG, 192_877_568, 14_715_584)],
    ids=["mobilenet", "vgg"],
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
