"""The LeNet of ``scripts/demo torch``: its schedule keeps the bits and saves cycles."""

from __future__ import annotations

import numpy as np
import torch

from allo.designs.torch.lenet import LeNet, compiled, schedule
from allo.ir.types import Fixed
from tests.torch.support import arrays, assert_close, check_hardware, initialised, tensor

IMAGE = tensor(1, 1, 8, 8)


def test_the_schedule_keeps_the_bits_and_saves_cycles() -> None:
    model = initialised(LeNet())
    plain, pipelined = compiled(model), schedule(compiled(model))
    assert_close(plain.build()(IMAGE.numpy()), model(IMAGE), tolerance=1e-3)
    first, second = plain.build()(IMAGE.numpy()), pipelined.build()(IMAGE.numpy())
    np.testing.assert_array_equal(first, second)
    assert check_hardware(plain, IMAGE).cycles == 199_186
    assert check_hardware(pipelined, IMAGE).cycles == 30_013


def test_fixed_point_takes_fewer_cycles() -> None:
    torch.manual_seed(0)
    model = LeNet().eval()
    s = schedule(compiled(model, {"default": Fixed(20, 10)}))
    got = np.asarray(s.build()(IMAGE.numpy()), np.float32)
    np.testing.assert_allclose(got, arrays(model(IMAGE))[0], atol=0.05)
    assert check_hardware(s, IMAGE).cycles == 18_895
