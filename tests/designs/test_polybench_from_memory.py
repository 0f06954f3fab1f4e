"""Every kernel of PolyBench has a schedule from memory to memory, with the bits of the CPU build."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.sim import external_memory
from allo.designs.polybench import kernels
from allo.designs.polybench.memory import NAMES as DESIGNED
from allo.designs.polybench.memory.rest.suite import NAMES, arrays_of, schedule
from tests.designs.suites import assert_close, assert_same_bits, call, copies

TOLERANCE = 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_equals_numpy_over_axi(name: str) -> None:
    kernel = kernels.load(name)
    size = kernel.SIZES["tiny"]
    s = schedule(name, size)
    hardware = s.build(target="verilog", simulator="jit", stalls=0.2)
    channels = external_memory("hbm2", clock_mhz=200, timing="dram")
    hardware = hardware.variant(memory=dict(zip(arrays_of(name), channels, strict=False)))
    arrays = kernel.inputs(np.random.default_rng(5), size)
    expected = call(s.build(), copies(arrays))
    assert_close(expected, call(kernel.reference, copies(arrays)), TOLERANCE)
    assert_same_bits(call(hardware, arrays), expected)
    bundles = {a.name: a.bundles for a in hardware.design.board.arrays}
    assert bundles == {a: (f"hbm{n}",) for n, a in enumerate(arrays_of(name))}


def test_all_thirty_have_one() -> None:
    assert sorted([*NAMES, *DESIGNED]) == sorted(kernels.NAMES)
    assert len(kernels.NAMES) == 30


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises(KeyError, match="PolyBench has no kernel 'fft'"):
        schedule("fft", (4,))
