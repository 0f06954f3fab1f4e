"""A kernel of a benchmark suite on every target, compared in every element."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from allo.designs.kernel import Kernel

SEED = 11
Arrays = tuple[np.ndarray, ...]


def copies(arrays: Arrays) -> Arrays:
    return tuple(a.copy() for a in arrays)


def call(function, arrays: Arrays) -> Arrays:  # type: ignore[no-untyped-def]
    """The arrays after the call, and what it returns behind them."""
    result = function(*arrays)
    if result is None:
        return arrays
    return (*arrays, np.asarray(result))


def assert_same_bits(found: Arrays, expected: Arrays) -> None:
    for position, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert_finite(b, position)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.tobytes() != b.tobytes():
            np.testing.assert_array_equal(a, b, err_msg=f"argument {position}")
            raise AssertionError(f"argument {position}: zeros differ in sign")


def assert_close(found: Arrays, expected: Arrays, tolerance: float) -> None:
    """Equal up to ``tolerance`` of each array's largest element."""
    for position, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert_finite(b, position)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        limit = tolerance * np.abs(b).max(initial=0)
        np.testing.assert_allclose(a, b, rtol=0, atol=limit, err_msg=f"argument {position}")


def assert_finite(array: np.ndarray, position: int) -> None:
    fields = [array[name] for name in array.dtype.names] if array.dtype.names else [array]
    for field in fields:
        assert np.isfinite(field).all(), f"argument {position}: the inputs are ill conditioned"


def check_cpu(kernel: Kernel, size: str, tolerance: float = 0) -> None:
    """The CPU build against NumPy: the same bits, or up to ``tolerance`` where that is given."""
    shape = kernel.SIZES[size]
    build = kernel.schedule(shape).build()
    arrays = kernel.inputs(np.random.default_rng(SEED), shape)
    expected = call(kernel.reference, copies(arrays))
    found = call(build, arrays)
    if tolerance:
        assert_close(found, expected, tolerance)
    else:
        assert_same_bits(found, expected)


def check_rtl(kernel: Kernel, size: str = "tiny", runs: int = 3) -> None:
    """The hardware, simulated in process, against the CPU build; cycles as the report says."""
    shape = kernel.SIZES[size]
    schedule = kernel.schedule(shape)
    build, hardware = schedule.build(), schedule.build(target="verilog", simulator="jit")
    rng = np.random.default_rng(SEED)
    for _ in range(runs):
        arrays = kernel.inputs(rng, shape)
        expected = call(build, copies(arrays))
        assert_same_bits(call(hardware, arrays), expected)
        assert hardware.report.cycles in (None, hardware.cycles)


def check_csim(kernel: Kernel, project: Path, size: str = "tiny", tolerance: float = 0) -> None:
    """The HLS C++ by g++ against the CPU build."""
    shape = kernel.SIZES[size]
    schedule = kernel.schedule(shape)
    build = schedule.build()
    csim = schedule.build(target="vitis_hls", mode="csim", project=str(project))
    arrays = kernel.inputs(np.random.default_rng(SEED), shape)
    expected = call(build, copies(arrays))
    found = call(csim, arrays)
    if tolerance:
        assert_close(found, expected, tolerance)
    else:
        assert_same_bits(found, expected)
