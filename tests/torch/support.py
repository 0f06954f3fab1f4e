"""Compare a compiled model with PyTorch, and the targets with each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from allo.dialects.verify import verify
from allo.frontend import from_pytorch
from allo.torch import ModelSchedule

TOLERANCE = 1e-4


def tensor(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    """Normally distributed floats, the same on every run."""
    values = np.random.default_rng(seed + sum(shape)).standard_normal(shape) * scale
    return torch.from_numpy(values.astype(np.float32))


def initialised(model: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    """The model with parameters and buffers that are the same on every run, in evaluation."""
    random = np.random.default_rng(seed)
    for name, value in [*model.named_parameters(), *model.named_buffers()]:
        if not value.is_floating_point():
            continue
        drawn = random.uniform(0.5, 1.5, value.shape) if "var" in name else None
        drawn = random.standard_normal(value.shape) * 0.5 if drawn is None else drawn
        value.data.copy_(torch.from_numpy(np.asarray(drawn, np.float32)))
    return model.eval()


def arrays(values: Any) -> list[np.ndarray]:
    """Results as a list of NumPy arrays."""
    several = values if isinstance(values, (list, tuple)) else [values]
    return [v.detach().numpy() if isinstance(v, torch.Tensor) else np.asarray(v) for v in several]


def assert_close(got: Any, wanted: Any, tolerance: float = TOLERANCE) -> None:
    """Every element within the tolerance, relative or absolute; integers equal. Scalars are [1]."""
    for mine, theirs in zip(arrays(got), arrays(wanted), strict=True):
        assert mine.shape == (theirs.shape or (1,))
        if theirs.dtype.kind in "biu":
            np.testing.assert_array_equal(mine, theirs.reshape(mine.shape))
        else:
            np.testing.assert_allclose(
                mine, theirs.reshape(mine.shape), rtol=tolerance, atol=tolerance
            )


def check(model: torch.nn.Module, *inputs: torch.Tensor, **options: Any) -> ModelSchedule:
    """Compile for the CPU and compare with PyTorch; the schedule."""
    s = from_pytorch(initialised(model), list(inputs), target="mlir", **options)
    verify(s.module, top=s.top_func_name, places=True)
    with torch.no_grad():
        wanted = model(*inputs)
    assert_close(s.build()(*arrays(inputs), *s.weight_data), wanted)
    return s


def check_hardware(s: ModelSchedule, *inputs: torch.Tensor) -> Any:
    """The CPU's bits in hardware (the in-process engine), and the predicted cycles; the module."""
    given = [*arrays(inputs), *s.weight_data]
    expected = arrays(s.build()(*given))
    rtl = s.build(target="verilog", simulator="jit")
    assert_equal_bits(arrays(rtl(*given)), expected)
    assert rtl.report.cycles in (None, rtl.cycles)
    return rtl


def check_csim(s: ModelSchedule, folder: Any, *inputs: torch.Tensor) -> None:
    """The CPU's bits from the C++."""
    given = [*arrays(inputs), *s.weight_data]
    expected = arrays(s.build()(*given))
    got = [np.zeros_like(array) for array in expected]
    s.build(target="vitis_hls", mode="csim", project=str(folder / "csim.prj"))(*given, *got)
    assert_equal_bits(got, expected)


def assert_equal_bits(got: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    """All elements are the same words."""
    for mine, theirs in zip(got, wanted, strict=True):
        assert mine.shape == theirs.shape
        pair = (np.ascontiguousarray(array).view(np.uint8) for array in (mine, theirs))
        np.testing.assert_array_equal(*pair)
