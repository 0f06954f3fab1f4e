"""Elements that data say are read, changed and stored again: what is foretold, and when a run hangs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.sim import MemoryChannel, external_memory
from allo.backend.sim.boundary import updates
from allo.errors import SimulationError
from allo.ir.types import float32, int32

from .kernels import agree, build

N = 256
OFF, RANDOM_OFF = 0.03, 0.15
"""Of data that are known, and of what is drawn at random in place of other random data."""


def adding(kind: Any, bins: int, channel: MemoryChannel, count: int = N) -> Any:
    def add(at: int32[count], v: kind[count], h: kind[bins]):
        for i in range(count):
            h[at[i]] += v[i]

    s = allo.customize(add)
    s.pipeline("i")
    module = build(
        s, {"at": "m_axi", "v": "m_axi", "h": {"kind": "m_axi", "copy": False}}, stalls=0.0
    )
    near, other = MemoryChannel("near", 64), MemoryChannel("other", 64)
    return s, module.variant(memory={"at": near, "v": other, "h": channel})


CHANNELS = {
    "near": MemoryChannel("far", 64),
    "ideal": MemoryChannel("far", 64, latency=20),
    "dram": external_memory("hbm2", clock_mhz=200, timing="dram")[1],
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_few_bins_are_foretold_with_the_way_to_memory_and_back(channel: str) -> None:
    for kind, dtype in ((int32, np.int32), (float32, np.float32)):
        s, module = adding(kind, 8, CHANNELS[channel])
        told = module.foretold

        def draw(rng: np.random.Generator, dtype: Any = dtype) -> list[Any]:
            v = rng.integers(0, 9, N).astype(dtype)
            return [rng.integers(0, 8, N).astype(np.int32), v, np.zeros(8, dtype)]

        assert abs(told.cycles / agree(s, module, draw, (1,))[0] - 1) < RANDOM_OFF

        def same(rng: np.random.Generator, dtype: Any = dtype) -> list[Any]:
            return [np.full(N, 3, np.int32), *draw(rng, dtype)[1:]]

        assert told.between is not None
        assert abs(told.between[1] / agree(s, module, same, (1,))[0] - 1) < OFF
        assert told.between[0] < told.cycles < told.between[1]
        assert "always the same" in str(told)


def test_many_elements_hardly_meet() -> None:
    s, module = adding(int32, 4096, CHANNELS["ideal"])

    def apart(rng: np.random.Generator) -> list[Any]:
        v = rng.integers(0, 9, N).astype(np.int32)
        return [rng.permutation(4096)[:N].astype(np.int32), v, np.zeros(4096, np.int32)]

    cycles = agree(s, module, apart, (1,))[0]
    assert abs(module.foretold.between[0] / cycles - 1) < 2 * OFF


def test_updates_that_wait_for_none_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    s, module = adding(int32, 1, CHANNELS["ideal"])
    followed = updates._followed.__wrapped__
    monkeypatch.setattr(updates, "_followed", lambda *a, waits: followed(*a, waits=False))

    def draw(rng: np.random.Generator) -> list[Any]:
        return [np.zeros(N, np.int32), np.ones(N, np.int32), np.zeros(1, np.int32)]

    assert abs(module.foretold.cycles / agree(s, module, draw, (1,))[0] - 1) > OFF


def test_a_run_that_waits_for_a_slow_channel_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty cycles in which no register changes: the channel counts them down."""
    rng = np.random.default_rng(0)
    at, h = rng.integers(0, 8, 512).astype(np.int32), np.zeros(8, np.float32)
    _, module = adding(float32, 8, CHANNELS["ideal"], 512)
    arguments = at, at.astype(np.float32), h
    module(*arguments)
    np.testing.assert_array_equal(h, np.bincount(at, at, 8).astype(np.float32))
    assert module.cycles > 4096 + 8  # the first look
    monkeypatch.setattr(module.build_model(), "_steady", True)
    with pytest.raises(SimulationError, match="never ends"):
        module(*arguments)
