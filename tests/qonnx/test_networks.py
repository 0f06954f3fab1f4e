"""Networks that others trained, where ``shared/networks`` stands beside the project."""

from __future__ import annotations

import numpy as np
import pytest

from allo.ir.types import Fixed

from .support import SHARED, Pair, samples

FILES = {
    "tfc_1w1a.onnx": None,
    "tfc_2w2a.onnx": None,
    "jet_tagging_6bit.onnx": Fixed(16, 10),
    "keyword_mlp_w3a3.onnx": None,
}


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the networks of others are not in {SHARED}")
@pytest.mark.parametrize("file", FILES)
def test_every_level_of_a_trained_network_is_the_executors(file):
    pair = Pair(SHARED / file, FILES[file])
    ((_, shape),) = pair.graph.inputs.items()
    rng = np.random.default_rng(0)
    for scale in (0.5, 2.0):
        x = np.clip(samples(rng, shape, scale), -30, 30)
        x = np.round(x * 1024).astype(np.float32) / 1024  # the grid of Fixed(16, 10)
        for ours, theirs in pair.levels(x).values():
            np.testing.assert_array_equal(ours, theirs)
        (result,), (expected,) = pair.reference(x), pair.expected(x)
        assert result.argmax() == expected.argmax()
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
