"""Layers of neural networks with their weights in HBM: the bits of the CPU build."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from allo.backend.sim import external_memory
from allo.errors import PlacementError
from allo.ir.types import float32, int8, int32
from allo.library import from_memory, nn

F = float32
LAYERS: dict[str, tuple[Any, list[Any], list[Any], list[tuple[int, ...]], dict[str, str]]] = {
    "linear": (
        nn.linear2d, [F, F, F, 3, 10, 12], [F] * 3, [(3, 12), (10, 12), (10,)],
        {"W": "hbm[0]", "b": "hbm[1]"},
    ),
    "linear of integers": (
        nn.linear_int8, [3, 10, 12], [int8, int8, int32], [(3, 12), (10, 12), (10,)],
        {"W": "hbm[0]", "b": "hbm[1]"},
    ),
    "convolution": (
        nn.conv2d, [F, 1, 2, 3, 6, 6, 3, 3, 4, 4, 1, 1, 0, 0], [F] * 3,
        [(1, 2, 6, 6), (3, 2, 3, 3), (3,)], {"kernel": "hbm[0]", "bias": "hbm[1]"},
    ),
    "norm": (
        nn.layer_norm, [F, 3, 8], [F] * 3, [(3, 8), (8,), (8,)],
        {"gamma": "hbm[0]", "beta": "hbm[1]"},
    ),
    "attention": (
        nn.scaled_dot_product_attention, [F, 2, 4, 8, 2, 2], [F] * 3, [(4, 8)] * 3,
        {"Q": "hbm[0]", "K": "hbm[1]", "V": "hbm[2]"},
    ),
}  # fmt: skip


def drawn(dtypes: list[Any], shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [
        rng.standard_normal(shape).astype(np.float32)
        if dtype is float32
        else rng.integers(-100, 100, shape).astype(np.int8 if dtype is int8 else np.int32)
        for dtype, shape in zip(dtypes, shapes, strict=True)
    ]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_takes_its_weights_from_hbm(name) -> None:
    kernel, template, dtypes, shapes, places = LAYERS[name]
    s = from_memory(kernel, template, places)
    channels = external_memory("hbm2", clock_mhz=200, timing="dram")
    memory = dict(zip(places, channels, strict=False))
    module = s.build(target="verilog", simulator="jit", stalls=0.2).variant(memory=memory)
    assert {m.bundle for m in module.design.board.masters} == {
        f"hbm{n}" for n in range(len(places))
    }
    arrays = drawn(dtypes, shapes)
    got, expected = module(*arrays), s.build()(*arrays)
    assert got.tobytes() == expected.tobytes()
    assert all(module.traffic.channels[c.name].bytes for c in memory.values())


def test_weights_in_the_order_of_the_layer_pass_while_it_runs() -> None:
    """One row: each weight is used once, and columns of W are rows of the memory."""
    for layouts, beside in ((None, False), ({"W": "transposed"}, True)):
        s = from_memory(nn.linear2d, [F, F, F, 1, 32, 48], {"W": "hbm[0]"}, layouts)
        module = s.build(target="verilog", simulator="jit")
        [w] = [a for a in module.design.board.arrays if a.name == "W"]
        assert (w.beside is not None) == beside
        arrays = drawn([F] * 3, [(1, 48), (32, 48), (32,)])
        assert module(*arrays).tobytes() == s.build()(*arrays).tobytes()


def test_a_wrong_place_is_refused() -> None:
    with pytest.raises(PlacementError, match="there is no kind of memory 'hmb'"):
        from_memory(nn.linear2d, [F, F, F, 1, 4, 4], {"W": "hmb[0]"})
