"""Kernels of PolyBench without a schedule: what is found has their bits in simulation, and is no slower."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.designs.polybench.kernels import NAMES, load, plain


@pytest.mark.parametrize("name", NAMES)
def test_hardware_has_the_bits_and_is_no_slower(name: str) -> None:
    kernel = load(name)
    size = kernel.SIZES["tiny"]
    given = plain(name, size)
    found = allo.autoschedule(
        given,
        max_dsp=40,
        seconds=15.0,
        inputs=lambda rng: list(kernel.inputs(rng, size)),
        cache=False,
    )
    assert found.trace.cycles is not None and found.trace.plain is not None
    assert found.trace.cycles <= found.trace.plain
    assert "equal" in found.trace.checked
    ours, wanted = (kernel.inputs(np.random.default_rng(3), size) for _ in range(2))
    hardware = found.build(target="verilog", simulator="jit")
    hardware(*ours)
    given.build()(*wanted)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(ours, wanted, strict=True))
    assert hardware.cycles == found.trace.cycles
